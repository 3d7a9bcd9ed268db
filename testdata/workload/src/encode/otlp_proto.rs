//! Requests as protobuf.

use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;

/// Writes the length of a request as a big-endian 32-bit number, and the request as protobuf.
///
/// # Errors
///
/// What `out` says, or that the request has 4 GiB or more.
pub fn write_otlp_proto(request: &ExportMetricsServiceRequest, out: &mut impl Write) -> io::Result<()> {
    let bytes = request.encode_to_vec();
    let len = u32::try_from(bytes.len()).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    out.write_all(&len.to_be_bytes())?;
    out.write_all(&bytes)
}
