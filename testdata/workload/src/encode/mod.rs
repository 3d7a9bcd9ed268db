//! Requests as bytes.

mod object;
mod otlp_json;
mod otlp_proto;
mod series_json;

use std::io::{self, Write};

pub use otlp_json::write_otlp_json;
pub use otlp_proto::write_otlp_proto;
pub use series_json::write_series_json;

use crate::workload::Workload;

/// How a workload is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Requests as protobuf, each after its length: four bytes, the highest first.
    OtlpProto,
    /// Requests as JSON, one a line.
    OtlpJson,
    /// Series as JSON objects of label to value, one a line.
    SeriesJson,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::OtlpProto, Self::OtlpJson, Self::SeriesJson];

    /// The name of the format, as the command knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtlpProto => "otlp-proto",
            Self::OtlpJson => "otlp-json",
            Self::SeriesJson => "series-json",
        }
    }
}

/// Writes a whole workload. Series have no times, so that of them only the first scrape of each window is written.
///
/// # Errors
///
/// What `out` says.
pub fn write(workload: &Workload, format: Format, out: &mut impl Write) -> io::Result<()> {
    match format {
        Format::OtlpProto => workload.requests().try_for_each(|request| write_otlp_proto(&request, out)),
        Format::OtlpJson => workload.requests().try_for_each(|request| write_otlp_json(&request, out)),
        Format::SeriesJson => workload.first_scrapes().try_for_each(|request| write_series_json(&request, out)),
    }
}
