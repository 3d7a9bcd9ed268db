//! Size of a keyset with and without inner tables and lists.

use bitvec::prelude::bitvec;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Domain, Keyset, Series};
use chronoxide_format::{Result, SeriesRef};
use serde::Serialize;

/// Bytes that factoring saved in the rows of a keyset. The inner tables and lists that it refers to are not counted:
/// other keysets may use them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeysetGain {
    /// Number of the keyset.
    pub keyset: u32,
    /// Number of its table.
    pub table: u32,
    /// Series.
    pub series: u32,
    /// Rows of its table: its series, or with a list column their prefixes.
    pub prefix_rows: u32,
    /// Bytes of its series as rows of value codes.
    pub plain_bytes: u64,
    /// Bytes of its table's rows.
    pub row_bytes: u64,
    /// Bytes of its anchors.
    pub anchor_bytes: u64,
    /// Rows and anchors together.
    pub factored_bytes: u64,
    /// Plain bytes minus factored bytes.
    pub saved_bytes: i64,
}

impl KeysetGain {
    /// Reads all rows and lists of a keyset.
    pub(super) fn from_keyset(view: &BlockView<'_>, keyset: &Keyset<'_, '_>, form: RowForm) -> Result<Self> {
        let table = keyset.table();
        let (row_bytes, anchor_bytes) = (table.len(), keyset.anchors_len());
        let plain_bytes = plain_bytes(view, keyset, form)?;
        let factored_bytes = row_bytes.saturating_add(anchor_bytes);
        Ok(Self {
            keyset: keyset.id(),
            table: table.id().0,
            series: keyset.series_count(),
            prefix_rows: table.row_count(),
            plain_bytes,
            row_bytes,
            anchor_bytes,
            factored_bytes,
            saved_bytes: difference(plain_bytes, factored_bytes),
        })
    }
}

/// Returns the bytes of a keyset's series as rows whose columns refer to value dictionaries (spec, section 7). The
/// width of a column is that of the difference between the largest and the smallest value code of its label.
///
/// Costs the rows of the keyset's table and the members of their lists, each list once, for any number of series.
/// Holds two codes per label and one bit per list.
fn plain_bytes(view: &BlockView<'_>, keyset: &Keyset<'_, '_>, form: RowForm) -> Result<u64> {
    let table = keyset.table();
    let mut list_column = None;
    for column in table.columns() {
        let column = column?;
        if matches!(column.domain, Domain::Pool(_)) {
            list_column = Some(column);
        }
    }
    let mut seen = bitvec![0; keyset.pool().map_or(0, |pool| pool.list_count() as usize)];
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut before = 0_u32;
    for row in 0..table.row_count() {
        let (len, is_new) = match (&list_column, keyset.list(row)?) {
            (Some(column), Some(list)) => {
                let code = table.code(row, column)?;
                (list.len(), !seen.replace(code as usize, true))
            }
            _ => (1, false),
        };
        // One series has all labels of a prefix; the others show all members of a list.
        for place in 0..if is_new { len } else { len.min(1) } {
            let series = SeriesRef(keyset.first().0.saturating_add(before.saturating_add(place)));
            let Some(series) = view.series(series)? else { continue };
            widen(&mut ranges, &series)?;
        }
        before = before.saturating_add(len);
    }
    let row_bits: u64 = ranges.iter().map(|&(smallest, largest)| u64::from(form.width(largest - smallest))).sum();
    // No overflow: at most 512 labels of 32 bits, and 2^32 series.
    Ok((row_bits * u64::from(keyset.series_count())).div_ceil(8))
}

/// Widens the range of value codes of each label by those of a series.
fn widen(ranges: &mut Vec<(u32, u32)>, series: &Series<'_, '_>) -> Result<()> {
    if ranges.is_empty() {
        *ranges = series.label_ids().map(|ids| ids.map(|ids| (ids.code, ids.code))).collect::<Result<_>>()?;
        return Ok(());
    }
    for ((smallest, largest), ids) in ranges.iter_mut().zip(series.label_ids()) {
        let code = ids?.code;
        (*smallest, *largest) = ((*smallest).min(code), (*largest).max(code));
    }
    Ok(())
}

/// Returns `a - b`, clamped to the range of `i64`.
pub(super) fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(a).unwrap_or(i64::MAX).saturating_sub_unsigned(b)
}
