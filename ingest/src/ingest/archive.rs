//! Counts of tar archives, which the caller unpacks.

use super::Ingest;
use crate::assemble::BlockSink;
use crate::report::Warning;

impl<B: BlockSink> Ingest<B> {
    /// Counts an archive that ends early, after `offset` bytes of its members, with a warning.
    pub fn note_truncated_archive(&mut self, input: String, offset: u64) {
        let report = self.assembler.report_mut();
        report.truncated_inputs += 1;
        report.warn(Warning::TruncatedArchive { input, offset });
    }

    /// Counts a damaged archive whose members after the damage are missing, with a warning.
    pub fn skip_rest_of_archive(&mut self, input: String, reason: &str) {
        self.skip_part(Warning::DamagedArchive { input, reason: reason.to_owned() });
    }
}
