//! Makes and damages blocks and remaps for tests: goldens, random blocks, editors. Of this project, it depends on
//! `chronoxide-format`, `chronoxide-labels` and `chronoxide-dump` only.
//!
//! | module | what it is for |
//! |---|---|
//! | [`golden`] | small sound blocks that together say everything the format can say |
//! | [`allocation`] | an allocator that counts |
//! | [`archive`] | golden blocks with packed arenas, and frames made by hand |
//! | [`articles`] | data in the shapes that articles on stores measured |
//! | [`broken`] | a block for each rule of the format that breaks it |
//! | [`captures`] | captures that real software wrote |
//! | [`columns`] | golden, broken and random series columns |
//! | [`conformance`] | requirements of symbol tables and labelset stores, and models that meet them |
//! | `corpus` | corpora of the fuzz targets, with the feature `corpus` |
//! | [`exercise`] | the whole read API over any bytes |
//! | [`flat`] | series as pairs of ids in memory, which benches compare with |
//! | [`fuzzing`] | fuzz targets that read blocks |
//! | [`hostile`] | fields set to values that no writer would write |
//! | [`manifest`] | the verdict on each golden and broken file, for other readers |
//! | [`parallel`] | cases on all cores |
//! | [`plan`] | builds blocks from labelsets, as plain maps, with a given plan |
//! | [`product`] | blocks that represent billions of series in few bytes |
//! | [`remap`] | golden and broken remaps |
//! | [`requirement`] | skips or fails a test whose tool or data is missing |
//! | [`sweep`] | number of cases in the default tier and in the slow tier |
//! | [`random`] | labelsets, plans for them and metric metadata, from a seed |
//! | [`editor`] | blocks taken apart and put together again |

pub mod allocation;
pub mod archive;
pub mod articles;
pub mod broken;
pub mod captures;
pub mod columns;
pub mod conformance;
#[cfg(feature = "corpus")]
pub mod corpus;
pub mod editor;
pub mod exercise;
pub mod flat;
pub mod fuzzing;
pub mod golden;
pub mod hostile;
pub mod manifest;
pub mod parallel;
pub mod plan;
pub mod product;
pub mod random;
pub mod remap;
pub mod requirement;
pub mod sweep;
