//! Labels to series, series to blocks.

use super::attributes::Attributes;
use super::blocks::{BlockSink, SealedBlock};
use super::error::AssembleError;
use super::input_window::InputWindow;
use super::metrics::Metrics;
use super::options::AssembleOptions;
use super::recall::Recall;
use super::untranslated::Untranslated;
use super::windows::{Times, TooManyWindows, Windows};
use crate::names;
use crate::otlp::Level;
use crate::report::{Report, Warning};
use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;
use chronoxide_format::metadata::{MetricMetadata, OwnedMetricMetadata};
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{KeysetStore, LabelError, LabelId, LabelSetStore, Layout, Origin, StoreKeyId};
use std::borrow::Cow;
use std::collections::HashMap;

/// New series between two looks at the memory.
const SERIES_PER_LOOK: usize = 1 << 6;

/// Attributes that are interned between two such looks.
const ATTRIBUTES_PER_LOOK: usize = 1 << 10;

/// Bytes of records between two such looks.
const BYTES_PER_LOOK: usize = 1 << 16;

/// Collects series from the parts of records, and gives them to `blocks`.
///
/// Labels of resources and scopes are interned once for all their points, so that a known point costs its own
/// attributes and two lookups.
#[derive(Debug, Default)]
pub struct Assembler<B = Vec<Vec<u8>>> {
    pub(super) store: KeysetStore,
    pub(super) options: AssembleOptions,
    pub(super) report: Report,
    pub(super) resource: Attributes,
    pub(super) scope: Attributes,
    pub(super) point: Attributes,
    /// What resource and scope give to each of their points, without empty values.
    pub(super) base: Vec<LabelId>,
    pub(super) base_is_current: bool,
    /// What the current metric gives to each of its points, its name first; nothing if it has no name.
    pub(super) metric: Vec<LabelId>,
    /// The labels of one series; kept to keep its memory.
    pub(super) labels: Vec<LabelId>,
    pub(super) windows: Windows,
    pub(super) metrics: Metrics,
    pub(super) names: names::Cache,
    pub(super) untranslated: Untranslated,
    pub(super) recall: Recall,
    /// What the current input said of metrics, by their names, for labels of the series that follow.
    pub(super) said: HashMap<Box<str>, OwnedMetricMetadata>,
    /// Bytes of memory that it takes, at most.
    pub(super) said_bytes: usize,
    /// What it said last, which is said again where a block is cut in the midst of a family.
    pub(super) last_said: OwnedMetricMetadata,
    /// Times of the current series, where its input says them.
    pub(super) series_times: Vec<Times>,
    /// The window of the inputs since the last cut.
    input_window: InputWindow,
    /// Bytes that a reader holds beside the assembler.
    pub(super) outside_memory: usize,
    /// Bytes of records since the last look at the memory.
    unlooked: usize,
    /// Attributes that were interned since then.
    work: usize,
    blocks: B,
}

impl<B: BlockSink> Assembler<B> {
    /// An assembler without series.
    #[must_use]
    pub fn new(options: AssembleOptions, blocks: B) -> Self {
        let mut assembler = Self {
            store: KeysetStore::new(),
            report: Report::default(),
            resource: Attributes::default(),
            scope: Attributes::default(),
            point: Attributes::default(),
            base: Vec::new(),
            base_is_current: false,
            metric: Vec::new(),
            labels: Vec::new(),
            windows: Windows::new(options.window, options.max_windows),
            metrics: Metrics::default(),
            names: names::Cache::default(),
            untranslated: Untranslated::default(),
            recall: Recall::default(),
            said: HashMap::new(),
            said_bytes: 0,
            last_said: OwnedMetricMetadata::default(),
            series_times: Vec::new(),
            input_window: InputWindow::default(),
            outside_memory: 0,
            unlooked: 0,
            work: 0,
            options,
            blocks,
        };
        assembler.resource.clear();
        assembler.scope.clear();
        assembler.point.clear();
        assembler
    }

