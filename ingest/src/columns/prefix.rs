//! Beginnings of Parquet files and of messages of Arrow IPC, by which inputs are recognized.

/// First and last bytes of a Parquet file.
pub(crate) const PARQUET_MAGIC: [u8; 4] = *b"PAR1";

/// First bytes of each message of Arrow IPC.
pub(crate) const STREAM_START: [u8; 4] = [0xff; 4];

/// Bytes of the marker and the length of the metadata.
pub(crate) const PREFIX_LEN: usize = 8;

/// Returns the length of the metadata by the prefix of a message. It is 0 at the end of a stream.
pub(crate) fn metadata_len([.., a, b, c, d]: [u8; PREFIX_LEN]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes([a, b, c, d])).ok()
}
