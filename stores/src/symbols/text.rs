//! [`OwnedText`]: owned string types for `OwnedSymbolTable`.

use std::sync::Arc;

use byteview::StrView;
use chronoxide_labels::LabelError;
use german_str::GermanStr;
use smol_str::SmolStr;

/// Immutable string that owns its bytes, inline or in an allocation.
pub trait OwnedText: Sized {
    /// Copies a string.
    ///
    /// # Errors
    /// [`LabelError::SymbolTooLong`] if the string is longer than the type allows.
    fn from_text(text: &str) -> Result<Self, LabelError>;

    /// Returns the string.
    fn as_text(&self) -> &str;

    /// Returns the bytes requested from the allocator for a string of `len` bytes; 0 if it is kept inline.
    fn heap_bytes(len: usize) -> usize;
}

/// Maximum length in bytes of string types with a 32-bit length.
const MAX_LEN: usize = u32::MAX as usize;

fn too_long(text: &str) -> LabelError {
    LabelError::SymbolTooLong { len: text.len(), limit: MAX_LEN }
}

impl OwnedText for Arc<str> {
    fn from_text(text: &str) -> Result<Self, LabelError> {
        Ok(text.into())
    }

    fn as_text(&self) -> &str {
        self
    }

    fn heap_bytes(len: usize) -> usize {
        // Two counters before the bytes, the whole rounded up to the alignment of the counters.
        (2 * size_of::<usize>() + len).next_multiple_of(align_of::<usize>())
    }
}

impl OwnedText for GermanStr {
    fn from_text(text: &str) -> Result<Self, LabelError> {
        Self::new(text).map_err(|_| too_long(text))
    }

    fn as_text(&self) -> &str {
        self
    }

    fn heap_bytes(len: usize) -> usize {
        if len <= german_str::MAX_INLINE_BYTES { 0 } else { len }
    }
}

impl OwnedText for SmolStr {
    fn from_text(text: &str) -> Result<Self, LabelError> {
        Ok(Self::new(text))
    }

    fn as_text(&self) -> &str {
        self
    }

    fn heap_bytes(len: usize) -> usize {
        /// Bytes of a string that fit beside the length.
        const MAX_INLINE: usize = 23;
        if len <= MAX_INLINE { 0 } else { Arc::<str>::heap_bytes(len) }
    }
}

impl OwnedText for StrView {
    fn from_text(text: &str) -> Result<Self, LabelError> {
        if text.len() > MAX_LEN {
            return Err(too_long(text));
        }
        Ok(Self::new(text))
    }

    fn as_text(&self) -> &str {
        self
    }

    fn heap_bytes(len: usize) -> usize {
        /// Bytes of a string that fit beside the length.
        const MAX_INLINE: usize = 20;
        // A counter before the bytes.
        if len <= MAX_INLINE { 0 } else { size_of::<u64>() + len }
    }
}
