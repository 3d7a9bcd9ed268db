//! Blocks and folders of blocks behind a C ABI.
//!
//! The functions are declared in `include/chronoxide.h`, which is generated from this crate: their documentation is
//! that of the header, and speaks of C. `README.md` says how to build, link and call them.
//!
//! ```text
//! cx_blocks_map --> cx_blocks --cx_blocks_find---------> ids of labels
//!                      |-----cx_column_find------------> cx_column: values of ids
//!                      |-----cx_reader_new-------------> cx_reader: labels of ids
//!                      |-----cx_query_series-----------> cx_rows: ids and labels of selected series
//!                      |-----cx_query_count, _group, _label_names, _label_values
//!                      `-----cx_query_arrow_stream-----> ArrowArrayStream
//! ```
//!
//! It is the crate `chronoxide` in C, with its types: each call checks its arguments, asks that crate, and writes what
//! it says.
//!
//! # Contract of the callers
//!
//! Rust cannot check it; the header states it at its top. Each pointer is null or valid for its type and direction,
//! each handle came from this library and was not freed, and what a call writes to is used by nothing else meanwhile.
//! References among the parameters, such as `Option<&CxBlocks>`, rest on it, and so does every unsafe block of this
//! crate. Null pointers, lengths that no object can have, text that is not UTF-8, unknown constants, and a reader or
//! rows that two threads use at once are detected.
//!
//! # Panics
//!
//! No panic crosses the ABI: every function that does more than read a field runs under `catch_unwind`. A panic is a
//! bug, and is reported as [`CX_INTERNAL`](status::CX_INTERNAL).
//!
//! | module | content |
//! |---|---|
//! | `status` | status codes, and the code of each error |
//! | `error` | [`CxError`](error::CxError), and the guard that stops panics |
//! | `failures` | errors of single blocks, beside a result |
//! | `pointer` | arguments of C as slices and text, handles (unsafe) |
//! | `label` | labels, strings and ids |
//! | `blocks` | open, refresh, describe, verify, find |
//! | `columns` | values of series, by their ids |
//! | `batch` | many series at once |
//! | `reader` | labels of many series, by their ids |
//! | `selector` | selectors: from text, or from matchers |
//! | `query` | queries of the caller; counts, names and values of labels |
//! | `groups` | numbers of series by label |
//! | `selection` | selected series as ranges of ids |
//! | `rows` | selected series with their labels, one by one |
//! | `arrow` | selected series as streams of Arrow record batches |
//! | `strings` | lists of strings |
//! | `version` | version of the library |
#![cfg_attr(
    not(test),
    deny(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used,)
)]
// The contract is one for all functions: see above.
#![allow(clippy::missing_safety_doc)]

pub mod arrow;
pub mod batch;
pub mod blocks;
pub mod columns;
pub mod error;
pub mod failures;
pub mod groups;
pub mod label;
mod pointer;
pub mod query;
pub mod reader;
pub mod rows;
pub mod selection;
pub mod selector;
pub mod status;
pub mod strings;
pub mod version;

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles if threads may share the handle.
    fn may_be_shared<T: Send + Sync>() -> usize {
        size_of::<T>()
    }

    #[test]
    fn threads_may_share_every_handle() {
        let sizes = [
            may_be_shared::<blocks::CxBlocks>(),
            may_be_shared::<columns::CxColumns>(),
            may_be_shared::<columns::CxColumn>(),
            may_be_shared::<failures::CxFailures>(),
            may_be_shared::<groups::CxGroups>(),
            may_be_shared::<query::CxCancel>(),
            may_be_shared::<reader::CxReader>(),
            may_be_shared::<rows::CxRows>(),
            may_be_shared::<selection::CxSelection>(),
            may_be_shared::<selector::CxSelector>(),
            may_be_shared::<strings::CxStrings>(),
        ];
        // `Box` gives handles of size 0 an address that is not of the allocator.
        assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
    }
}
