//! [`Assembler`]: labels to series, series to blocks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chronoxide_format::metadata::MetricMetadata;
use chronoxide_format::policy::is_reserved_name;
use chronoxide_format::view::TimeRange;
use chronoxide_labels::{KeysetStore, LabelError, LabelId, LabelSets, Origin, StoreKeyId, StoreRef};

use super::attributes::Attributes;
use super::blocks::BlockSink;
use super::cut::{Cut, CutContent};
use super::error::AssembleError;
use super::families::Families;
use super::input_window::InputWindow;
use super::lists::{List, Lists};
use super::memory::plans;
use super::metrics::Metrics;
use super::neighbours::Neighbours;
use super::options::AssembleOptions;
use super::sealer::Sealer;
use super::series_values::{InputColumns, OwnedValue};
use super::template::Template;
use super::untranslated::Untranslated;
use super::windows::{Times, TooManyWindows, Window, Windows};
use crate::names;
use crate::otlp::Level;
use crate::report::{Report, Warning};

/// New series between two checks of memory.
const SERIES_PER_MEMORY_CHECK: usize = 1 << 6;

/// Interned attributes between two checks of memory.
const ATTRIBUTES_PER_MEMORY_CHECK: usize = 1 << 10;

/// Bytes of records between two checks of memory.
const BYTES_PER_MEMORY_CHECK: usize = 1 << 16;

/// Assembles series from parts of records, and gives blocks of them to a sink.
///
/// Labels of resources and scopes are interned once for all their points: a known point costs interning its own
/// attributes and two lookups.
#[derive(Debug)]
pub struct Assembler<B = Vec<Vec<u8>>> {
    pub(super) store: KeysetStore,
    pub(super) options: AssembleOptions,
    pub(super) report: Report,
    pub(super) resource: Attributes,
    pub(super) scope: Attributes,
    pub(super) point: Attributes,
    /// Labels that resource and scope add to each of their points, without empty values.
    pub(super) base: Vec<LabelId>,
    pub(super) base_is_current: bool,
    /// Labels that the current metric adds to each of its points, its name first. Empty if it has no name.
    pub(super) metric: Vec<LabelId>,
    /// Labels that the current input adds to each series that lacks them.
    pub(super) input: Vec<LabelId>,
    /// Labels of one series; reused to keep its capacity.
    pub(super) labels: Vec<LabelId>,
    pub(super) windows: Windows,
    pub(super) metrics: Metrics,
    pub(super) names: names::Cache,
    pub(super) untranslated: Untranslated,
    neighbours: Neighbours,
    pub(super) lists: Lists,
    /// Cached list that is all attributes of the current point.
    pub(super) point_list: Option<List>,
    /// True if the attributes of `point_list` are not in `point`.
    pub(super) point_is_deferred: bool,
    pub(super) template: Template,
    pub(super) families: Families,
    /// Times of the current series, if the input has them.
    pub(super) series_times: Vec<Times>,
    /// Series columns of the inputs so far.
    pub(super) columns: InputColumns,
    /// Values of the current series, with the numbers of their columns.
    pub(super) series_values: Vec<(usize, OwnedValue)>,
    /// Name of the current input.
    pub(super) input_name: String,
    /// True if the name or unit of the current metric is not UTF-8.
    pub(super) metric_is_invalid: bool,
    /// Points of the current series whose times do not fit.
    pub(super) untimed_points: u64,
    /// External labels of the inputs since the last cut.
    external_labels: Vec<(String, String)>,
    /// Window of the inputs since the last cut.
    input_window: InputWindow,
    /// Memory of a reader besides the assembler, in bytes.
    pub(super) outside_memory: usize,
    /// Bytes of records since the last check of memory.
    unchecked_len: usize,
    /// Attributes interned since the last check of memory.
    pub(super) work: usize,
    /// Number of stores before this one. Labels of another generation are invalid.
    pub(super) generation: u64,
    pub(super) sealer: Sealer<B>,
}

