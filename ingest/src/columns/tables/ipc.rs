//! Messages of Arrow IPC: [`MessageDecoder`].
//!
//! A stream is a sequence of messages: a schema, then dictionaries and batches. Each message has a marker, the length
//! of its metadata (4 bytes each), the metadata as a flatbuffer, and a body with the buffers of the columns. A file is
//! a stream between a magic and a footer.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{FieldRef, Schema, SchemaRef};

use super::body::decoded_len;
use super::guard::catch;
use super::rows::Rows;
use super::schema::LabelColumns;
use super::texts::as_bytes;
use crate::columns::error::{ColumnsError, RowsError, SkippedRows};
use crate::columns::prefix::{PREFIX_LEN, STREAM_START, metadata_len};
use crate::series::SeriesSink;

/// Decoder of the messages of an input, which may be several streams.
pub(crate) struct MessageDecoder {
    max_len: usize,
    skips_rows: bool,
    keeps_values: bool,
    stream: Option<Stream>,
    /// Number of rows that were given to the sink.
    rows: u64,
    ignored: Vec<String>,
}

/// State of a stream after its schema.
struct Stream {
    schema: SchemaRef,
    rows: Rows,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Memory of each dictionary in bytes. The messages of all of them are in memory.
    dictionary_lens: HashMap<i64, usize>,
}

impl MessageDecoder {
    /// Creates a decoder. Decompressed batches may have `max_len` bytes, and dictionaries together too.
    pub(crate) fn new(max_len: usize) -> Self {
        Self { max_len, skips_rows: false, keeps_values: true, stream: None, rows: 0, ignored: Vec::new() }
    }

    /// Skips rows with bad values from now on, instead of returning an error.
    pub(crate) fn skip_rows(&mut self) {
        self.skips_rows = true;
    }

    /// Ignores series columns from now on.
    pub(crate) fn ignore_values(&mut self) {
        self.keeps_values = false;
    }

    /// Returns the rows that were skipped since the last call.
    pub(crate) fn take_skipped(&mut self) -> SkippedRows {
        self.stream.as_mut().map(|stream| stream.rows.take_skipped()).unwrap_or_default()
    }

    /// Returns the number of rows so far.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows
    }

    /// Returns the ignored columns of all schemas so far, with their types.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Decodes a message with its prefix, and gives the rows of a batch to the sink.
    ///
    /// # Errors
    ///
    /// The message is malformed, its columns are not labels, or the sink refuses a part. Unless a text is not UTF-8,
    /// nothing was given to the sink.
    pub(crate) fn message<S: SeriesSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), RowsError<S::Error>> {
        // Owned, so that it is aligned, and so that arrays can share it.
        let bytes = Buffer::from(bytes);
        let Some(batch) = catch(|| self.decode(&bytes))? else { return Ok(()) };
        if let Some(stream) = &mut self.stream {
            let given = stream.rows.give(&batch, sink);
            // Columns of bytes are ignored when they are seen not to be text.
            for column in &stream.rows.columns().ignored {
                if !self.ignored.contains(column) {
                    self.ignored.push(column.clone());
                }
            }
            given?;
            self.rows += batch.num_rows() as u64;
        }
        Ok(())
    }

    fn decode(&mut self, bytes: &Buffer) -> Result<Option<RecordBatch>, ColumnsError> {
        let (metadata, body) = split(bytes)?;
        let message = parse(&metadata)?;
        match message.header_type() {
            MessageHeader::Schema => {
                self.stream = None;
                self.stream = Some(self.begin(message)?);
                Ok(None)
            }
            MessageHeader::DictionaryBatch => {
                let (max_len, stream) = self.stream()?;
                stream.dictionary(message, &body, max_len).map(|()| None)
            }
            MessageHeader::RecordBatch => {
                let (max_len, stream) = self.stream()?;
                stream.batch(message, &body, max_len).map(Some)
            }
            _ => Err(ColumnsError::Message("expected a schema, a dictionary or a batch")),
        }
    }

    fn begin(&mut self, message: Message<'_>) -> Result<Stream, ColumnsError> {
        let schema = message.header_as_schema().ok_or(ColumnsError::Message("the message has no content"))?;
        self.stream_of(schema)
    }

    /// Begins a stream whose schema is known.
    pub(super) fn begin_schema(&mut self, schema: arrow_ipc::Schema<'_>) -> Result<(), ColumnsError> {
        self.stream = Some(self.stream_of(schema)?);
        Ok(())
    }

    fn stream_of(&mut self, schema: arrow_ipc::Schema<'_>) -> Result<Stream, ColumnsError> {
        if schema.endianness() != arrow_ipc::Endianness::Little {
            return Err(ColumnsError::Message("big-endian numbers are not supported"));
        }
        let schema = fb_to_schema(schema);
        let columns = LabelColumns::from_schema(&schema, false, self.keeps_values)?;
        for column in &columns.ignored {
            if !self.ignored.contains(column) {
                self.ignored.push(column.clone());
            }
        }
        let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        for &index in &columns.projection {
            if let Some(field) = fields.get_mut(index) {
                *field = Arc::new(as_bytes(field));
            }
        }
        let schema = Arc::new(Schema::new(fields));
        let rows = Rows::new(columns, self.skips_rows);
        Ok(Stream { schema, rows, dictionaries: HashMap::new(), dictionary_lens: HashMap::new() })
    }

    fn stream(&mut self) -> Result<(usize, &mut Stream), ColumnsError> {
        let stream = self.stream.as_mut().ok_or(ColumnsError::Message("there is no schema before this message"))?;
        Ok((self.max_len, stream))
    }
}

