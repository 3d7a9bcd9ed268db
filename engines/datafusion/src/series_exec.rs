//! [`SeriesExec`]: the plan that reads series.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use chronoxide_arrow::{BlockTable, Column, ColumnContent, schema};
use chronoxide_reader::BlockId;
use chronoxide_select::Selection;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use crate::SeriesTable;
use crate::error::external;
use crate::statistics::statistics;

/// Series of a partition: at least this many, unless there are fewer in all. Fewer are read faster than handed over.
const MIN_PARTITION: u64 = 4 * 8192;

/// Selected series of blocks. A block may be in it several times, with different series.
pub(crate) type Selected = Vec<(BlockTable, Selection)>;

/// Reads selected series of blocks.
#[derive(Clone, Debug)]
pub(crate) struct SeriesExec {
    table: SeriesTable,
    /// Conditions that the selection satisfies.
    filters: Vec<Expr>,
    columns: Vec<Column>,
    selected: Selected,
    /// Selected series of each partition.
    partitions: Vec<Selected>,
    limit: Option<usize>,
    target_partitions: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SeriesExec {
    pub(crate) fn new(
        table: SeriesTable,
        filters: Vec<Expr>,
        columns: Vec<Column>,
        selected: Selected,
        target_partitions: usize,
    ) -> Result<Self> {
        let partitions = partitions(&selected, target_partitions);
        let exec = Self::from_partitions(table, filters, columns, partitions)?;
        Ok(Self { selected, target_partitions, ..exec })
    }

    /// Makes a plan whose partitions are given.
    pub(crate) fn from_partitions(
        table: SeriesTable,
        filters: Vec<Expr>,
        columns: Vec<Column>,
        partitions: Vec<Selected>,
    ) -> Result<Self> {
        let schema = schema(&columns, table.strings()).map_err(external)?;
        let selected: Selected = partitions.iter().flatten().cloned().collect();
        let properties = Arc::new(properties(&schema, &selected, &columns, partitions.len()));
        let (target_partitions, metrics) = (partitions.len(), ExecutionPlanMetricsSet::new());
        Ok(Self { table, filters, columns, selected, partitions, limit: None, target_partitions, properties, metrics })
    }

    /// Keeps the first `limit` series.
    pub(crate) fn limited_to(&self, limit: usize) -> Result<Self> {
        let mut left = u32::try_from(limit).unwrap_or(u32::MAX);
        let first = self.selected.iter().map(|(table, series)| {
            let (first, _) = series.split_at(left);
            left -= first.count();
            (table.clone(), first)
        });
        let (filters, columns, first) = (self.filters.clone(), self.columns.clone(), first.collect());
        let limited = Self::new(self.table.clone(), filters, columns, first, self.target_partitions)?;
        Ok(Self { limit: Some(self.limit.map_or(limit, |known| known.min(limit))), ..limited })
    }

    /// Divides the series among plans for several machines, which have the same number of partitions.
    #[cfg(feature = "distributed")]
    pub(crate) fn split(&self, plan_count: usize) -> Result<Vec<Self>> {
        let size = count(&self.selected).div_ceil(at_least_one(plan_count)).max(1);
        let mut parts: Vec<Vec<Selected>> =
            divide(&self.selected, size).iter().map(|part| partitions(part, self.target_partitions)).collect();
        let partition_count = parts.iter().map(Vec::len).max().unwrap_or_default();
        parts.resize(plan_count.max(1), Vec::new());
        let plan = |mut partitions: Vec<Selected>| {
            partitions.resize(partition_count, Vec::new());
            let (filters, columns) = (self.filters.clone(), self.columns.clone());
            let part = Self::from_partitions(self.table.clone(), filters, columns, partitions)?;
            Ok(Self { limit: self.limit, ..part })
        };
        parts.into_iter().map(plan).collect()
    }

    /// Returns the number of machines that are worth their messages.
    #[cfg(feature = "distributed")]
    pub(crate) fn task_count(&self) -> usize {
        usize::try_from(self.counts().0.div_ceil(MIN_PARTITION)).unwrap_or(usize::MAX).max(1)
    }

    #[cfg(feature = "distributed")]
    pub(crate) fn table(&self) -> &SeriesTable {
        &self.table
    }

    /// Returns the conditions that the selection satisfies.
    #[cfg(feature = "distributed")]
    pub(crate) fn filters(&self) -> &[Expr] {
        &self.filters
    }

    #[cfg(feature = "distributed")]
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the selected series of each partition, by block.
    pub(crate) fn partitions(&self) -> &[Selected] {
        &self.partitions
    }

    /// Returns the number of selected series, and of all series of the blocks.
    fn counts(&self) -> (u64, u64) {
        (count(&self.selected), self.series_per_block().values().sum())
    }

    /// Returns the number of all series of each block.
    fn series_per_block(&self) -> BTreeMap<BlockId, u64> {
        let count = |(table, _): &(BlockTable, _)| (table.block().view().block_id(), u64::from(table.series_count()));
        self.selected.iter().map(count).collect()
    }
}

/// Divides selected series into partitions of about the same size: at most `target`, and at least one.
fn partitions(selected: &[(BlockTable, Selection)], target: usize) -> Vec<Selected> {
    divide(selected, (count(selected).div_ceil(at_least_one(target))).max(MIN_PARTITION))
}

/// Divides selected series into parts of `size`, and a smaller last one. Without series, there is one part.
fn divide(selected: &[(BlockTable, Selection)], size: u64) -> Vec<Selected> {
    let mut parts = vec![Vec::new()];
    let mut room = size;
    for (table, series) in selected {
        let mut rest = series.clone();
        while !rest.is_empty() {
            if room == 0 {
                parts.push(Vec::new());
                room = size;
            }
            let (first, others) = rest.split_at(u32::try_from(room).unwrap_or(u32::MAX));
            room -= u64::from(first.count());
            rest = others;
            if let Some(last) = parts.last_mut() {
                last.push((table.clone(), first));
            }
        }
    }
    parts
}

/// Returns the number of selected series.
fn count(selected: &[(BlockTable, Selection)]) -> u64 {
    selected.iter().map(|(_, series)| u64::from(series.count())).sum()
}

fn at_least_one(number: usize) -> u64 {
    u64::try_from(number.max(1)).unwrap_or(u64::MAX)
}

/// Partitions are in the order of blocks and refs. The order of columns is known for one block.
fn properties(
    schema: &SchemaRef,
    selected: &[(BlockTable, Selection)],
    columns: &[Column],
    partition_count: usize,
) -> PlanProperties {
    let mut equivalence = EquivalenceProperties::new(Arc::clone(schema));
    let refs = columns.iter().position(|column| *column.content() == ColumnContent::SeriesRef);
    let blocks: BTreeSet<BlockId> = selected.iter().map(|(table, _)| table.block().view().block_id()).collect();
    if let (Some(place), true) = (refs, blocks.len() == 1) {
        let column: Arc<dyn PhysicalExpr> = Arc::new(PhysicalColumn::new(columns[place].name(), place));
        equivalence.add_orderings(LexOrdering::new([PhysicalSortExpr::new_default(column)]));
    }
    let partitioning = Partitioning::UnknownPartitioning(partition_count);
    PlanProperties::new(equivalence, partitioning, EmissionType::Incremental, Boundedness::Bounded)
}

impl SeriesExec {
    /// Describes the series and columns, without a name of the plan.
    pub(crate) fn describe(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (selected, all) = self.counts();
        let pushed: Vec<String> = self.filters.iter().map(ToString::to_string).collect();
        let pushed = pushed.join(" AND ");
        let blocks = self.series_per_block().len();
        if format == DisplayFormatType::TreeRender {
            writeln!(f, "blocks={blocks}\nseries={selected}\nskipped={}", all - selected)?;
            return if pushed.is_empty() { Ok(()) } else { writeln!(f, "pushed={pushed}") };
        }
        write!(f, "blocks={blocks}, series={selected}, skipped={}", all - selected)?;
        if !pushed.is_empty() {
            write!(f, ", pushed=[{pushed}]")?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
        write!(f, ", columns=[{}]", names.join(", "))
    }
}

impl DisplayAs for SeriesExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if format != DisplayFormatType::TreeRender {
            write!(f, "SeriesExec: ")?;
        }
        self.describe(format, f)
    }
}

