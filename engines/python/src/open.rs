//! `open`: a path as a block or a folder.

use std::path::PathBuf;

use chronoxide_reader::{Block, Checks};
use chronoxide_select::BlockSet;
use pyo3::prelude::*;

use crate::block::{OpenBlock, PyBlock};
use crate::errors::Raise;
use crate::folder::PyFolder;

/// Opens a block, or the live blocks of a folder.
///
/// With `mmap`, files are mapped instead of read: opening takes microseconds, and only what is used is loaded. They may
/// be deleted and replaced meanwhile, but must not be changed or truncated in place; chronoxide never does that. Set
/// `mmap=False` if another program might.
///
/// Checksums are checked as data is read.
///
/// >>> block = chronoxide.open("week.cx")
/// >>> len(block)
/// 10
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyAny>> {
    if path.is_dir() {
        let set = py.detach(|| {
            if mmap {
                // SAFETY: the documentation of this function passes the contract on to its caller.
                unsafe { BlockSet::map(&path, Checks::Lazy) }
            } else {
                BlockSet::read(&path, Checks::Lazy)
            }
        });
        return Ok(PyFolder::create(py, path, set.map_err(Raise::raise)?)?.into_any());
    }
    Ok(PyBlock::create(py, OpenBlock::new(py.detach(|| open_block(path, mmap))?))?.into_any())
}

/// Opens a block, which keeps the path.
pub(crate) fn open_block(path: PathBuf, mmap: bool) -> PyResult<Block> {
    let block = if mmap {
        // SAFETY: as above.
        unsafe { Block::map(path, Checks::Lazy) }
    } else {
        Block::read(path, Checks::Lazy)
    };
    block.map_err(Raise::raise)
}