impl Stream {
    fn dictionary(&mut self, message: Message<'_>, body: &Buffer, max_len: usize) -> Result<(), ColumnsError> {
        let dictionary = message.header_as_dictionary_batch();
        let dictionary = dictionary.ok_or(ColumnsError::Message("the message has no content"))?;
        let batch = dictionary.data().ok_or(ColumnsError::Message("the dictionary has no data"))?;
        let len = decoded_len(batch, body, max_len)?.saturating_add(body.len());
        let before = self.dictionary_lens.get(&dictionary.id()).copied().unwrap_or_default();
        let len = if dictionary.isDelta() { before.saturating_add(len) } else { len };
        let all = self.dictionary_lens.values().sum::<usize>().saturating_sub(before).saturating_add(len);
        if all > max_len {
            let (len, limit) = (all as u64, max_len as u64);
            return Err(ColumnsError::TooLarge { what: "the dictionaries", len, limit });
        }
        read_dictionary(body, dictionary, &self.schema, &mut self.dictionaries, &message.version()).map_err(data)?;
        self.dictionary_lens.insert(dictionary.id(), len);
        Ok(())
    }

    fn batch(&mut self, message: Message<'_>, body: &Buffer, max_len: usize) -> Result<RecordBatch, ColumnsError> {
        let batch = message.header_as_record_batch().ok_or(ColumnsError::Message("the message has no content"))?;
        decoded_len(batch, body, max_len)?;
        let (schema, projection) = (self.schema.clone(), &self.rows.columns().projection);
        read_record_batch(body, batch, schema, &self.dictionaries, Some(projection), &message.version()).map_err(data)
    }
}

fn data(error: arrow_schema::ArrowError) -> ColumnsError {
    ColumnsError::Data(error.to_string())
}

/// Divides a message into its metadata and its body.
fn split(bytes: &Buffer) -> Result<(Buffer, Buffer), ColumnsError> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_LEN>() else {
        return Err(ColumnsError::Message("the message is shorter than the length before it"));
    };
    let [marker @ .., _, _, _, _] = prefix;
    if *marker != STREAM_START {
        return Err(ColumnsError::Message("a message must begin with the bytes ff ff ff ff"));
    }
    let len = metadata_len(*prefix).filter(|&len| len <= rest.len());
    let len = len.ok_or(ColumnsError::Message("the metadata is longer than the message"))?;
    Ok((bytes.slice_with_length(PREFIX_LEN, len), bytes.slice(PREFIX_LEN + len)))
}

fn parse(metadata: &[u8]) -> Result<Message<'_>, ColumnsError> {
    root_as_message(metadata).map_err(|error| ColumnsError::Data(format!("invalid metadata: {error}")))
}

/// Returns the length of the body of a message by its metadata, or `None` if the metadata is malformed.
pub(crate) fn body_len(metadata: &[u8]) -> Option<u64> {
    // The parser refuses metadata that is not aligned.
    let metadata = Buffer::from(metadata);
    let len = parse(&metadata).ok()?.bodyLength();
    u64::try_from(len).ok()
}

/// Returns true if the metadata of a message is that of a schema.
pub(crate) fn is_schema(metadata: &[u8]) -> bool {
    let metadata = Buffer::from(metadata);
    parse(&metadata).is_ok_and(|message| message.header_type() == MessageHeader::Schema)
}
