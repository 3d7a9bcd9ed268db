//! [`Limits`]: largest counts and lengths of a block.

use super::BuildError;
use crate::layout::MAX_OFFSET_WIDTH;
use crate::number::length;

/// Largest counts and lengths of a block (spec, section 2). Tests lower them: no test can push 2^32 symbols.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of items of a kind: symbols, keys, tables, rows of a table, pools, lists of a pool, members of a
    /// pool, keysets, series.
    pub count: u32,
    /// Largest number of bytes of a section, and of the file.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::FORMAT
    }
}

impl Limits {
    /// Limits of the format.
    pub const FORMAT: Self = Self { count: u32::MAX, bytes: 1 << MAX_OFFSET_WIDTH };

    /// Returns the number of the next item after `count` items.
    pub(super) fn next(&self, what: &'static str, count: usize) -> Result<u32, BuildError> {
        let number = u32::try_from(count).ok().filter(|&number| number < self.count);
        number.ok_or_else(|| self.too_many(what))
    }

    /// Returns a count of items.
    pub(super) fn count(&self, what: &'static str, count: usize) -> Result<u32, BuildError> {
        self.count_long(what, length(count))
    }

    /// Returns a count of items that may come from a caller.
    pub(super) fn count_long(&self, what: &'static str, count: u64) -> Result<u32, BuildError> {
        let count = u32::try_from(count).ok().filter(|&count| count <= self.count);
        count.ok_or_else(|| self.too_many(what))
    }

    /// Returns the sum of two lengths in bytes.
    pub(super) fn bytes(&self, what: &'static str, len: u64, more: u64) -> Result<u64, BuildError> {
        let sum = len.saturating_add(more);
        if sum <= self.bytes { Ok(sum) } else { Err(BuildError::TooLong { what, len: sum, limit: self.bytes }) }
    }

    fn too_many(&self, what: &'static str) -> BuildError {
        BuildError::TooMany { what, limit: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockBuilder, BlockMeta, KeysetOutline};
    use super::*;
    use crate::identity::Fingerprint;
    use crate::layout::RowForm;
    use crate::view::Domain;
    use crate::{KeyId, SymbolId, TableId};

    fn builder(count: u32, bytes: u64) -> BlockBuilder {
        BlockBuilder::new(RowForm::BitPacked).with_limits(Limits { count, bytes })
    }

    fn too_many<T>(what: &'static str, limit: u32) -> Result<T, BuildError> {
        Err(BuildError::TooMany { what, limit })
    }

    /// Two keys with values 0 to 2 each. Symbols: the names, then the values.
    fn two_keys(count: u32, bytes: u64) -> BlockBuilder {
        let mut builder = builder(u32::MAX, u64::MAX);
        for symbol in ["a", "b", "x", "y", "z"] {
            builder.push_symbol(symbol).unwrap();
        }
        for key in [0, 1] {
            builder.push_key(SymbolId(key), &[SymbolId(2), SymbolId(3), SymbolId(4)]).unwrap();
        }
        builder.with_limits(Limits { count, bytes })
    }

    #[test]
    fn symbols_keys_and_values_are_counted() {
        let mut full = builder(2, u64::MAX);
        full.push_symbol("a").unwrap();
        full.push_symbol("b").unwrap();
        assert_eq!(full.push_symbol("c"), too_many("symbols", 2));
        let values = [SymbolId(2), SymbolId(3), SymbolId(4)];
        assert_eq!(two_keys(2, u64::MAX).push_key(SymbolId(2), &values[..1]), too_many("keys", 2));
        assert_eq!(two_keys(2, u64::MAX).push_table(&[Domain::Table(TableId(0))], &[0]), too_many("tables", 2));
        assert_eq!(two_keys(2, u64::MAX).push_keyset(&[KeyId(0)], &[0]), too_many("tables", 2));
        let rows = [0, 0, 0, 1, 1, 0, 1, 1];
        assert_eq!(two_keys(3, u64::MAX).push_keyset(&[KeyId(0), KeyId(1)], &rows), too_many("rows", 3));
    }

    #[test]
    fn lists_members_and_series_are_counted() {
        assert_eq!(two_keys(1, u64::MAX).push_pool(TableId(0), &[&[0], &[1]]), too_many("lists", 1));
        assert_eq!(two_keys(2, u64::MAX).push_pool(TableId(0), &[&[0, 1, 2]]), too_many("members", 2));
        assert_eq!(two_keys(2, u64::MAX).push_pool(TableId(0), &[&[0, 1], &[1, 2]]), too_many("members", 2));
        // A keyset of two rows and four series.
        let mut full = two_keys(3, u64::MAX);
        let pool = full.push_pool(TableId(1), &[&[0, 1]]).unwrap();
        let domains = [Domain::Table(TableId(0)), Domain::Pool(pool)];
        assert_eq!(full.push_keyset_table(&domains, &[0, 0, 1, 0]), too_many("series", 3));
        // Series of several keysets.
        let mut full = two_keys(4, u64::MAX);
        full.push_keyset(&[KeyId(0)], &[0, 1, 2]).unwrap();
        assert_eq!(full.push_keyset(&[KeyId(1)], &[0, 1]), too_many("series", 4));
    }

    /// Outlines state counts that no memory holds.
    #[test]
    fn outlines_state_any_count() {
        let domains = [Domain::Table(TableId(0))];
        let push = |limits: Limits, row_count, series_count| {
            let mut builder = two_keys(limits.count, limits.bytes);
            let fingerprint = Fingerprint::ZERO;
            let outline = KeysetOutline { domains: &domains, row_count, ranges: &[(0, 2)], series_count, fingerprint };
            builder.push_keyset_outline(&outline).map(|(series, _)| series.0)
        };
        assert_eq!(push(Limits::FORMAT, 3, 3), Ok(0));
        for series_count in [1 << 32, u64::MAX] {
            assert_eq!(push(Limits::FORMAT, 3, series_count), too_many("series", u32::MAX));
        }
        assert_eq!(push(Limits { count: 3, ..Limits::FORMAT }, 4, 3), too_many("rows", 3));
        // Two dictionaries of a byte each, and three rows of two bits.
        let rows = Err(BuildError::TooLong { what: "rows", len: 3, limit: 2 });
        assert_eq!(push(Limits { bytes: 2, ..Limits::FORMAT }, 3, 3), rows);
        assert_eq!(push(Limits { bytes: 3, ..Limits::FORMAT }, 3, 3), Ok(0));
    }

    #[test]
    fn sections_and_files_have_a_length() {
        let mut full = builder(u32::MAX, 5);
        full.push_symbol("abc").unwrap();
        full.push_symbol("de").unwrap();
        assert_eq!(full.push_symbol("f"), Err(BuildError::TooLong { what: "symbols", len: 6, limit: 5 }));
        let mut full = two_keys(u32::MAX, 400);
        full.push_keyset(&[KeyId(0), KeyId(1)], &[0, 1]).unwrap();
        let error = full.finish(&BlockMeta::default()).expect_err("a file has more than 400 bytes");
        assert!(matches!(error, BuildError::TooLong { what: "file", len: 401.., limit: 400 }), "{error}");
        assert!(error.to_string().ends_with("use shorter time windows or more shards"), "{error}");
    }
}
