//! The columns with the chunk lists of a block of Prometheus: [`ChunkColumns`].

use chronoxide_format::column::{ColumnMerge, Value, ValueType};

use super::list::{ChunkList, ChunkListError, ChunkPlace, encode_deletions};
use crate::series::{ColumnFacts, SeriesSink};

/// Start of the name of the column of the references of first chunks. The id of the block of Prometheus follows.
pub const CHUNKS: &str = "prometheus.chunks/";

/// Start of the name of the column of the distances of references.
pub const CHUNK_DISTANCES: &str = "prometheus.chunk_distances/";

/// Start of the name of the column of the first times.
pub const CHUNK_START: &str = "prometheus.chunk_start/";

/// Start of the name of the column of the numbers and times of chunks.
pub const CHUNK_TIMES: &str = "prometheus.chunk_times/";

/// Start of the name of the column of the deleted times.
pub const DELETIONS: &str = "prometheus.deletions/";

/// Names of the columns of a block of Prometheus begin with one of these.
pub const PREFIXES: [&str; 5] = [CHUNKS, CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES, DELETIONS];

/// Columns of the chunk lists of a block of Prometheus.
#[derive(Debug)]
pub struct ChunkColumns {
    /// Numbers of the columns of chunks in the sink, in the order of [`PREFIXES`].
    numbers: [usize; 4],
    /// Number of the column of deletions, if the block has some.
    deletions_number: Option<usize>,
    list: ChunkList,
    deletions: Vec<u8>,
}

impl ChunkColumns {
    /// Tells a sink of the columns of the block of Prometheus with this id.
    ///
    /// # Errors
    ///
    /// The sink refuses a column.
    pub fn new<S: SeriesSink>(id: &str, has_deletions: bool, sink: &mut S) -> Result<Self, S::Error> {
        let mut column = |prefix, value_type| {
            // The files of a block do not change: two lists of a series are the same.
            let facts = ColumnFacts { name: format!("{prefix}{id}"), value_type, merge: ColumnMerge::Same, unit: 1 };
            sink.column(&facts)
        };
        let numbers = [
            column(CHUNKS, ValueType::U64)?,
            column(CHUNK_DISTANCES, ValueType::Bytes)?,
            column(CHUNK_START, ValueType::I64)?,
            column(CHUNK_TIMES, ValueType::Bytes)?,
        ];
        let deletions_number = if has_deletions { Some(column(DELETIONS, ValueType::Bytes)?) } else { None };
        Ok(Self { numbers, deletions_number, list: ChunkList::default(), deletions: Vec::new() })
    }

    /// Encodes the chunks and the deleted times of a series, both in their order. Returns false without chunks.
    ///
    /// # Errors
    ///
    /// [`ChunkListError::TooLong`].
    pub fn encode(
        &mut self,
        chunks: &[ChunkPlace],
        deleted: impl Iterator<Item = (i64, i64)>,
    ) -> Result<bool, ChunkListError> {
        encode_deletions(deleted, &mut self.deletions)?;
        self.list.encode(chunks)
    }

    /// Gives the values that were encoded last to `sink`, as values of its current series.
    ///
    /// # Errors
    ///
    /// The sink refuses a value.
    pub fn give<S: SeriesSink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let Self { numbers: [chunks, distances, start, times], list, .. } = self;
        sink.value(*chunks, Value::U64(list.reference))?;
        sink.value(*distances, Value::Bytes(&list.distances))?;
        sink.value(*start, Value::I64(list.start))?;
        sink.value(*times, Value::Bytes(&list.times))?;
        if let Some(number) = self.deletions_number.filter(|_| !self.deletions.is_empty()) {
            sink.value(number, Value::Bytes(&self.deletions))?;
        }
        Ok(())
    }
}