    /// What was counted so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }

    /// The series since the last cut.
    #[must_use]
    pub fn store(&self) -> &KeysetStore {
        &self.store
    }

    /// Seals what is left, the empty block if there is nothing at all. Returns what was counted, and the blocks.
    ///
    /// # Errors
    ///
    /// A block cannot be sealed, or is not taken.
    pub fn finish(mut self) -> Result<(Report, B), AssembleError> {
        self.end_resource()?;
        self.cut()?;
        let count = self.windows.untimed_count();
        if count > 0 {
            self.report.warn(Warning::NoWindow { count });
        }
        if self.report.blocks == 0 && self.options.window.is_none() {
            self.seal(&BitVec::new(), &self.meta())?;
        }
        Ok((self.report, self.blocks))
    }

    /// A record of this many bytes was read: no attribute of it matters any more.
    pub(crate) fn record_ends(&mut self, len: usize) -> Result<(), AssembleError> {
        self.end_resource()?;
        self.report.records += 1;
        self.unlooked += len;
        if self.unlooked >= BYTES_PER_LOOK {
            self.unlooked = 0;
            if self.is_memory_used() {
                for attributes in [&mut self.resource, &mut self.scope, &mut self.point] {
                    attributes.clear();
                }
                for labels in [&mut self.base, &mut self.metric, &mut self.labels] {
                    labels.clear();
                }
                self.cut_and_restart()?;
            }
        }
        Ok(())
    }

    /// Looks at the memory if many attributes were interned, for which there need not be series.
    #[inline]
    pub(super) fn look_at_work(&mut self) -> Result<(), AssembleError> {
        if self.work >= ATTRIBUTES_PER_LOOK {
            self.work = 0;
            if self.is_memory_used() {
                self.cut_and_restart()?;
            }
        }
        Ok(())
    }

    /// An input ends: what it said of metrics is not said of those of the next one.
    pub(crate) fn input_ends(&mut self) {
        self.said = HashMap::new();
        self.said_bytes = 0;
        self.last_said = OwnedMetricMetadata::default();
    }

    /// Sets how many bytes a reader holds beside the assembler, which count as memory in use.
    pub(crate) fn set_outside_memory(&mut self, bytes: usize) {
        self.outside_memory = bytes;
    }

    /// An input begins whose series are of this window.
    pub(crate) fn input_has_window(&mut self, range: TimeRange) -> Result<(), AssembleError> {
        self.begin_window(InputWindow::Known(range))
    }

    /// An input begins that has no window.
    pub(crate) fn input_has_no_window(&mut self) -> Result<(), AssembleError> {
        self.begin_window(InputWindow::Unknown)
    }

    fn begin_window(&mut self, window: InputWindow) -> Result<(), AssembleError> {
        let is_other = self.input_window != window && self.input_window != InputWindow::NoInput;
        if self.options.separate_input_windows && self.options.window.is_none() && is_other {
            self.cut_and_restart()?;
            self.input_window = InputWindow::NoInput;
        }
        self.input_window = self.input_window.union(window);
        Ok(())
    }

    /// Whether the series that was stored last is one too many.
    fn is_full(&self) -> bool {
        let count = self.store.len();
        count > self.options.max_series as usize || count.is_multiple_of(SERIES_PER_LOOK) && self.is_memory_used()
    }

    /// Seals what is in a window, window by window. Series that are in none stay out.
    fn cut(&mut self) -> Result<(), AssembleError> {
        let (count, limit) = (self.report.blocks + self.windows.len() as u64, self.options.max_blocks);
        if count > limit {
            return Err(AssembleError::TooManyBlocks { count, limit });
        }
        let (length, metrics) = (self.windows.length(), std::mem::take(&mut self.metrics));
        let (windows, everywhere) = self.windows.take();
        for window in windows {
            let mut meta = self.meta();
            meta.time = window.time_range();
            meta.window = window.window_range(length).or(self.input_window.range());
            let said = window.all_metrics(&everywhere);
            meta.metrics.extend(said.iter_ones().filter_map(|number| metrics.get(number)));
            self.seal(&window.series, &meta)?;
        }
        let last_said = std::mem::take(&mut self.last_said);
        if let Some(number) = self.intern_metadata(&last_said.borrowed()) {
            self.windows.everywhere(number);
        }
        self.last_said = last_said;
        Ok(())
    }

