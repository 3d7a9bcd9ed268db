//! Attribute values.

use std::borrow::Cow;

use super::super::value::{Value, array_text, bytes_text, double_value, int_value, pairs_text};
use crate::protobuf::{Fields, ProtoError};

/// Maximum depth of nested lists, similar to that of JSON.
const MAX_LIST_DEPTH: usize = 32;

/// Message that may come in pieces: its position in the record, and the bytes of all pieces.
type Pieces<'a> = (usize, Cow<'a, [u8]>);

/// Most bytes that are joined for one attribute. Writers do not send values in pieces; if pieces are nested, each level
/// joins those of all levels within it again.
const MAX_JOINED: usize = 4 << 20;

/// Bytes that may still be joined for the current attribute.
struct Joining(usize);

impl Joining {
    /// Appends a piece.
    fn append<'a>(
        &mut self,
        pieces: Option<Pieces<'a>>,
        piece: Fields<'a>,
        bytes: &'a [u8],
    ) -> Result<Pieces<'a>, ProtoError> {
        let Some((offset, before)) = pieces else {
            return Ok((piece.offset(), Cow::Borrowed(bytes)));
        };
        // The first piece is copied once and then extended: there may be very many pieces.
        let copied_before = if let Cow::Borrowed(before) = &before { before.len() } else { 0 };
        let too_many = ProtoError::TooMany { offset, what: "bytes of a value in pieces", limit: MAX_JOINED };
        self.0 = self.0.checked_sub(copied_before + bytes.len()).ok_or(too_many)?;
        let mut all = before.into_owned();
        all.extend_from_slice(bytes);
        Ok((offset, Cow::Owned(all)))
    }
}

/// Reads a `KeyValue`: an attribute, or a member of a key-value list.
#[inline]
pub(in super::super) fn key_value(mut fields: Fields<'_>) -> Result<(Cow<'_, str>, Value<'_>), ProtoError> {
    nested_key_value(&mut fields, MAX_LIST_DEPTH, &mut Joining(MAX_JOINED))
}

fn nested_key_value<'a>(
    fields: &mut Fields<'a>,
    depth: usize,
    joining: &mut Joining,
) -> Result<(Cow<'a, str>, Value<'a>), ProtoError> {
    let (mut key, mut value) = ("", None);
    while let Some(field) = fields.next()? {
        match field.number {
            1 => key = field.text()?,
            2 => value = Some(joining.append(value, field.message()?, field.bytes()?)?),
            _ => {}
        }
    }
    let value = match value {
        None => Value::Empty,
        Some((offset, Cow::Borrowed(bytes))) => any_value(Fields::new(bytes, offset), depth, joining)?,
        Some((offset, Cow::Owned(bytes))) => any_value(Fields::new(&bytes, offset), depth, joining)?.into_owned(),
    };
    Ok((Cow::Borrowed(key), value))
}

/// Content of an `AnyValue`, by the last of its fields; a list with all its pieces.
enum Held<'a> {
    Value(Value<'a>),
    Array(Pieces<'a>),
    Pairs(Pieces<'a>),
}

/// Reads an `AnyValue`: a message whose only field shows its type.
fn any_value<'a>(mut fields: Fields<'a>, depth: usize, joining: &mut Joining) -> Result<Value<'a>, ProtoError> {
    let mut held = Held::Value(Value::Empty);
    while let Some(field) = fields.next()? {
        held = match (field.number, held) {
            (1, _) => Held::Value(Value::Text(Cow::Borrowed(field.text()?))),
            (2, _) => Held::Value(Value::Json(Cow::Borrowed(if field.bool()? { "true" } else { "false" }))),
            // Negative numbers are 64 bits wide, two's complement.
            (3, _) => Held::Value(int_value(field.int64()?)),
            (4, _) => Held::Value(double_value(field.double()?)),
            (5, Held::Array(pieces)) => Held::Array(joining.append(Some(pieces), field.message()?, field.bytes()?)?),
            (5, _) => Held::Array(joining.append(None, field.message()?, field.bytes()?)?),
            (6, Held::Pairs(pieces)) => Held::Pairs(joining.append(Some(pieces), field.message()?, field.bytes()?)?),
            (6, _) => Held::Pairs(joining.append(None, field.message()?, field.bytes()?)?),
            (7, _) => Held::Value(Value::Text(bytes_text(field.bytes()?).into())),
            // Index into a string table, which only profiles have.
            (8, _) => Held::Value(Value::Empty),
            (_, held) => held,
        };
    }
    let (is_array, (offset, bytes)) = match held {
        Held::Value(value) => return Ok(value),
        Held::Array(pieces) => (true, pieces),
        Held::Pairs(pieces) => (false, pieces),
    };
    let depth = depth.checked_sub(1).ok_or(ProtoError::TooDeep { offset, limit: MAX_LIST_DEPTH })?;
    let mut values = Values(Fields::new(&bytes, offset));
    let text = if is_array {
        array_text(|| values.next()?.map(|fields| any_value(fields, depth, joining)).transpose())?
    } else {
        pairs_text(|| values.next()?.map(|mut fields| nested_key_value(&mut fields, depth, joining)).transpose())?
    };
    Ok(Value::Json(text.into()))
}

/// Iterator over the `values` of an `ArrayValue` or a `KeyValueList`.
struct Values<'a>(Fields<'a>);

impl<'a> Values<'a> {
    fn next(&mut self) -> Result<Option<Fields<'a>>, ProtoError> {
        while let Some(field) = self.0.next()? {
            if field.number == 1 {
                return field.message().map(Some);
            }
        }
        Ok(None)
    }
}
