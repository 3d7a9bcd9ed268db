//! Parts of decoded records as bytes, so that records are decoded on all cores and assembled in their order.
//!
//! | module | contents |
//! | --- | --- |
//! | `bytes` | [`Parts`], the bytes of many records, and a [`Span`] of them per record |
//! | `request` | sink that keeps the parts of a request of OTLP as JSON |
//! | `encoded` | sink that keeps the parts of a request of OTLP as protobuf |
//! | `replay` | parts of a request, given to another sink |
//! | `series` | sink that keeps the labels of a series, and their iterator |
//! | `decoder` | [`PartsDecoder`], which decodes records of a format to parts |
//!
//! A record that is malformed, or that has more bytes as parts than as a record, has no parts: it is decoded directly,
//! which gives its errors and bounds its memory. This depends on the record only. Thus the number of threads changes
//! neither blocks nor reports.
//!
//! Attributes are kept as the bytes that they have in protobuf: the assembler recognizes those of known points without
//! looking at their names and values. If the record is protobuf, their places in it are kept.

mod bytes;
mod decoder;
mod encoded;
mod replay;
mod request;
mod series;

pub(crate) use bytes::{Parts, Span};
pub(crate) use decoder::PartsDecoder;
