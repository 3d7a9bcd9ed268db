//! Series as JSON.

use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;

use crate::encode::object::Object;
use crate::labelset::visit_labelsets;

/// Writes the labels of each point of a request as an object of label to value, one a line.
///
/// # Errors
///
/// What `out` says.
pub fn write_series_json(request: &ExportMetricsServiceRequest, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Vec::new();
    visit_labelsets(request, |labels| {
        let mut object = Object::begin(&mut lines);
        for (name, value) in labels {
            object.text(name, value);
        }
        object.end();
        lines.push(b'\n');
    });
    out.write_all(&lines)
}
