//! Counts rows of tables, and of what was left out of them.

use super::Ingest;
use crate::assemble::BlockSink;
use crate::columns::SkippedRows;
use crate::decode::Decoder;
use crate::report::Warning;

impl<B: BlockSink> Ingest<B> {
    /// Counts the rows of a table, if the input is one.
    pub(super) fn count_rows(&mut self, name: &str, decoder: &Decoder) {
        if let Some((rows, ignored)) = decoder.columns() {
            self.assembler.report_mut().rows += rows;
            self.count_columns(name, rows > 0, ignored);
        }
    }

    /// Counts rows with bad values, which were skipped. `before` is the number of rows of the record before those.
    pub(super) fn count_skipped_rows(
        &mut self,
        input: &str,
        record: impl Fn() -> String,
        before: u64,
        skipped: SkippedRows,
    ) {
        if skipped.count == 0 {
            return;
        }
        let report = self.assembler.report_mut();
        report.skipped.broken_rows += skipped.count;
        let unnamed = skipped.count - skipped.reasons.len() as u64;
        for reason in skipped.reasons {
            let reason = reason.after_rows(before).to_string();
            report.warn(Warning::SkippedRow { input: input.to_owned(), record: record(), reason });
        }
        report.more_warnings += unnamed;
    }

    /// Warns of a table without rows, and of its ignored columns.
    pub(super) fn count_columns(&mut self, input: &str, has_rows: bool, ignored: &[String]) {
        let report = self.assembler.report_mut();
        if !has_rows {
            report.warn(Warning::NoSeries { input: input.to_owned() });
        }
        if !ignored.is_empty() {
            report.warn(Warning::IgnoredColumns { input: input.to_owned(), columns: ignored.to_vec() });
        }
    }
}
