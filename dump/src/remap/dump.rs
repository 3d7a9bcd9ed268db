//! The dump of a remap (remap spec, section 9).

use std::fmt;
use std::io::Write;

use chronoxide_format::remap::RemapView;
use chronoxide_format::remap::layout::{REMAP_MAJOR, REMAP_MINOR};
use serde::Serialize;

use super::summary::job;
use crate::DumpError;

/// An entry of the dump: a line, or the lines of the file.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RemapEntry {
    /// Properties of the file.
    Remap {
        /// Block whose series are mapped.
        input_id: String,
        /// Version of the format.
        format: String,
        /// Length of the file.
        bytes: u64,
        /// The job that wrote the outputs, if it is known.
        job: Option<String>,
    },
    /// Number of entries of a kind that follow.
    Count {
        /// Kind of the entries.
        of: &'static str,
        /// Number of entries.
        count: u64,
    },
    /// An output.
    Output {
        /// Number.
        number: u32,
        /// Block id.
        block_id: String,
        /// Series.
        series: u64,
    },
    /// A series of the input.
    Series {
        /// Ref in the input.
        #[serde(rename = "ref")]
        series_ref: u32,
        /// Number of the output that holds it, if any.
        output: Option<u32>,
        /// Ref there.
        series: Option<u32>,
    },
    /// Entries that are not shown.
    More {
        /// Number of entries.
        count: u64,
    },
}

impl fmt::Display for RemapEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remap { input_id, format, bytes, job } => {
                let job = job.as_deref().unwrap_or("none");
                write!(f, "remap {input_id}\nformat {format}\nfile {bytes} bytes\njob {job}")
            }
            Self::Count { of, count } => write!(f, "{of} {count}"),
            Self::Output { number, block_id, series } => write!(f, "  {number} {block_id} series {series}"),
            Self::Series { series_ref, output: Some(output), series: Some(series) } => {
                write!(f, "  {series_ref} {output} {series}")
            }
            Self::Series { series_ref, .. } => write!(f, "  {series_ref} gone"),
            Self::More { count } => write!(f, "  ... {count} more"),
        }
    }
}

/// Writes the dump of a remap as text. With `first`, writes only the first outputs and series.
///
/// # Errors
/// Returns an error if the remap is damaged or writing fails.
pub fn dump(view: &RemapView<'_>, first: Option<u32>, out: &mut dyn Write) -> Result<(), DumpError> {
    dump_entries(view, first, &mut |entry| Ok(writeln!(out, "{entry}")?))
}

/// Calls `take` with each entry of the dump, in order. Holds one entry in memory.
///
/// # Errors
/// Returns an error if the remap is damaged, or the error of `take`.
pub fn dump_entries(
    view: &RemapView<'_>,
    first: Option<u32>,
    take: &mut dyn FnMut(RemapEntry) -> Result<(), DumpError>,
) -> Result<(), DumpError> {
    let first = first.unwrap_or(u32::MAX);
    take(RemapEntry::Remap {
        input_id: view.input_id().to_string(),
        format: format!("{REMAP_MAJOR}.{REMAP_MINOR}"),
        bytes: view.bytes().len() as u64,
        job: job(view),
    })?;
    let count = view.output_count();
    take(RemapEntry::Count { of: "outputs", count: count.into() })?;
    for number in 0..count.min(first) {
        if let Some((id, series)) = view.output(number) {
            take(RemapEntry::Output { number, block_id: id.to_string(), series })?;
        }
    }
    more(count.into(), first, take)?;
    let count = view.series_count()?;
    take(RemapEntry::Count { of: "series", count })?;
    for (target, series_ref) in view.targets()?.zip(0..first) {
        let target = target?;
        let (output, series) = (target.map(|target| target.output), target.map(|target| target.series.0));
        take(RemapEntry::Series { series_ref, output, series })?;
    }
    more(count, first, take)
}

fn more(count: u64, first: u32, take: &mut dyn FnMut(RemapEntry) -> Result<(), DumpError>) -> Result<(), DumpError> {
    match count.checked_sub(first.into()) {
        Some(count @ 1..) => take(RemapEntry::More { count }),
        _ => Ok(()),
    }
}
