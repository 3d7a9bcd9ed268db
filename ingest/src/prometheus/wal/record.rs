//! Records of a write-ahead log: [`decode_wal_record`].
//!
//! | type | record | read |
//! | ---: | --- | --- |
//! | 1 | series: references and labels | yes |
//! | 2, 11 | samples; 11 has start times | references and times |
//! | 3 | tombstones: references and deleted times | yes |
//! | 4, 5 | exemplars, markers of mapped chunks | no |
//! | 6 | metadata | yes |
//! | 7, 9, 12 | native histograms; 9 with custom buckets, 12 with start times | references and times |
//! | 8, 10, 13 | native histograms with float counts, like 7, 9, 12 | references and times |

use super::error::{HeadError, RecordError};
use super::fields::{Fields, text};

/// Schema of native histograms with custom buckets, whose bounds follow the buckets.
const CUSTOM_BUCKETS_SCHEMA: i64 = -53;

/// Type of the records of deleted times.
const TOMBSTONES: u8 = 3;

/// Returns true if a record has deleted times.
#[must_use]
pub fn has_tombstones(record: &[u8]) -> bool {
    record.first() == Some(&TOMBSTONES)
}

/// Part of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WalEntry<'a> {
    /// Series, to which later records refer.
    Series {
        /// Number by which records and chunks refer to it.
        reference: u64,
        /// Names and values.
        labels: &'a [(&'a str, &'a str)],
    },
    /// Series with a label that is not valid UTF-8. Those after it may be valid.
    InvalidSeries {
        /// Number by which records and chunks refer to it.
        reference: u64,
        /// Position of the label in the record.
        offset: usize,
    },
    /// Deleted time of a series.
    Tombstone {
        /// Reference of the series.
        reference: u64,
        /// First deleted time in milliseconds since 1970.
        first: i64,
        /// Last deleted time in milliseconds since 1970.
        last: i64,
    },
    /// Sample, which may be a native histogram.
    Sample {
        /// Reference of its series.
        reference: u64,
        /// Time in milliseconds since 1970.
        milliseconds: i64,
    },
    /// Metadata of the metric of a series.
    Metadata {
        /// Reference of the series.
        reference: u64,
        /// Number of the type.
        metric_type: u8,
        /// Unit, may be empty.
        unit: &'a str,
        /// Description, may be empty.
        help: &'a str,
    },
}

