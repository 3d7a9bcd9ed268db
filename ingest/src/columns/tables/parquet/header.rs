//! Header of a page: [`Header`].

use super::thrift::Thrift;
use crate::columns::error::ColumnsError;

/// Numbers of a struct, by field.
type Numbers = [Option<i64>; 9];

/// Header of a page, with numbers as they are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the header itself.
    pub(super) len: usize,
    pub(super) content: Content,
    pub(super) uncompressed_len: usize,
    pub(super) compressed_len: usize,
    pub(super) crc: Option<u32>,
}

/// Kind of a page, with the numbers of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Dictionary {
        values: u32,
        encoding: i64,
    },
    Data {
        values: u32,
        encoding: i64,
        definition_encoding: i64,
        repetition_encoding: i64,
    },
    DataV2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: i64,
        definition_len: u32,
        repetition_len: u32,
        is_compressed: bool,
    },
    /// A page that holds no rows, such as an index.
    Other,
}

impl Header {
    /// Parses the header at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// The header is malformed, or longer than `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ColumnsError> {
        let mut thrift = Thrift::new(bytes);
        let (mut page, mut content) = (Numbers::default(), [Numbers::default(); 9]);
        let mut last = 0;
        while let Some((id, kind)) = thrift.field(last)? {
            last = id;
            match usize::try_from(id).ok() {
                Some(5 | 7 | 8) if kind == super::thrift::STRUCT => {
                    let numbers = numbers(&mut thrift)?;
                    if let Some(slot) = usize::try_from(id).ok().and_then(|id| content.get_mut(id)) {
                        *slot = numbers;
                    }
                }
                id => {
                    let number = thrift.number(kind)?;
                    if let Some(slot) = id.and_then(|id| page.get_mut(id)) {
                        *slot = number;
                    }
                }
            }
        }
        let [_, kind, uncompressed_len, compressed_len, crc, ..] = page;
        let [_, _, _, _, _, data, _, dictionary, data_v2] = content;
        let content = match required(kind)? {
            0 => Content::Data {
                values: count(data[1])?,
                encoding: required(data[2])?,
                definition_encoding: required(data[3])?,
                repetition_encoding: required(data[4])?,
            },
            2 => Content::Dictionary { values: count(dictionary[1])?, encoding: required(dictionary[2])? },
            3 => Content::DataV2 {
                values: count(data_v2[1])?,
                nulls: count(data_v2[2])?,
                rows: count(data_v2[3])?,
                encoding: required(data_v2[4])?,
                definition_len: count(data_v2[5])?,
                repetition_len: count(data_v2[6])?,
                is_compressed: data_v2[7] != Some(0),
            },
            _ => Content::Other,
        };
        Ok(Self {
            len: bytes.len() - thrift.remaining(),
            content,
            uncompressed_len: count(uncompressed_len)? as usize,
            compressed_len: count(compressed_len)? as usize,
            crc: crc.map(|crc| crc as u32),
        })
    }
}

fn numbers(thrift: &mut Thrift<'_>) -> Result<Numbers, ColumnsError> {
    let (mut numbers, mut last) = (Numbers::default(), 0);
    while let Some((id, kind)) = thrift.field(last)? {
        last = id;
        let number = thrift.number(kind)?;
        if let Some(slot) = usize::try_from(id).ok().and_then(|id| numbers.get_mut(id)) {
            *slot = number;
        }
    }
    Ok(numbers)
}

fn required(number: Option<i64>) -> Result<i64, ColumnsError> {
    number.ok_or(ColumnsError::Message("the header of a page is incomplete"))
}

fn count(number: Option<i64>) -> Result<u32, ColumnsError> {
    let number = i32::try_from(required(number)?).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or(ColumnsError::Message("the header of a page has a negative or too large number"))
}
