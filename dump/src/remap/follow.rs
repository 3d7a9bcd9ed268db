//! Target of one series.

use std::fmt;

use chronoxide_format::SeriesRef;
use chronoxide_format::remap::{RemapError, RemapView};
use serde::Serialize;

/// Target of a series of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// Ref in the input.
    #[serde(rename = "ref")]
    pub series_ref: u32,
    /// Id of the block that holds it now; `None` if it was dropped.
    pub block_id: Option<String>,
    /// Number of that output.
    pub output: Option<u32>,
    /// Ref there.
    pub series: Option<u32>,
    /// True if that block is missing and has no remap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.block_id, self.series) {
            (Some(block_id), Some(series)) if self.missing => {
                write!(f, "{} missing {block_id} {series}", self.series_ref)
            }
            (Some(block_id), Some(series)) => write!(f, "{} {block_id} {series}", self.series_ref),
            _ => write!(f, "{} gone", self.series_ref),
        }
    }
}

/// Returns the target of a series, or `None` if the input has no such series. Costs one lookup.
///
/// # Errors
/// `Corrupt` if a byte that was read is damaged.
pub fn follow(view: &RemapView<'_>, series: u32) -> Result<Option<Followed>, RemapError> {
    if u64::from(series) >= view.series_count()? {
        return Ok(None);
    }
    let target = view.get(SeriesRef(series))?;
    Ok(Some(Followed {
        series_ref: series,
        block_id: target.and_then(|target| view.output(target.output)).map(|(id, _)| id.to_string()),
        output: target.map(|target| target.output),
        series: target.map(|target| target.series.0),
        missing: false,
    }))
}
