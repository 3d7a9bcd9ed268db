//! [`Columns`]: columns of the output.

use chronoxide_arrow::{BlockTable, Column, ColumnContent, TableError};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_inspect::export::{Format, value_columns};

use super::arguments::ExportArguments;

/// Columns that a block can have in an output.
pub(super) struct Columns {
    policy: LabelPolicy,
    /// Names of labels.
    labels: Vec<String>,
    /// Column of refs, whose name differs from those of labels.
    series_ref: Column,
    /// Series columns, whose names differ from those of all others.
    values: Vec<Column>,
}

impl Columns {
    /// Finds the columns of a block.
    pub(super) fn new(arguments: &ExportArguments, table: &BlockTable) -> Result<Self, TableError> {
        let meta = table.block().view().meta().map_err(|error| table.block().locate(error.into()))?;
        let labels = table.label_names()?;
        let (series_ref, values) = if arguments.map {
            (
                Column::series_ref(),
                value_columns(table, [Column::series_ref(), Column::labels()].iter().map(Column::name))?,
            )
        } else {
            let series_ref = Column::series_ref().beside(labels.iter().map(String::as_str));
            let others = labels.iter().map(String::as_str).chain([series_ref.name()]);
            let values = value_columns(table, others)?;
            (series_ref, values)
        };
        Ok(Self { policy: meta.policy(), labels, series_ref, values })
    }

    /// Returns true if a name is that of the column of refs or of a series column.
    pub(super) fn has_own(&self, name: &str) -> bool {
        self.own().any(|column| column.name() == name)
    }

    /// Returns the series columns.
    pub(super) fn values(&self) -> impl Iterator<Item = &Column> {
        self.values.iter()
    }

    fn own(&self) -> impl Iterator<Item = &Column> {
        [&self.series_ref].into_iter().chain(&self.values)
    }

    /// Returns the columns that the arguments choose.
    pub(super) fn chosen(self, arguments: &ExportArguments, format: Format) -> Vec<Column> {
        if !arguments.columns.is_empty() {
            let chosen = arguments.columns.iter().map(|name| {
                // A name may be cut to that of a label.
                let label = self.policy.name(name);
                let own = self.own().find(|column| column.name() == name);
                own.cloned().unwrap_or_else(|| Column::label(label).with_name(name))
            });
            return chosen.collect();
        }
        let labels = match arguments.map {
            true => vec![self.series_ref, Column::labels()],
            false => [self.series_ref].into_iter().chain(self.labels.into_iter().map(Column::label)).collect(),
        };
        let kept = arguments.kept_columns(format);
        let is_kept = |column: &Column| kept.as_ref().is_some_and(|kept| kept.has(series_column(column)));
        labels.into_iter().chain(self.values.into_iter().filter(is_kept)).collect()
    }
}

/// Returns the name of the series column that a column has the values of.
pub(super) fn series_column(column: &Column) -> &str {
    match column.content() {
        ColumnContent::Values { name, .. } => name,
        _ => column.name(),
    }
}