impl ExecutionPlan for SeriesExec {
    fn name(&self) -> &str {
        "SeriesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("SeriesExec has no children") }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(blocks) = self.partitions.get(partition) else {
            return internal_err!("SeriesExec has no partition {partition}");
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut readers = Vec::with_capacity(blocks.len());
        for (table, series) in blocks {
            let scan = table
                .scan()
                .with_columns(self.columns.iter().cloned())
                .with_strings(self.table.strings())
                .with_batch_size(context.session_config().batch_size())
                .with_selection(series.clone());
            readers.push(scan.batches().map_err(external)?);
        }
        let mut batches = readers.into_iter().flatten();
        let timed = std::iter::from_fn(move || {
            let timer = metrics.elapsed_compute().timer();
            let batch = batches.next();
            timer.done();
            Some(batch?.map_err(DataFusionError::from).map(|batch| batch.record_output(&metrics)))
        });
        let stream = futures::stream::iter(timed).fuse();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let selected = match args.partition() {
            None => &self.selected,
            Some(partition) => match self.partitions.get(partition) {
                Some(selected) => selected,
                None => return internal_err!("SeriesExec has no partition {partition}"),
            },
        };
        Ok(Arc::new(statistics(selected, &self.columns, self.table.strings())?))
    }

    /// A limit is on all partitions together, which have the series in order.
    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(self.limited_to(limit?).ok()?))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}
