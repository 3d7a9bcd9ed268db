//! Nesting of JSON values: [`Depth`].

/// Nesting depth at a byte of JSON text.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Depth {
    /// Objects and arrays that are open.
    pub(super) open: u64,
    pub(super) in_string: bool,
    /// True if the byte before was a backslash that escapes the next one.
    escaped: bool,
}

impl Depth {
    /// After the opening quote of a string.
    pub(super) const IN_STRING: Self = Self { open: 0, in_string: true, escaped: false };

    /// Returns true if no object, array or string is open.
    pub(super) fn is_outside(self) -> bool {
        self.open == 0 && !self.in_string
    }

    /// Moves past a byte.
    pub(super) fn pass(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.open += 1,
            b'}' | b']' => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }
}
