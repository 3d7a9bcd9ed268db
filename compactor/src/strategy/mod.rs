//! Which blocks of a folder are merged together.
//!
//! [`choose()`] takes a [`Description`] of each block and gives [`Group`]s, each to be merged into one block, and for each block that stays alone the reason. It
//! reads nothing and knows no clock: the same blocks and options give the same strategy, whatever their order.
//!
//! Only blocks with equal external labels and an equal label policy go together. Among these:
//!
//! | which blocks | when they are merged | why |
//! |---|---|---|
//! | those that lie in one range of time: by default of 7 days, else 1 day, 6 hours or 2 hours, aligned to multiples since 1970 | two or more, when the range is *complete*: another block with the same external labels begins at its end or later | A range that is not complete would be merged again for each block that comes. The largest complete range is taken at once, so that a series that is old is written once and not once a level. |
//! | those of the smallest range (2 hours) that is not complete | four or more of like size | Few files while a range fills, and each series is written a few times at most. |
//! | those whose time is not known | four or more of like size | There is no range to go by. |
//! | those that reach over a boundary of every range | never | They would make a block of a week belong to two. |
//! | copies: files whose block id another file has | never | The same block is there already. |
//!
//! Of *like size* are blocks the largest of which is at most twice the smallest; all below 1 MiB count as 1 MiB. So a block that four have become is
//! merged again only with others that were made so, and the number of times that a series is written grows with the logarithm of the total, as in Lucene and
//! Cassandra, whose size-tiered merging this is. The levels of ranges are those of Prometheus's TSDB; other than there, blocks are merged in the smallest range
//! too, since an ingest can cut a window into several, and a range that is full counts as complete only when something newer exists.
//!
//! A block lies in a range with its window, or if it was cut for none, with the time range of its data.
//!
//! With [`max_series`](StrategyOptions::max_series), blocks whose series would be more, counted as if none were in two blocks, are not merged into one. A range that would have
//! more is taken apart into the smaller ranges; only when nothing can be merged in these, blocks that follow one another are merged as far as the limit allows.
//! Series that were in several blocks make the next plan find room.
//!
//! [`min_time`](StrategyOptions::min_time) and [`max_time`](StrategyOptions::max_time) choose the blocks that lie between them as a whole; the others still
//! count as newer blocks.
//!
//! Each merge makes the number of blocks smaller, so that to plan and merge again and again comes to an end: a plan without groups.
//!
//! | module | what it is for |
//! |---|---|
//! | `description` | what is known of a block |
//! | `ranges` | the lengths of ranges, and the range that a block lies in |
//! | `options` | what can be chosen |
//! | `plan` | the whole: sets of blocks, groups and reasons |
//! | `by_time` | groups that lie in one range |
//! | `by_size` | groups of like size |
//! | `json` | a plan as JSON |
//! | `screen` | a plan for people |
//!
//! ```
//! use chronoxide_compactor::strategy::{Description, StrategyOptions, choose};
//! use chronoxide_format::view::BlockView;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
//! let mut blocks = Vec::new();
//! for name in ["plain-bitpacked.cx", "lists-fixedwidth.cx"] {
//!     let bytes = std::fs::read(format!("{folder}{name}"))?;
//!     blocks.push(Description::from_block(name.into(), &BlockView::open(&bytes)?)?);
//! }
//! let strategy = choose(&blocks, &StrategyOptions::default());
//! assert_eq!(strategy.groups.len() + strategy.unmerged.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_size;
mod by_time;
mod choose;
mod description;
mod json;
mod options;
mod ranges;
mod screen;

pub use choose::{Group, GroupReason, Strategy, Unmerged, UnmergedReason, choose};
pub use description::Description;
pub use json::times;
pub use options::StrategyOptions;
pub use ranges::{Length, Ranges, RangesError};
pub use screen::write;
