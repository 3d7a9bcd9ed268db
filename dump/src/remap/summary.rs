//! Summary of a remap.

use chronoxide_format::remap::{RemapError, RemapView};
use serde::Serialize;

use crate::summary::{Part, per};

/// Summary of a remap. Costs one pass over all series.
#[derive(Clone, Debug, Serialize)]
pub struct RemapSummary {
    /// Block whose series are mapped.
    pub input_id: String,
    /// The job that wrote the outputs, if it is known.
    pub job: Option<String>,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Series of the input.
    pub series: u64,
    /// Number of series that are in an output.
    pub mapped: u64,
    /// Number of series that were dropped.
    pub dropped: u64,
    /// Keysets of the input.
    pub keysets: u32,
    /// Outputs of the compaction.
    pub outputs: Vec<OutputSummary>,
    /// Size of each part in bytes; the sum is `bytes`.
    pub parts: Vec<Part>,
}

/// An output of the compaction.
#[derive(Clone, Debug, Serialize)]
pub struct OutputSummary {
    /// Block id.
    pub block_id: String,
    /// Series.
    pub series: u64,
    /// Series of the input that are in it.
    pub mapped: u64,
}

impl RemapSummary {
    /// Reads the summary of a remap.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn from_view(view: &RemapView<'_>) -> Result<Self, RemapError> {
        let (mut series, mut mapped) = (0, 0);
        let outputs = (0..view.output_count()).filter_map(|output| view.output(output));
        let mut outputs: Vec<OutputSummary> =
            outputs.map(|(id, series)| OutputSummary { block_id: id.to_string(), series, mapped: 0 }).collect();
        for target in view.targets()? {
            series += 1;
            if let Some(target) = target? {
                mapped += 1;
                if let Some(output) = outputs.get_mut(target.output as usize) {
                    output.mapped += 1;
                }
            }
        }
        let part =
            |(name, bytes): (&str, u64)| Part { name: name.to_owned(), bytes, bytes_per_series: per(bytes, series) };
        Ok(Self {
            input_id: view.input_id().to_string(),
            job: job(view),
            bytes: view.bytes().len() as u64,
            series,
            mapped,
            dropped: series - mapped,
            keysets: view.keyset_count(),
            outputs,
            parts: view.sizes().into_iter().filter(|&(_, bytes)| bytes > 0).map(part).collect(),
        })
    }

    /// Returns the size of the file in bytes per series, or `None` for an input without series.
    #[must_use]
    pub fn bytes_per_series(&self) -> Option<f64> {
        per(self.bytes, self.series)
    }
}

/// Returns the job id as hexadecimal digits, or `None` if it is zero.
pub(super) fn job(view: &RemapView<'_>) -> Option<String> {
    let job = view.job_id();
    (job != [0; 16]).then(|| format!("{:032x}", u128::from_be_bytes(job)))
}
