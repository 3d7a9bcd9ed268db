//! What a keyset would take without inner tables and lists, and what it takes.

use chronoxide_format::Result;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::Keyset;
use serde::Serialize;

/// What factoring gained in the rows of a keyset. The inner tables and lists that it refers to are not counted: others may use them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeysetGain {
    /// The keyset's number.
    pub keyset: u32,
    /// That of its table.
    pub table: u32,
    /// Its series.
    pub series: u32,
    /// Rows of its table: its series, or with a list column their prefixes.
    pub prefix_rows: u32,
    /// Bytes that its series would take as rows of value codes.
    pub plain_bytes: u64,
    /// Bytes of its table's rows.
    pub row_bytes: u64,
    /// Bytes of its anchors.
    pub anchor_bytes: u64,
    /// Rows and anchors together.
    pub factored_bytes: u64,
    /// Plain bytes less factored ones.
    pub gained_bytes: i64,
}

impl KeysetGain {
    /// Looks at all series of a keyset.
    pub(super) fn of(keyset: &Keyset<'_>, form: RowForm) -> Result<Self> {
        let table = keyset.table();
        let (row_bytes, anchor_bytes) = (table.len(), keyset.anchors_len());
        let plain_bytes = plain_bytes(keyset, form)?;
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
            gained_bytes: difference(plain_bytes, factored_bytes),
        })
    }
}

/// What a keyset's series take as rows whose columns refer to value dictionaries (spec, section 7): the width of a column is that of the
/// difference between the largest and the smallest value code of its label. Holds two codes a label.
fn plain_bytes(keyset: &Keyset<'_>, form: RowForm) -> Result<u64> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for series in keyset.series()? {
        let series = series?;
        if ranges.is_empty() {
            ranges = series.label_ids().map(|ids| ids.map(|ids| (ids.code, ids.code))).collect::<Result<_>>()?;
            continue;
        }
        for ((smallest, largest), ids) in ranges.iter_mut().zip(series.label_ids()) {
            let code = ids?.code;
            (*smallest, *largest) = ((*smallest).min(code), (*largest).max(code));
        }
    }
    let row_bits: u64 = ranges.iter().map(|&(smallest, largest)| u64::from(form.width(largest - smallest))).sum();
    // No overflow: at most 512 labels of 32 bits, and 2^32 series.
    Ok((row_bits * u64::from(keyset.series_count())).div_ceil(8))
}

/// The first less the second; the ends of the range stand for what is beyond them.
pub(super) fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(a).unwrap_or(i64::MAX).saturating_sub_unsigned(b)
}
