//! Scratch files of systems where nothing spills.

use std::alloc::Layout;
use std::fs::File;
use std::io;

/// There is none.
pub(crate) enum Scratch {}

impl Scratch {
    pub(crate) fn new(_file: File) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn allocate(&self, _layout: Layout, _are_zeros: bool) -> io::Result<*mut u8> {
        match *self {}
    }

    pub(crate) fn contains(&self, _block: *mut u8) -> bool {
        match *self {}
    }

    /// # Safety
    /// Always safe. Declared unsafe to match the version for Linux.
    pub(crate) unsafe fn free(&self, _block: *mut u8, _layout: Layout) {
        match *self {}
    }

    pub(crate) fn resize(&self, _block: *mut u8, _from: Layout, _to: Layout) -> bool {
        match *self {}
    }

    pub(crate) fn held(&self) -> usize {
        match *self {}
    }

    pub(crate) fn peak(&self) -> usize {
        match *self {}
    }
}

pub(crate) fn explain(scratch: &Scratch) {
    match *scratch {}
}
