//! Blocks and folders of blocks behind a C ABI.
//!
//! The functions are declared in `include/chronoxide.h`, which is generated from this crate: their documentation is
//! that of the header, and speaks of C. `README.md` says how to build, link and call them.
//!
//! ```text
//! cx_block_map --> cx_block --cx_block_labels--> labels of a ref, in the caller's buffer
//!                     |-----cx_block_find------> ref of labels
//!                     |-----cx_block_select----> cx_selection --cx_selection_cursor--> cx_cursor: refs and labels
//!                     |                               `--cx_selection_arrow_stream--> ArrowArrayStream
//! cx_set_map ----> cx_set --cx_set_select------> cx_set_selection: one cx_selection per block
//! ```
//!
//! # Contract of the callers
//!
//! Rust cannot check it; the header states it at its top. Each pointer is null or valid for its type and direction,
//! each handle came from this library and was not freed, and what a call writes to is used by nothing else meanwhile.
//! References among the parameters, such as `Option<&CxBlock>`, rest on it, and so does every unsafe block of this
//! crate. Null pointers, lengths that no object can have, text that is not UTF-8, unknown constants, and a cursor that
//! two threads use at once are detected.
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
//! | `pointer` | arguments of C as slices and text (unsafe) |
//! | `label` | labels and strings as pointers and lengths |
//! | `opened` | a block, its view and its index in one shared object |
//! | `block` | open, verify, count, resolve, find |
//! | `selector` | selectors: from text, or from matchers |
//! | `limits` | limits of queries, and cancellation |
//! | `query` | selection, count, names and values of labels in a block |
//! | `selection` | selected refs |
//! | `strings` | lists of strings |
//! | `resolver` | labels of many series, with a cache |
//! | `cursor` | labels of a selection, series by series |
//! | `set` | folders of blocks |
//! | `set_selection` | selected series of several blocks |
//! | `arrow` | selections as streams of Arrow record batches |
//! | `failures` | errors of single blocks of a folder |
//! | `version` | version of the library |
#![cfg_attr(
    not(test),
    deny(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used,)
)]
// The contract is one for all functions: see above.
#![allow(clippy::missing_safety_doc)]

pub mod arrow;
pub mod block;
pub mod cursor;
pub mod error;
pub mod failures;
pub mod label;
pub mod limits;
mod opened;
mod pointer;
pub mod query;
pub mod resolver;
pub mod selection;
pub mod selector;
pub mod set;
pub mod set_selection;
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
            may_be_shared::<block::CxBlock>(),
            may_be_shared::<cursor::CxCursor>(),
            may_be_shared::<failures::CxFailures>(),
            may_be_shared::<limits::CxCancel>(),
            may_be_shared::<resolver::CxResolver>(),
            may_be_shared::<selection::CxSelection>(),
            may_be_shared::<selector::CxSelector>(),
            may_be_shared::<set::CxSet>(),
            may_be_shared::<set_selection::CxSetSelection>(),
            may_be_shared::<strings::CxStrings>(),
        ];
        // `Box` gives handles of size 0 an address that is not of the allocator.
        assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
    }
}
