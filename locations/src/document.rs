//! JSON objects with a checksum, for manifests and records.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Location, LocationError};

/// Reads of a document that is damaged when it arrives.
const READS: usize = 3;

/// A document: its content as text, and the CRC-32 of this text.
#[derive(Serialize, Deserialize)]
struct Sealed<'a> {
    crc32: u32,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Writes a value as a document, with a line break at the end. Equal values give equal bytes.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_document(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let content = serde_json::value::to_raw_value(value)?;
    let crc32 = chronoxide_format::checksum::crc(content.get().as_bytes());
    let mut bytes = serde_json::to_vec(&Sealed { crc32, content: &content })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a document. Damage on the way is read again.
///
/// # Errors
/// [`LocationError::Missing`] if it does not exist, and [`LocationError::Json`] if it is damaged or not such a value.
pub fn read_document<T: DeserializeOwned>(location: &Location, key: &str) -> Result<T, LocationError> {
    let mut reads = 1;
    loop {
        match parse(&location.read(key)?) {
            Ok(value) => return Ok(value),
            Err(reason) if reads == READS => return Err(LocationError::Json { object: location.name(key), reason }),
            Err(_) => reads += 1,
        }
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let Sealed { crc32, content } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let computed = chronoxide_format::checksum::crc(content.get().as_bytes());
    if computed != crc32 {
        return Err(format!("damaged: its checksum is {computed}, not {crc32}"));
    }
    serde_json::from_str(content.get()).map_err(|error| error.to_string())
}
