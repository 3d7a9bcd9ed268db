//! Sizes that the footer claims: [`check_footer`].

use super::thrift::{LIST, STRUCT, Thrift};
use crate::columns::error::ColumnsError;

/// Field of the footer with the schema: a list of elements in depth-first order.
const SCHEMA: i64 = 2;

/// Field of a schema element with the number of its children.
const NUM_CHILDREN: i64 = 5;

/// Maximum depth of the schema. The decoder recurses.
const MAX_DEPTH: usize = 64;

/// Upper bound of the memory that a struct or an element of a list takes, in bytes. Most take much less: metadata of a
/// column is the largest with about 500 bytes, and consists of about 20 parts.
const MEMORY_PER_PART: u64 = 64;

/// Checks that lengths, counts and nesting of a footer are what its bytes can hold, and that it takes at most `limit`
/// bytes of memory.
///
/// # Errors
///
/// The footer is malformed or too large.
pub(super) fn check_footer(bytes: &[u8], limit: u64) -> Result<(), ColumnsError> {
    let mut thrift = Thrift::new(bytes);
    let mut last = 0;
    while let Some((id, kind)) = thrift.field(last)? {
        last = id;
        if id == SCHEMA && kind == LIST { check_schema(&mut thrift)? } else { thrift.skip(kind)? }
    }
    let len = thrift.parts.saturating_mul(MEMORY_PER_PART);
    if len > limit {
        return Err(ColumnsError::TooLarge { what: "the footer", len, limit });
    }
    Ok(())
}

fn check_schema(thrift: &mut Thrift<'_>) -> Result<(), ColumnsError> {
    let (count, kind) = thrift.list()?;
    if kind != STRUCT {
        return Err(ColumnsError::Message("the schema is not a list of structs"));
    }
    // Children that each open group still lacks.
    let mut open: Vec<u64> = Vec::new();
    for number in 0..count {
        let (mut last, mut children) = (0, 0);
        while let Some((id, kind)) = thrift.field(last)? {
            last = id;
            let value = thrift.number(kind)?;
            if id == NUM_CHILDREN {
                children = value.unwrap_or_default();
            }
        }
        let children = u64::try_from(children).ok().filter(|&children| children < count - number);
        let children =
            children.ok_or(ColumnsError::Message("a group of the schema has more children than there are"))?;
        if let Some(missing) = open.last_mut() {
            *missing -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > MAX_DEPTH {
            return Err(ColumnsError::Message("the schema is nested too deep"));
        }
    }
    Ok(())
}
