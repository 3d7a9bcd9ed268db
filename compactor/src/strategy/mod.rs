//! Chooses the blocks of a folder to merge.
//!
//! [`choose()`] takes a [`Description`] of each block. It returns [`Group`]s, each to be merged into one block, and a
//! reason for each block that is not merged. It reads no files and no clock: equal blocks and options give the same
//! strategy, in any order.
//!
//! Only blocks with equal external labels and an equal label policy are merged. Among these:
//!
//! | blocks | merged when | why |
//! |---|---|---|
//! | in one aligned time range (7d, 1d, 6h, 2h; longest first) | two or more, and the range is *complete* | see below |
//! | in the incomplete shortest range | four or more of similar size | few files, and few rewrites |
//! | with unknown time | four or more of similar size | there is no range |
//! | that cross a boundary of every range | never | a merged block would belong to two weeks |
//! | that are all outputs of one job | never | no series is in two of them |
//! | copies: another file has the same block id | never | the block exists already |
//! | read-only: with an unknown bit in `ro_compat` | never | a merge would lose what this version does not know |
//!
//! A range is *complete* if another block with the same external labels begins at its end or later. An incomplete range
//! would be merged again for each new block. The longest complete range is merged at once, so that an old series is
//! written once and not once per level.
//!
//! Blocks have *similar size* if the largest is at most twice the smallest; blocks below 1 MiB count as 1 MiB. A block
//! that was merged from four is merged again only with blocks of its size, so the number of times that a series is
//! written grows with the logarithm of the total. This is the size-tiered strategy of Lucene and Cassandra. The ranges
//! are those of Prometheus's TSDB, with two differences: blocks are also merged in the shortest range, since ingest can
//! cut a window into several blocks, and a full range counts as complete only when a newer block exists.
//!
//! A block lies in a range if its window does, or without a window, if the time range of its data does.
//!
//! With [`max_series`](StrategyOptions::max_series), a group has at most this number of series, counted as if no series
//! were in two blocks. A range that has more is split into its shorter ranges. If nothing can be merged in these,
//! consecutive blocks are merged up to the limit. Duplicate series make room for the next strategy.
//!
//! [`min_time`](StrategyOptions::min_time) and [`max_time`](StrategyOptions::max_time) select blocks that lie entirely
//! between them. Other blocks still count as newer blocks.
//!
//! Each merge into one block reduces the number of blocks, so that choosing and merging repeatedly ends with a strategy
//! without groups. A merge into several leaves outputs of one job, which are merged with others only.
//!
//! | module | what it is for |
//! |---|---|
//! | `description` | properties of a block |
//! | `ranges` | lengths of ranges, and the range of a block |
//! | `options` | options |
//! | `choose` | groups and reasons |
//! | `by_time` | groups by time range |
//! | `by_size` | groups by size |
//! | `json` | JSON form |
//!
//! ```
//! use chronoxide_compactor::strategy::{StrategyOptions, choose, describe};
//! use chronoxide_locations::{Listing, Location};
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
//! let listing = Listing::read(&Location::folder(folder))?;
//! let blocks = describe(&listing, &[]);
//! let strategy = choose(&blocks, &StrategyOptions::default());
//! let merged: usize = strategy.groups.iter().map(|group| group.blocks.len()).sum();
//! assert_eq!(merged + strategy.unmerged.len(), listing.live.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_size;
mod by_time;
mod choose;
mod description;
mod json;
mod options;
mod ranges;

pub use choose::{Group, GroupReason, Strategy, Unmerged, UnmergedReason, choose};
pub use description::{Description, describe};
pub use json::times;
pub use options::StrategyOptions;
pub use ranges::{Length, Ranges, RangesError};
