//! Shares of the memory limit.

use chronoxide_ingest::DEFAULT_MAX_RECORD_LEN;
use chronoxide_text::human;

use crate::{Exit, Failure, memory};

/// Minimum limit. The program, its threads and its buffers need almost as much.
const MIN_LIMIT: usize = 32 << 20;

/// Maximum default limit for folders, where blocks are cut to stay below the limit.
const FOLDER_LIMIT: usize = 1 << 30;

/// Memory of the program, its threads and the buffers of an input, in bytes.
const PROGRAM: usize = 16 << 20;

/// Records in memory at a time: being read, waiting, being decoded, and in buffers that grow.
const RECORDS_AT_A_TIME: usize = 6;

/// Shares of the memory limit, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The limit.
    pub(crate) whole: usize,
    /// Maximum length of a record.
    pub(crate) max_record_len: usize,
    /// Maximum window of a zstd stream.
    pub(crate) zstd_window: usize,
    /// Memory for assembling and sealing series.
    pub(crate) assembling: usize,
}

impl Memory {
    /// Divides the memory limit. `limit` and `record` are the options of the user, if set.
    ///
    /// # Errors
    ///
    /// The limit is too small, or records of the given length leave too little of the given limit.
    pub(crate) fn new(limit: Option<usize>, record: Option<usize>, is_folder: bool) -> Result<Self, Failure> {
        memory::check_least(limit, MIN_LIMIT)?;
        let most = if is_folder { FOLDER_LIMIT } else { usize::MAX };
        let whole = limit.unwrap_or_else(|| memory::default_limit().min(most)).max(MIN_LIMIT);
        let chosen = record
            .unwrap_or_else(|| limit.map_or(DEFAULT_MAX_RECORD_LEN, |limit| DEFAULT_MAX_RECORD_LEN.min(limit / 32)));
        let records = chosen.saturating_mul(RECORDS_AT_A_TIME);
        if let (Some(_), Some(record)) = (limit, record)
            && records > whole / 2
        {
            let (least, record) = (human::bytes(records.saturating_mul(2) as u64), human::bytes(record as u64));
            let message = format!("--max-record-size of {record} needs a --memory-limit of at least {least}");
            return Err(Failure::new(Exit::Usage, message));
        }
        // A default limit may be exceeded for a record length that the user set.
        let zstd_window = whole / 8;
        let assembling =
            (whole - PROGRAM.min(whole / 2)).saturating_sub(records).saturating_sub(zstd_window.min(128 << 20));
        Ok(Self { whole, max_record_len: chosen, zstd_window, assembling: assembling.max(whole / 4) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn shares_are_within_the_limit() {
        for limit in [32, 64, 100, 512, 1_024, 100_000].map(|limit| limit * MIB) {
            for record in [None, Some(MIB), Some(limit / 32)] {
                let shares = Memory::new(Some(limit), record, true).unwrap();
                assert_eq!(shares.max_record_len, record.unwrap_or((64 * MIB).min(limit / 32)));
                assert!(
                    shares.max_record_len * 6 + shares.zstd_window.min(128 * MIB) + shares.assembling <= limit,
                    "{limit} {shares:?}"
                );
                assert!(shares.assembling >= limit / 4, "{limit} {shares:?}");
            }
        }
    }

    #[test]
    fn limits_that_cannot_be_held_are_refused() {
        let refused = |limit, record| Memory::new(Some(limit), record, true).unwrap_err().error().to_string();
        assert_eq!(
            refused(MIB, None),
            "--memory-limit must be at least 32.0 MiB (33,554,432 bytes), not 1.0 MiB (1,048,576 bytes)"
        );
        let message = refused(64 * MIB, Some(64 * MIB));
        assert!(message.ends_with("needs a --memory-limit of at least 768.0 MiB (805,306,368 bytes)"), "{message}");
    }

    #[test]
    fn defaults_depend_on_the_memory_and_folders_take_a_gigabyte_at_most() {
        let (file, folder) = (Memory::new(None, None, false).unwrap(), Memory::new(None, None, true).unwrap());
        assert!(folder.assembling <= 1 << 30 && folder.assembling <= file.assembling, "{file:?} {folder:?}");
        assert!(file.assembling as u64 <= crate::memory::usable().unwrap() / 2, "{file:?}");
    }
}
