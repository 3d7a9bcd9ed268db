//! `open`, `open_block`, `open_folder`: a path as a block or a folder.

use std::path::{Path, PathBuf};

use chronoxide::{Blocks, OpenOptions};
use pyo3::exceptions::{PyIsADirectoryError, PyNotADirectoryError};
use pyo3::prelude::*;

use crate::block::PyBlock;
use crate::errors::Raise;
use crate::folder::PyFolder;
use crate::opened::Opened;

/// Opens a block, or the live blocks of a folder: `open_block` or `open_folder`, by what the path is. URLs of object
/// stores, such as `s3://bucket/folder/`, are paths, too.
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
    let blocks = open_blocks(py, &path, mmap)?;
    if blocks.is_folder() {
        Ok(PyFolder::create(py, path, blocks)?.into_any())
    } else {
        Ok(PyBlock::create(py, Opened::new(blocks))?.into_any())
    }
}

/// Opens a block; see `open`.
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open_block(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyBlock>> {
    let blocks = open_blocks(py, &path, mmap)?;
    if blocks.is_folder() {
        return Err(PyIsADirectoryError::new_err(format!("{}: a folder, not a block", path.display())));
    }
    PyBlock::create(py, Opened::new(blocks))
}

/// Opens the live blocks of a folder; see `open`.
///
/// >>> chronoxide.open_folder("blocks").blocks[0].label_names()
/// ['__name__', 'job', 'pod', 'zone']
#[pyfunction]
#[pyo3(signature = (path, *, mmap=true), text_signature = "(path, *, mmap=True)")]
pub(crate) fn open_folder(py: Python<'_>, path: PathBuf, mmap: bool) -> PyResult<Bound<'_, PyFolder>> {
    let blocks = open_blocks(py, &path, mmap)?;
    if !blocks.is_folder() {
        return Err(PyNotADirectoryError::new_err(format!("{}: a block, not a folder", path.display())));
    }
    PyFolder::create(py, path, blocks)
}

fn open_blocks(py: Python<'_>, path: &Path, mmap: bool) -> PyResult<Blocks> {
    let options = OpenOptions::new();
    let options = match mmap {
        // SAFETY: the documentation of these functions passes the contract on to their callers.
        true => unsafe { options.map() },
        false => options,
    };
    py.detach(|| options.open(path)).map_err(Raise::raise)
}
