//! [`LabelCounts`]: the number of series of each value of a label, as a table.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings};
use chronoxide_select::Selection;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use crate::SeriesTable;
use crate::error::external;
use crate::series_exec::SeriesExec;

/// The number of series of each value of a label. A value may have several rows, whose counts add up to its number of
/// series: one per block and partition. A null value counts the series without the label.
#[derive(Clone, Debug)]
pub(crate) struct LabelCounts {
    series: SeriesTable,
    label: Column,
    /// Conditions on the series.
    filters: Vec<Expr>,
    schema: SchemaRef,
}

impl LabelCounts {
    /// Makes a table of the counts of those series that satisfy conditions. Its columns are the label and the count.
    pub(crate) fn new(series: SeriesTable, label: Column, filters: Vec<Expr>) -> Self {
        let schema = Arc::new(schema_of_counts(&label));
        Self { series, label, filters, schema }
    }
}

#[async_trait]
impl TableProvider for LabelCounts {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let series = self.series.read(vec![self.label.clone()], &self.filters, None, state)?;
        let columns = projection.cloned().unwrap_or_else(|| vec![0, 1]);
        Ok(Arc::new(LabelCountsExec::new(series, self.label.clone(), columns)?))
    }
}

/// Returns the schema of all columns.
fn schema_of_counts(label: &Column) -> Schema {
    let count = if label.name() == "count" { "_count" } else { "count" };
    Schema::new(vec![label.field(Strings::View), Field::new(count, DataType::Int64, false)])
}

/// Counts the series that another plan would read.
#[derive(Clone, Debug)]
pub(crate) struct LabelCountsExec {
    series: SeriesExec,
    label: Column,
    /// Positions of the plan's columns in those of [`LabelCounts`].
    columns: Vec<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LabelCountsExec {
    /// Makes a plan that counts the values of a label among the series of `series`. `columns` are positions in those of
    /// [`LabelCounts`].
    pub(crate) fn new(series: SeriesExec, label: Column, columns: Vec<usize>) -> Result<Self> {
        let schema = Arc::new(schema_of_counts(&label).project(&columns)?);
        let equivalence = EquivalenceProperties::new(Arc::clone(&schema));
        let properties = Arc::new(PlanProperties::clone(series.properties()).with_eq_properties(equivalence));
        Ok(Self { series, label, columns, schema, properties, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// Divides the series among plans for several machines, which have the same number of partitions.
    #[cfg(feature = "distributed")]
    pub(crate) fn split(&self, plan_count: usize) -> Result<Vec<Self>> {
        let part = |series| Self::new(series, self.label.clone(), self.columns.clone());
        self.series.split(plan_count)?.into_iter().map(part).collect()
    }

    #[cfg(feature = "distributed")]
    pub(crate) fn series(&self) -> &SeriesExec {
        &self.series
    }

    #[cfg(feature = "distributed")]
    pub(crate) fn label(&self) -> &Column {
        &self.label
    }

    /// Returns the positions of the columns.
    #[cfg(feature = "distributed")]
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Counts some series of a block.
    fn count(&self, table: &BlockTable, series: &Selection) -> Result<RecordBatch> {
        let ColumnContent::Label(label) = self.label.content() else {
            return internal_err!("LabelCountsExec counts values of labels");
        };
        let (values, counts) = table.scan().with_selection(series.clone()).value_counts(label).map_err(external)?;
        let rows = RecordBatchOptions::new().with_row_count(Some(values.len()));
        let all: [ArrayRef; 2] = [Arc::new(values), Arc::new(counts)];
        let columns = self.columns.iter().filter_map(|&column| all.get(column).cloned()).collect();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)?)
    }
}

impl DisplayAs for LabelCountsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if format != DisplayFormatType::TreeRender {
            write!(f, "LabelCountsExec: ")?;
        }
        self.series.describe(format, f)
    }
}

impl ExecutionPlan for LabelCountsExec {
    fn name(&self) -> &str {
        "LabelCountsExec"
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
        if children.is_empty() { Ok(self) } else { internal_err!("LabelCountsExec has no children") }
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(blocks) = self.series.partitions().get(partition).cloned() else {
            return internal_err!("LabelCountsExec has no partition {partition}");
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let exec = self.clone();
        let counts = blocks.into_iter().map(move |(table, series)| {
            let timer = metrics.elapsed_compute().timer();
            let batch = exec.count(&table, &series);
            timer.done();
            batch.map(|batch| batch.record_output(&metrics))
        });
        let stream = futures::stream::iter(counts).fuse();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
