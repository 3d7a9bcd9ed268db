//! `open`, `open_block`, `open_folder`: a path as a block or a folder.

use std::path::PathBuf;

use chronoxide_reader::{Block, Checks};
use chronoxide_select::BlockSet;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::block::{OpenBlock, PyBlock};
use crate::errors::Raise;
use crate::folder::PyFolder;

/// Opens a block, or the live blocks of a folder: `open_block` or `open_folder`, by what the path is.
///
/// With `mmap`, files are mapped instead of read: opening takes microseconds, and only what is used is loaded. They may
/// be deleted and replaced meanwhile, but must not be changed or truncated in place, which ends the process;
/// chronoxide never does that. Set `mmap=False` if another program might.
///
/// Checksums are checked as data is read.
///
/// >>> block = chronoxide.open("week.cx")
/// >>> len(block)
/// 10
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyAny>> {
    if path.is_dir() { Ok(open_folder(py, path, mmap)?.into_any()) } else { Ok(open_block(py, path, mmap)?.into_any()) }
}

/// Opens a block; see `open`.
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open_block(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyBlock>> {
    // Reading a pipe would wait, and a device may have no end.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(PyOSError::new_err(format!("{}: not a file", path.display())));
    }
    let block = py.detach(|| match mmap {
        // SAFETY: the documentation of this function passes the contract on to its caller.
        true => unsafe { Block::map(path, Checks::Lazy) },
        false => Block::read(path, Checks::Lazy),
    });
    PyBlock::create(py, OpenBlock::new(block.map_err(Raise::raise)?))
}

/// Opens the live blocks of a folder; see `open`.
///
/// >>> chronoxide.open_folder("blocks").blocks[0].label_names()
/// ['__name__', 'job', 'pod', 'zone']
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open_folder(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyFolder>> {
    let set = py.detach(|| match mmap {
        // SAFETY: the documentation of this function passes the contract on to its caller.
        true => unsafe { BlockSet::map(&path, Checks::Lazy) },
        false => BlockSet::read(&path, Checks::Lazy),
    });
    PyFolder::create(py, path, set.map_err(Raise::raise)?)
}
