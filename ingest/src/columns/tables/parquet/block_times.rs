//! Times that a labels file of parquet-common states: [`block_times`].

use parquet::file::metadata::FileMetaData;

/// Nanoseconds of a millisecond.
const NANOSECONDS: i64 = 1_000_000;

/// Returns the first and the last nanosecond of the half-open time range between the keys `minT` and `maxT` of a
/// footer, in milliseconds. Returns `None` if a key is missing or the range is empty or out of bounds.
pub(super) fn block_times(metadata: &FileMetaData) -> Option<(i64, i64)> {
    let pairs = metadata.key_value_metadata()?;
    let get = |key: &str| -> Option<i64> {
        let value = pairs.iter().rev().find(|pair| pair.key == key)?.value.as_ref()?;
        value.trim().parse::<i64>().ok()?.checked_mul(NANOSECONDS)
    };
    let (start, end) = (get("minT")?, get("maxT")?);
    (start < end).then(|| (start, end - 1))
}