    fn meta(&self) -> BlockMeta {
        let AssembleOptions { policy, external_labels, annotations, .. } = &self.options;
        let (external_labels, annotations) = (external_labels.clone(), annotations.clone());
        BlockMeta { external_labels, annotations, policy: *policy, ..BlockMeta::default() }
    }

    /// Makes a block of some series and gives it away.
    fn seal(&mut self, series: &BitSlice, meta: &BlockMeta) -> Result<(), AssembleError> {
        let layout = self.options.layout;
        let others = Layout::ALL.into_iter().filter(|&other| self.options.compare_layouts && other != layout);
        let sealed = SealedBlock {
            block: self.store.seal_selected(series, layout, meta)?,
            layout,
            others: others
                .map(|other| Ok((other, self.store.seal_selected(series, other, meta)?)))
                .collect::<Result<_, AssembleError>>()?,
            store_series: self.store.len(),
            store_memory: self.store.memory_used(),
        };
        self.report.blocks += 1;
        self.blocks.take(sealed).map_err(AssembleError::Output)
    }

    /// Makes blocks of what was collected, and goes on with a new store.
    fn cut_and_restart(&mut self) -> Result<(), AssembleError> {
        if self.options.one_block
            && let Some(limit) = self.options.max_memory
        {
            return Err(AssembleError::MemoryLimit { limit, series: self.store.len() });
        }
        self.cut()?;
        // Otherwise it could be what fills the memory, again and again.
        if self.options.max_memory.is_some_and(|limit| self.said_bytes > limit / 8) {
            self.forget_said();
        }
        Ok(self.restart()?)
    }

    /// When points were seen that have no time of their own, if that was said.
    pub(super) fn said_times(&self) -> Option<Times> {
        self.options.time.map(|range| (range.start, range.end.saturating_sub(1)))
    }

    /// Begins a new store, in which only the labels are that the current resource, scope, metric, point and series
    /// have.
    fn restart(&mut self) -> Result<(), LabelError> {
        // Its memory counts, so that it must not be what is left when everything else is gone.
        self.recall = Recall::default();
        let old = std::mem::take(&mut self.store);
        let store = std::cell::RefCell::new(&mut self.store);
        let key = |key: StoreKeyId| store.borrow_mut().intern_name(old.name(key).unwrap_or_default());
        let label = |label: LabelId| {
            let (name, value) = (old.name(label.key).unwrap_or_default(), old.value(label).unwrap_or_default());
            store.borrow_mut().intern_label(name, value)
        };
        for attributes in [&mut self.resource, &mut self.scope, &mut self.point] {
            attributes.move_to(key, label)?;
        }
        for labels in [&mut self.base, &mut self.metric, &mut self.labels] {
            labels.iter_mut().try_for_each(|place| label(*place).map(|label| *place = label))?;
        }
        for &(key, _) in &self.resource.list {
            self.store.note_origin(key, Origin::Resource);
        }
        Ok(())
    }

    pub(super) fn set(&mut self, level: Level, name: &str, value: &str) -> Result<(), LabelError> {
        if name.is_empty() {
            self.recall.drop_pending();
            self.report.empty_keys += 1;
            return Ok(());
        }
        if self.level(level).refuses() {
            self.recall.drop_pending();
            return Ok(());
        }
        self.work += 1;
        let cut = self.report.names_cut + self.report.values_cut;
        let key = self.intern_name(name)?;
        let label = if value.is_empty() {
            self.report.empty_values.add(level);
            None
        } else {
            Some(self.intern_value(key, value)?)
        };
        match label {
            // What is counted has to come here each time.
            Some(label) if cut == self.report.names_cut + self.report.values_cut => self.recall.keep(label),
            _ => self.recall.drop_pending(),
        }
        self.set_label(level, key, label);
        Ok(())
    }

