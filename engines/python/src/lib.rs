//! The extension module of the Python package `chronoxide`. The package itself, with its documentation for users, is in
//! `python/chronoxide`.
//!
//! Classes are frozen: several threads may use an object at once. Work that can take long releases the interpreter's
//! lock.
//!
//! | module | content |
//! |---|---|
//! | `open` | `open`, `open_block`, `open_folder` |
//! | `opened` | open blocks, and what classes of blocks and folders have in common |
//! | `table` | class `Table`: base class of blocks, folders and selections |
//! | `block` | class `Block` |
//! | `folder` | class `Folder`: the live blocks of a folder |
//! | `selection` | classes `Selection` and `FolderSelection` |
//! | `series` | series as dicts, and iterators over them |
//! | `labels` | arguments that are labels, selectors or paths |
//! | `counts` | result of `cardinality` |
//! | `columns` | classes `Column` and `Values`: values of series |
//! | `batches` | class `Batches`: record batches for any consumer of Arrow |
//! | `capsules` | objects of Arrow and DataFusion as capsules (unsafe) |
//! | `notebook` | tables of HTML for notebooks |
//! | `ingest`, `compact` | functions of the same names |
//! | `watch` | progress and Ctrl-C during a long call |
//! | `writer` | class `Writer` |
//! | `errors` | exceptions |

mod batches;
mod block;
mod capsules;
mod columns;
mod compact;
mod counts;
mod errors;
mod folder;
mod ingest;
mod labels;
mod notebook;
mod open;
mod opened;
mod selection;
mod series;
mod table;
mod watch;
mod writer;

/// The module `chronoxide._chronoxide`.
#[pyo3::pymodule]
mod _chronoxide {
    #[pymodule_export]
    use crate::batches::PyBatches;
    #[pymodule_export]
    use crate::block::PyBlock;
    #[pymodule_export]
    use crate::columns::{PyColumn, PyValues};
    #[pymodule_export]
    use crate::compact::compact;
    #[pymodule_export]
    use crate::errors::{
        ChronoxideError, CompactError, CorruptBlockError, IngestError, SelectorError, UnsupportedBlockError,
    };
    #[pymodule_export]
    use crate::folder::PyFolder;
    #[pymodule_export]
    use crate::ingest::ingest;
    #[pymodule_export]
    use crate::open::{open, open_block, open_folder};
    #[pymodule_export]
    use crate::selection::{PyFolderSelection, PySelection};
    #[pymodule_export]
    use crate::series::PySeriesIterator;
    #[pymodule_export]
    use crate::table::PyTable;
    #[pymodule_export]
    use crate::writer::PyWriter;
}
