//! Decompression of a page: [`decompress`].

use std::io::Read;

use parquet::basic::Compression;

use crate::columns::error::ColumnsError;

/// Bytes of the two lengths before each part of a page in the deprecated LZ4 format, which is Hadoop's.
const HADOOP_PREFIX_LEN: usize = 8;

/// Decompresses `bytes` into `out`, which must be filled exactly.
///
/// Codecs write to `out` directly, or stop at its end: the content cannot take more memory than the page claims.
///
/// # Errors
///
/// The codec is not supported, the bytes are damaged, or have another length.
pub(super) fn decompress(codec: Compression, bytes: &[u8], out: &mut [u8]) -> Result<(), ColumnsError> {
    let expected = out.len();
    let len = match codec {
        Compression::UNCOMPRESSED => {
            let (from, to) = (bytes.get(..expected), out);
            from.map(|from| to.copy_from_slice(from)).ok_or(OTHER_LEN)?;
            bytes.len()
        }
        Compression::SNAPPY => snap::raw::Decoder::new().decompress(bytes, out).map_err(damaged)?,
        Compression::GZIP(_) => {
            let mut decoder = flate2::bufread::MultiGzDecoder::new(bytes);
            decoder.read_exact(out).map_err(damaged)?;
            expected + decoder.read(&mut [0]).map_err(damaged)?
        }
        Compression::ZSTD(_) => zstd::bulk::decompress_to_buffer(bytes, out).map_err(damaged)?,
        Compression::LZ4_RAW => lz4_flex::block::decompress_into(bytes, out).map_err(damaged)?,
        Compression::LZ4 => match hadoop(bytes, out) {
            Some(len) => len,
            // Old versions of some writers left Hadoop's lengths out.
            None => lz4_flex::block::decompress_into(bytes, out).map_err(damaged)?,
        },
        Compression::LZO => return Err(ColumnsError::Message("the codec LZO is not supported")),
        Compression::BROTLI(_) => return Err(ColumnsError::Message("the codec Brotli is not supported")),
    };
    if len == expected { Ok(()) } else { Err(OTHER_LEN) }
}

const OTHER_LEN: ColumnsError = ColumnsError::Message("a page has another length than its header says");

/// Decompresses parts that each have their decompressed and compressed lengths before them, as big-endian numbers.
fn hadoop(mut bytes: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut len = 0;
    while !bytes.is_empty() {
        let (prefix, rest) = bytes.split_first_chunk::<HADOOP_PREFIX_LEN>()?;
        let number = |bytes: &[u8]| usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok();
        let (decompressed_len, compressed_len) = (number(prefix.get(..4)?)?, number(prefix.get(4..)?)?);
        let (part, rest) = rest.split_at_checked(compressed_len)?;
        let target = out.get_mut(len..)?.get_mut(..decompressed_len)?;
        if lz4_flex::block::decompress_into(part, target).ok()? != decompressed_len {
            return None;
        }
        len += decompressed_len;
        bytes = rest;
    }
    Some(len)
}

fn damaged(error: impl std::fmt::Display) -> ColumnsError {
    ColumnsError::Data(format!("cannot decompress a page: {error}"))
}
