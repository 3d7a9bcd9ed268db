//! Where values of JSON begin and end.

/// How deep a byte of JSON stands.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Depth {
    pub(super) open: u64,
    pub(super) in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Whether no value is open.
    pub(super) fn is_outside(self) -> bool {
        self.open == 0 && !self.in_string
    }

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
