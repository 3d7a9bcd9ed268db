//! [`Pipeline`]: what all stages of a compaction share.

use std::cell::RefCell;
use std::time::Instant;

use chronoxide_format::view::BlockView;

use super::checks::Request;
use crate::CompactOptions;
use crate::progress::{Phase, Timings, Watch};

/// Inputs and options of a compaction, its progress, and its times.
pub(super) struct Pipeline<'a> {
    pub request: Request<'a>,
    /// False if nothing is written: the series are counted.
    pub has_outputs: bool,
    pub has_remaps: bool,
    pub watch: Watch<'a>,
    timings: RefCell<Timings>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(request: Request<'a>, has_outputs: bool, has_remaps: bool) -> Self {
        let watch = Watch::new(request.observer);
        Self { request, has_outputs, has_remaps, watch, timings: RefCell::default() }
    }

    pub(super) fn inputs(&self) -> &'a [BlockView<'a>] {
        self.request.inputs
    }

    pub(super) fn options(&self) -> &'a CompactOptions {
        self.request.options
    }

    /// Returns true if the options ask for one output.
    pub(super) fn is_one_output(&self) -> bool {
        self.options().max_series_per_block.is_none() && self.options().shards.is_none()
    }

    /// Does a part of a phase, and adds its time.
    pub(super) fn time<T, E>(&self, phase: Phase, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let started = Instant::now();
        let done = work();
        self.timings.borrow_mut().add(phase, started.elapsed());
        done
    }

    pub(super) fn timings(&self) -> Timings {
        *self.timings.borrow()
    }
}