impl<B: BlockSink> Assembler<B> {
    /// Creates an assembler without series.
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
            input: Vec::new(),
            labels: Vec::new(),
            windows: Windows::new(options.window, options.max_windows, options.time_step),
            metrics: Metrics::default(),
            names: names::Cache::default(),
            untranslated: Untranslated::default(),
            neighbours: Neighbours::default(),
            lists: Lists::new(options.max_memory),
            point_list: None,
            point_is_deferred: false,
            template: Template::default(),
            families: Families::default(),
            series_times: Vec::new(),
            columns: InputColumns::default(),
            series_values: Vec::new(),
            input_name: String::new(),
            metric_is_invalid: false,
            untimed_points: 0,
            external_labels: options.external_labels.clone(),
            input_window: InputWindow::default(),
            outside_memory: 0,
            unchecked_len: 0,
            work: 0,
            generation: 0,
            sealer: Sealer::new(blocks, plans(&options)),
            options,
        };
        assembler.resource.clear();
        assembler.scope.clear();
        assembler.point.clear();
        assembler
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }

    /// Returns the series since the last cut.
    #[must_use]
    pub fn store(&self) -> &KeysetStore {
        &self.store
    }

    /// Seals the remaining series, or the empty block if there were none at all. Returns the report and the sink of
    /// blocks.
    ///
    /// # Errors
    ///
    /// A block cannot be sealed or is refused.
    pub fn finish(mut self) -> Result<(Report, B), AssembleError> {
        self.end_resource()?;
        let mut content = self.take_content()?;
        if self.report.blocks == 0 && self.options.window.is_none() {
            content.windows.push(Window::default());
            self.report.blocks = 1;
        }
        let count = self.windows.untimed_count();
        if count > 0 {
            self.report.warn(Warning::NoWindow { count });
        }
        self.sealer.seal(Cut { store: self.store, options: self.options, content })?;
        Ok((self.report, self.sealer.finish()?))
    }

    /// Ends a record of `len` bytes. Its attributes are not needed any more.
    pub(crate) fn record_ends(&mut self, len: usize) -> Result<(), AssembleError> {
        self.sealer.check()?;
        self.end_resource()?;
        self.report.records += 1;
        self.unchecked_len += len;
        if self.unchecked_len >= BYTES_PER_MEMORY_CHECK {
            self.unchecked_len = 0;
            if self.wait_or_cut() {
                for attributes in [&mut self.resource, &mut self.scope] {
                    attributes.clear();
                }
                self.clear_point();
                for labels in [&mut self.base, &mut self.metric, &mut self.labels] {
                    labels.clear();
                }
                self.cut_and_restart()?;
            }
        }
        Ok(())
    }

    /// Checks memory if many attributes were interned, which need not have series.
    #[inline]
    pub(super) fn check_memory_of_work(&mut self) -> Result<(), AssembleError> {
        if self.work >= ATTRIBUTES_PER_MEMORY_CHECK {
            self.work = 0;
            if self.has_max_symbols() || self.wait_or_cut() {
                self.cut_and_restart()?;
            }
        }
        Ok(())
    }

    /// Returns the error of sealing on another thread, if there is one so far.
    pub(crate) fn check_sealing(&mut self) -> Result<(), AssembleError> {
        self.sealer.check()
    }

    /// Waits for sealing on another thread, and returns its error, if there is one.
    pub(crate) fn wait_for_sealing(&mut self) -> Result<(), AssembleError> {
        self.sealer.wait()
    }

    /// Begins an input with a name.
    pub(crate) fn input_begins(&mut self, name: &str) {
        name.clone_into(&mut self.input_name);
    }

    /// Ends an input. Its metadata does not apply to the next input.
    pub(crate) fn input_ends(&mut self) {
        self.families = Families::default();
    }

    /// Sets the memory of a reader besides the assembler, in bytes. It counts as memory in use.
    pub(crate) fn set_outside_memory(&mut self, bytes: usize) {
        self.outside_memory = bytes;
    }

    /// Begins an input whose series lie in this window.
    pub(crate) fn input_has_window(&mut self, range: TimeRange) -> Result<(), AssembleError> {
        self.begin_window(InputWindow::Known(range))
    }

    /// Begins an input whose series have these external labels, sorted by name. Options win over labels of the input.
    pub(crate) fn input_has_external_labels<'l>(
        &mut self,
        labels: impl Iterator<Item = (&'l str, &'l str)>,
    ) -> Result<(), AssembleError> {
        let mut all: BTreeMap<String, String> =
            labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        all.extend(self.options.external_labels.iter().cloned());
        let all: Vec<(String, String)> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        if self.external_labels == all {
            return Ok(());
        }
        let (is_separate, has_series) = (self.options.separate_input_windows, !self.store.is_empty());
        // Blocks that were cut for memory become one with the next.
        if !is_separate && (self.report.blocks > 0 || has_series) {
            return Err(AssembleError::ExternalLabels);
        }
        if is_separate && has_series {
            self.cut_and_restart()?;
            self.input_window = InputWindow::NoInput;
        }
        self.external_labels = all;
        Ok(())
    }

    /// Begins an input with columns of its own: if inputs with windows get blocks of their own, this one does too, and
    /// the columns of those before it do not count any more.
    pub(crate) fn input_is_separate(&mut self) -> Result<(), AssembleError> {
        if self.options.separate_input_windows {
            if !self.store.is_empty() {
                self.cut_and_restart()?;
            }
            self.input_window = InputWindow::NoInput;
            self.columns = InputColumns::default();
        }
        Ok(())
    }

    /// Begins an input without a window.
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

    /// Returns true if the last series exceeds a limit.
    pub(super) fn is_full(&mut self) -> bool {
        let count = self.store.len();
        count > self.options.max_series as usize
            || self.has_max_symbols()
            || count.is_multiple_of(SERIES_PER_MEMORY_CHECK) && self.wait_or_cut()
    }

    /// Takes what the blocks of the series so far need besides the store.
    fn take_content(&mut self) -> Result<CutContent, AssembleError> {
        let (count, limit) = (self.report.blocks + self.windows.len() as u64, self.options.max_blocks);
        if count > limit {
            return Err(AssembleError::TooManyBlocks { count, limit });
        }
        self.report.blocks = count;
        let (windows, everywhere) = self.windows.take();
        let content = CutContent {
            windows,
            everywhere,
            metrics: std::mem::take(&mut self.metrics),
            columns: self.columns.take_sealed(),
            external_labels: self.external_labels.clone(),
            input_window: self.input_window.range(),
        };
        let families = std::mem::take(&mut self.families);
        if let Some(number) = self.intern_metadata(&families.last()) {
            self.windows.everywhere(number);
        }
        self.families = families;
        Ok(content)
    }

    /// Seals blocks, and continues with a new store.
    fn cut_and_restart(&mut self) -> Result<(), AssembleError> {
        if self.options.one_block
            && let Some(limit) = self.options.max_memory
        {
            return Err(AssembleError::MemoryLimit { limit, series: self.store.len() });
        }
        let memory = self.memory_needed();
        let content = self.take_content()?;
        // Otherwise metadata alone could cause a cut again and again.
        if self.options.max_memory.is_some_and(|limit| self.families.estimated_bytes() > limit / 8) {
            self.families.forget();
        }
        let store = self.restart()?;
        let cut = Cut { store, options: self.options.clone(), content };
        let is_alone = self.options.threads.is_some_and(|threads| threads.get() == 1);
        if is_alone { self.sealer.seal(cut) } else { self.sealer.begin(cut, memory) }
    }

    /// Returns the time of points without a time, if the options set one.
    pub(super) fn default_times(&self) -> Option<Times> {
        self.options.time.map(|range| (range.start, range.end.saturating_sub(1)))
    }

    /// Starts a new store with only the labels of the current resource, scope, metric, point and series. Returns the
    /// old one.
    fn restart(&mut self) -> Result<KeysetStore, LabelError> {
        self.neighbours = Neighbours::default();
        self.put_point_attributes();
        self.point_list = None;
        self.lists.clear();
        self.template.discard();
        self.generation += 1;
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
        for labels in [&mut self.base, &mut self.metric, &mut self.labels, &mut self.input] {
            labels.iter_mut().try_for_each(|place| label(*place).map(|label| *place = label))?;
        }
        for &(key, _) in &self.resource.list {
            self.store.note_origin(key, Origin::Resource);
        }
        self.note_origins_of_input();
        Ok(old)
    }

    /// Returns true for a name that no label may have, and counts it.
    #[inline]
    pub(super) fn refuses_name(&mut self, name: &str) -> bool {
        let is_reserved = is_reserved_name(name);
        self.report.empty_keys += u64::from(name.is_empty());
        self.report.skipped.reserved_names += u64::from(is_reserved);
        name.is_empty() || is_reserved
    }

    pub(super) fn set(&mut self, level: Level, name: &str, value: &str) -> Result<(), LabelError> {
        if self.refuses_name(name) || self.level(level).refuses() {
            return Ok(());
        }
        self.work += 1;
        let cut = self.report.names_cut + self.report.values_cut;
        let position = self.level(level).list.len();
        let neighbour = self.neighbours.get(level, position).filter(|neighbour| neighbour.name == name);
        let known = neighbour.filter(|neighbour| neighbour.value == value).map(|neighbour| neighbour.label);
        let key = match neighbour {
            Some(neighbour) => neighbour.label.key,
            None => self.intern_name(name)?,
        };
        let label = match known {
            Some(_) => known,
            None if value.is_empty() => {
                self.report.empty_values.add(level);
                None
            }
            None => Some(self.intern_value(key, value)?),
        };
        // Truncations are counted each time, so these attributes are not cached.
        if let (Some(label), None) = (label, known)
            && cut == self.report.names_cut + self.report.values_cut
        {
            self.neighbours.set(level, position, name, value, label);
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

    /// Removes the attributes and values of the current point. Each point begins with this.
    #[inline]
    pub(super) fn clear_point(&mut self) {
        self.point.clear();
        self.series_values.clear();
        self.point_list = None;
        self.point_is_deferred = false;
    }

    /// Puts the attributes of a cached list into the current point, if they are not there yet.
    pub(super) fn put_point_attributes(&mut self) {
        if !std::mem::take(&mut self.point_is_deferred) {
            return;
        }
        let Some(list) = self.point_list else { return };
        // Lists without duplicate keys are cached only. Their origins were noted when they were decoded.
        for &label in self.lists.labels(list) {
            self.point.set(label.key, Some(label));
        }
    }

    #[inline]
    pub(super) fn level(&mut self, level: Level) -> &mut Attributes {
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

    /// Returns the number of the metadata of a metric, with its texts truncated like values. Returns `None` if it is
    /// empty, or if metadata is not kept.
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

    /// Stores the series of the current labels, with points at these times.
    pub(super) fn insert(&mut self, times: impl IntoIterator<Item = Option<Times>>) -> Result<(), AssembleError> {
        let mut inserted = self.store.insert_ids(&self.labels);
        if matches!(inserted, Ok((_, true))) && self.is_full() {
            inserted = self.cut_before_last()?;
        }
        self.add_points(inserted, times)
    }

    /// Cuts after the series of the current labels is inserted, which exceeds a limit, and inserts it again.
    pub(super) fn cut_before_last(&mut self) -> Result<Result<(StoreRef, bool), LabelError>, AssembleError> {
        // The new series is in no window yet, and therefore not in the blocks that are sealed now.
        self.cut_and_restart()?;
        Ok(self.store.insert_ids(&self.labels))
    }

    /// Adds points at these times to a series that was just inserted.
    pub(super) fn add_points(
        &mut self,
        inserted: Result<(StoreRef, bool), LabelError>,
        times: impl IntoIterator<Item = Option<Times>>,
    ) -> Result<(), AssembleError> {
        match inserted {
            Ok((mut series, is_new)) => {
                self.report.series += u64::from(is_new);
                let before = self.windows.estimated_bytes() + self.columns.sealing_bytes();
                for times in times {
                    // A series of many windows takes memory in the set of each.
                    if self.is_too_wide(series, times) {
                        self.cut_and_restart()?;
                        series = self.store.insert_ids(&self.labels)?.0;
                    }
                    let limit = self.options.max_windows;
                    self.windows
                        .add(series, times)
                        .map_err(|TooManyWindows { starts }| AssembleError::TooManyWindows { limit, starts })?;
                    self.windows.add_values(series, times, &self.series_values, &mut self.columns)?;
                }
                let after = self.windows.estimated_bytes() + self.columns.sealing_bytes();
                if after > before && self.wait_or_cut() {
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
