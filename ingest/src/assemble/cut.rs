//! Series between two cuts, which become blocks: [`Cut`].

use std::sync::atomic::{AtomicUsize, Ordering};

use bitvec::vec::BitVec;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{KeysetStore, LabelSets, Layout, Plans, SealError};

use super::blocks::{BlockSink, SealedBlock};
use super::error::AssembleError;
use super::metrics::Metrics;
use super::options::AssembleOptions;
use super::series_values::{InputColumns, WindowValues};
use super::windows::Window;

/// Series between two cuts, by window, with all that their blocks need.
pub(super) struct Cut {
    pub(super) store: KeysetStore,
    pub(super) options: AssembleOptions,
    pub(super) content: CutContent,
}

/// Content of a cut besides the store.
pub(super) struct CutContent {
    pub(super) windows: Vec<Window>,
    /// Metadata that belongs to all windows.
    pub(super) everywhere: BitVec,
    pub(super) metrics: Metrics,
    pub(super) columns: InputColumns,
    pub(super) external_labels: Vec<(String, String)>,
    /// Window of the inputs, for windows without a range.
    pub(super) input_window: Option<TimeRange>,
}

impl Cut {
    /// Seals the series of each window into a block, and gives it to the sink. Series without a window are not sealed.
    ///
    /// The store is dropped before the last block is planned, and its bytes are taken from `memory` then.
    pub(super) fn seal(
        self,
        blocks: &mut dyn BlockSink,
        plans: &mut Plans,
        memory: &AtomicUsize,
    ) -> Result<(), AssembleError> {
        let Self { store, options, mut content } = self;
        let (store_series, store_memory) = (store.len(), store.estimated_bytes());
        let (step, layout) = (options.time_step, options.layout);
        let windows = std::mem::take(&mut content.windows);
        let count = windows.len();
        let mut store = Some(store);
        for (mut window, number) in windows.into_iter().zip(1..) {
            let meta = content.meta(&window, &options);
            let times = window.take_columns(step).map_err(SealError::from)?;
            let columns = window.values.add_to(times, step, &content.columns).map_err(SealError::from)?;
            window.values = WindowValues::default();
            let Some(series) = &store else { break };
            let others = Layout::ALL.into_iter().filter(|&other| options.compare_layouts && other != layout);
            let sealed = |other| Ok((other, series.prepare(&window.series, other, &meta, plans)?.seal(&columns)?));
            let others = others.map(sealed).collect::<Result<_, SealError>>()?;
            let prepared = series.prepare(&window.series, layout, &meta, plans)?;
            if number == count {
                store = None;
                // No other thread writes it.
                memory.store(memory.load(Ordering::Relaxed).saturating_sub(store_memory), Ordering::Relaxed);
            }
            let block = prepared.seal(&columns)?;
            let sealed = SealedBlock { block, layout, others, store_series, store_memory };
            blocks.take(sealed).map_err(AssembleError::Output)?;
        }
        Ok(())
    }
}

impl CutContent {
    fn meta(&self, window: &Window, options: &AssembleOptions) -> BlockMeta {
        let AssembleOptions { policy, annotations, archive, window: length, .. } = options;
        let Self { everywhere, metrics, external_labels, input_window, .. } = self;
        let mut meta = BlockMeta {
            time: window.time_range(),
            window: window.window_range(*length).or(*input_window),
            external_labels: external_labels.clone(),
            annotations: annotations.clone(),
            policy: *policy,
            archive: *archive,
            ..BlockMeta::default()
        };
        let numbers = window.all_metrics(everywhere);
        meta.metrics.extend(numbers.iter_ones().filter_map(|number| metrics.get(number)));
        meta
    }
}