/// Decodes a record and gives its parts to `each`, in order. Returns false if the type of the record is unknown;
/// Prometheus skips such records.
///
/// # Errors
///
/// The record is malformed, or `each` fails. Earlier parts were given to `each`.
pub fn decode_wal_record<E>(
    record: &[u8],
    mut each: impl FnMut(WalEntry<'_>) -> Result<(), E>,
) -> Result<bool, HeadError<E>> {
    let mut fields = Fields::new(record);
    let record_type = fields.byte()?;
    match record_type {
        1 => series(fields, &mut each)?,
        2 => samples(fields, no_histogram, &mut each)?,
        11 => samples_with_start(fields, no_histogram, &mut each)?,
        TOMBSTONES => tombstones(fields, &mut each)?,
        4 | 5 => {}
        6 => metadata(fields, &mut each)?,
        7 | 9 => samples(fields, integer_histogram, &mut each)?,
        8 | 10 => samples(fields, float_histogram, &mut each)?,
        12 => samples_with_start(fields, integer_histogram, &mut each)?,
        13 => samples_with_start(fields, float_histogram, &mut each)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn series<E>(mut fields: Fields<'_>, each: &mut impl FnMut(WalEntry<'_>) -> Result<(), E>) -> Result<(), HeadError<E>> {
    let mut labels = Vec::new();
    while !fields.is_empty() {
        let reference = fields.be64()?;
        labels.clear();
        let mut invalid = None;
        for _ in 0..fields.uvarint()? {
            let ((name_at, name), (value_at, value)) = (fields.bytes()?, fields.bytes()?);
            match (text(name_at, name), text(value_at, value)) {
                (Ok(name), Ok(value)) => labels.push((name, value)),
                (Err(_), _) => invalid = invalid.or(Some(name_at)),
                (_, Err(_)) => invalid = invalid.or(Some(value_at)),
            }
        }
        let entry = match invalid {
            Some(offset) => WalEntry::InvalidSeries { reference, offset },
            None => WalEntry::Series { reference, labels: &labels },
        };
        each(entry).map_err(HeadError::Sink)?;
    }
    Ok(())
}

fn tombstones<E>(
    mut fields: Fields<'_>,
    each: &mut impl FnMut(WalEntry<'_>) -> Result<(), E>,
) -> Result<(), HeadError<E>> {
    while !fields.is_empty() {
        let (reference, first, last) = (fields.be64()?, fields.varint()?, fields.varint()?);
        each(WalEntry::Tombstone { reference, first, last }).map_err(HeadError::Sink)?;
    }
    Ok(())
}

fn metadata<E>(
    mut fields: Fields<'_>,
    each: &mut impl FnMut(WalEntry<'_>) -> Result<(), E>,
) -> Result<(), HeadError<E>> {
    while !fields.is_empty() {
        let (reference, metric_type) = (fields.uvarint()?, fields.byte()?);
        let (mut unit, mut help) = ("", "");
        for _ in 0..fields.uvarint()? {
            match (fields.text()?, fields.text()?) {
                ("UNIT", text) => unit = text,
                ("HELP", text) => help = text,
                _ => {}
            }
        }
        each(WalEntry::Metadata { reference, metric_type, unit, help }).map_err(HeadError::Sink)?;
    }
    Ok(())
}

/// Reads samples as differences from a reference and a time at the start of the record. `value` skips the value of a
/// sample.
fn samples<E>(
    mut fields: Fields<'_>,
    value: impl Fn(&mut Fields<'_>) -> Result<(), RecordError>,
    each: &mut impl FnMut(WalEntry<'_>) -> Result<(), E>,
) -> Result<(), HeadError<E>> {
    if fields.is_empty() {
        return Ok(());
    }
    let (first_reference, first_time) = (fields.be64()?, fields.be64()?.cast_signed());
    while !fields.is_empty() {
        // Differences wrap around, like in the writer.
        let reference = first_reference.wrapping_add_signed(fields.varint()?);
        let milliseconds = first_time.wrapping_add(fields.varint()?);
        value(&mut fields)?;
        each(WalEntry::Sample { reference, milliseconds }).map_err(HeadError::Sink)?;
    }
    Ok(())
}

/// Reads samples with start times: references as differences from the sample before, times from the first one.
fn samples_with_start<E>(
    mut fields: Fields<'_>,
    value: impl Fn(&mut Fields<'_>) -> Result<(), RecordError>,
    each: &mut impl FnMut(WalEntry<'_>) -> Result<(), E>,
) -> Result<(), HeadError<E>> {
    if fields.is_empty() {
        return Ok(());
    }
    let (mut reference, first_time) = (fields.varint()?.cast_unsigned(), fields.varint()?);
    fields.varint()?;
    if fields.is_empty() {
        return Ok(());
    }
    let mut milliseconds = first_time;
    loop {
        value(&mut fields)?;
        each(WalEntry::Sample { reference, milliseconds }).map_err(HeadError::Sink)?;
        if fields.is_empty() {
            return Ok(());
        }
        reference = reference.wrapping_add_signed(fields.varint()?);
        milliseconds = first_time.wrapping_add(fields.varint()?);
        // 0: no start time; 1: that of the sample before; otherwise it follows.
        if fields.byte()? > 1 {
            fields.varint()?;
        }
    }
}

fn no_histogram(fields: &mut Fields<'_>) -> Result<(), RecordError> {
    fields.be64().map(drop)
}

fn integer_histogram(fields: &mut Fields<'_>) -> Result<(), RecordError> {
    histogram(fields, |fields| fields.uvarint().map(drop), |fields| fields.varint().map(drop))
}

fn float_histogram(fields: &mut Fields<'_>) -> Result<(), RecordError> {
    let float = |fields: &mut Fields<'_>| fields.be64().map(drop);
    histogram(fields, float, float)
}

/// Skips a native histogram. `count` skips a count and `bucket` a bucket.
fn histogram(
    fields: &mut Fields<'_>,
    count: impl Fn(&mut Fields<'_>) -> Result<(), RecordError>,
    bucket: impl Fn(&mut Fields<'_>) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    // Hint about counter resets, schema, threshold of the zero bucket.
    fields.byte()?;
    let schema = fields.varint()?;
    fields.be64()?;
    // Counts of the zero bucket and of all observations, sum.
    count(fields)?;
    count(fields)?;
    fields.be64()?;
    for _sign in 0..2 {
        let span_count = fields.uvarint()?;
        fields.skip(span_count, |fields| {
            fields.varint()?;
            fields.uvarint().map(drop)
        })?;
    }
    for _sign in 0..2 {
        let bucket_count = fields.uvarint()?;
        fields.skip(bucket_count, &bucket)?;
    }
    if schema == CUSTOM_BUCKETS_SCHEMA {
        let bound_count = fields.uvarint()?;
        fields.skip(bound_count, |fields| fields.be64().map(drop))?;
    }
    Ok(())
}
