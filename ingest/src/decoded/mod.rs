//! Decoded records as arrays, so that records are decoded on all cores and assembled in their order.
//!
//! | module | contents |
//! | --- | --- |
//! | `series` | labels of series |
//! | `decoder` | [`AheadDecoder`], which decodes records of a format apart from those before them |
//!
//! Requests of OTLP are [`Requests`]. A record that is malformed, or that takes much more memory as arrays than as a
//! record, is not kept here: it is decoded where it is assembled, which gives its errors and bounds memory.

mod decoder;
mod series;

pub(crate) use decoder::AheadDecoder;
pub(crate) use series::{Series, SeriesPlace};

use crate::otlp::{RequestPlace, Requests};

/// Decoded records of a batch.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) requests: Requests,
    pub(crate) series: Series,
}

/// Place of a decoded record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Request(RequestPlace),
    Series(SeriesPlace),
}

impl Decoded {
    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.series.clear();
    }
}
