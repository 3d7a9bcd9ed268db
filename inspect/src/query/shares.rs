//! [`Shares`]: series and bytes of blocks by the value of a label.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chronoxide::{Error, ErrorKind, Query};
use rayon::prelude::*;
use serde::Serialize;

/// Series and bytes of blocks by the value of a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Number of distinct series.
    pub series: u64,
    /// Bytes of the files.
    pub bytes: f64,
    /// Number of distinct values.
    pub values: u64,
    /// Shares of the values and of the series without the label, the most bytes first.
    pub shares: Vec<Share>,
}

/// Share of the series that have a value of a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Value; none for series without the label.
    pub value: Option<String>,
    /// Number of distinct series.
    pub series: u64,
    /// Their bytes: see [`chronoxide::Blocks::stored_bytes`].
    pub bytes: f64,
}

impl Shares {
    /// Counts all series and bytes of the blocks of a query, which selects all series. Returns the errors of damaged
    /// blocks too: those are left out. Costs as much as [`Query::group_by`] and [`chronoxide::Blocks::stored_bytes`].
    ///
    /// # Errors
    /// As [`Query::group_by`].
    pub fn new(query: &Query<'_>, name: &str) -> Result<(Self, Vec<Error>), Error> {
        let mut shares: BTreeMap<Option<String>, (u64, f64)> = BTreeMap::new();
        let mut damaged = Vec::new();
        let blocks = query.blocks().each();
        let stored: Vec<_> = blocks.par_iter().map(|block| block.stored_bytes(name)).collect();
        for stored in stored {
            match stored {
                Ok(stored) => {
                    for (value, bytes) in stored {
                        shares.entry(value.map(str::to_owned)).or_default().1 += bytes;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        for group in query.group_by(&[name])? {
            shares.entry(group.get(name).map(str::to_owned)).or_default().0 += group.series;
        }
        let shares = shares.into_iter().map(|(value, (series, bytes))| Share { value, series, bytes });
        let mut shares: Vec<Share> = shares.collect();
        shares.sort_by(|a, b| b.bytes.total_cmp(&a.bytes).then_with(|| Reverse(a.series).cmp(&Reverse(b.series))));
        let shares = Self {
            series: shares.iter().map(|share| share.series).sum(),
            bytes: shares.iter().map(|share| share.bytes).sum(),
            values: shares.iter().filter(|share| share.value.is_some()).count() as u64,
            shares,
        };
        Ok((shares, damaged))
    }
}