    /// Sets an attribute of the current resource, scope or point.
    #[inline]
    pub(super) fn set_label(&mut self, level: Level, key: StoreKeyId, label: Option<LabelId>) {
        let origin = if level == Level::Resource { Origin::Resource } else { Origin::Point };
        self.store.note_origin(key, origin);
        let attributes = self.level(level);
        if !attributes.refuses() && attributes.set(key, label) {
            self.report.duplicate_keys.add(level);
        }
    }

    #[inline]
    fn level(&mut self, level: Level) -> &mut Attributes {
        match level {
            Level::Resource => &mut self.resource,
            Level::Scope => &mut self.scope,
            Level::Point => &mut self.point,
        }
    }

    pub(super) fn intern_name(&mut self, name: &str) -> Result<StoreKeyId, LabelError> {
        let name = self.options.policy.name(name);
        self.report.names_cut += u64::from(matches!(name, Cow::Owned(_)));
        self.store.intern_name(&name)
    }

    pub(super) fn intern_value(&mut self, key: StoreKeyId, value: &str) -> Result<LabelId, LabelError> {
        let value = self.options.policy.value(value);
        self.report.values_cut += u64::from(matches!(value, Cow::Owned(_)));
        self.store.intern_value(key, &value)
    }

    /// The number of what is said of a metric, its text cut as values are; none if nothing is said, or if metadata are not
    /// kept.
    pub(super) fn intern_metadata(&mut self, metadata: &MetricMetadata<'_>) -> Option<usize> {
        let nothing = MetricMetadata { name: metadata.name, ..MetricMetadata::default() };
        if metadata.name.is_empty() || *metadata == nothing || !self.options.keep_metadata {
            return None;
        }
        let policy = self.options.policy;
        let [name, unit, description] =
            [metadata.name, metadata.unit, metadata.description].map(|text| policy.value(text));
        let metadata = MetricMetadata { name: &name, unit: &unit, description: &description, ..*metadata };
        Some(self.metrics.intern(&metadata))
    }

    pub(super) fn intern_label(&mut self, name: &str, value: &str) -> Result<LabelId, LabelError> {
        let key = self.intern_name(name)?;
        self.intern_value(key, value)
    }

    /// Stores the series of the collected labels, with points at these times.
    pub(super) fn insert(&mut self, times: impl IntoIterator<Item = Option<Times>>) -> Result<(), AssembleError> {
        let mut inserted = self.store.insert_ids(&self.labels);
        if matches!(inserted, Ok((_, true))) && self.is_full() {
            // The new series is in no window yet, so that it is not in the blocks that are sealed now.
            self.cut_and_restart()?;
            inserted = self.store.insert_ids(&self.labels);
        }
        match inserted {
            Ok((mut series, is_new)) => {
                self.report.series += u64::from(is_new);
                let before = self.windows.memory_used();
                for times in times {
                    // A series of many windows takes a place in the set of each.
                    if self.is_too_wide(series, times) {
                        self.cut_and_restart()?;
                        series = self.store.insert_ids(&self.labels)?.0;
                    }
                    let limit = self.options.max_windows;
                    self.windows
                        .add(series, times)
                        .map_err(|TooManyWindows { starts }| AssembleError::TooManyWindows { limit, starts })?;
                }
                if self.windows.memory_used() > before && self.is_memory_used() {
                    self.cut_and_restart()?;
                }
            }
            Err(LabelError::TooManyLabels { .. }) => self.report.skipped.too_many_labels += 1,
            Err(LabelError::NoLabels) => self.report.skipped.series_without_labels += 1,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
