//! Series between two cuts, which become blocks: [`Cut`].

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::{BlockMeta, SeriesValues};
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
    pub(super) fn seal(mut self, blocks: &mut dyn BlockSink, plans: &mut Plans) -> Result<(), AssembleError> {
        let step = self.options.time_step;
        for mut window in std::mem::take(&mut self.content.windows) {
            let meta = self.meta(&window);
            let times = window.take_columns(step).map_err(SealError::from)?;
            let columns = window.values.add_to(times, step, &self.content.columns).map_err(SealError::from)?;
            window.values = WindowValues::default();
            let sealed = self.seal_series(&window.series, &meta, &columns, plans)?;
            blocks.take(sealed).map_err(AssembleError::Output)?;
        }
        Ok(())
    }

    fn meta(&self, window: &Window) -> BlockMeta {
        let AssembleOptions { policy, annotations, archive, window: length, .. } = &self.options;
        let CutContent { everywhere, metrics, external_labels, input_window, .. } = &self.content;
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

    /// Seals some series into a block with these columns.
    fn seal_series(
        &self,
        series: &BitSlice,
        meta: &BlockMeta,
        columns: &[SeriesValues],
        plans: &mut Plans,
    ) -> Result<SealedBlock, AssembleError> {
        let Self { store, options, .. } = self;
        let layout = options.layout;
        let mut sealed = |layout| store.seal_selected(series, layout, meta, columns, plans);
        let block = sealed(layout)?;
        let others = Layout::ALL.into_iter().filter(|&other| options.compare_layouts && other != layout);
        let others = others.map(|other| Ok((other, sealed(other)?))).collect::<Result<_, SealError>>()?;
        Ok(SealedBlock { block, layout, others, store_series: store.len(), store_memory: store.estimated_bytes() })
    }
}
