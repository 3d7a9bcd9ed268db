//! Window of the inputs: [`InputWindow`].

use chronoxide_format::view::TimeRange;

/// Window of one or more inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum InputWindow {
    /// No input was read.
    #[default]
    NoInput,
    /// All inputs are within this window.
    Known(TimeRange),
    /// At least one input has no window.
    Unknown,
}

impl InputWindow {
    /// Returns the window of the inputs of both.
    pub(super) fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::NoInput, window) | (window, Self::NoInput) => window,
            (Self::Known(left), Self::Known(right)) => {
                Self::Known(TimeRange { start: left.start.min(right.start), end: left.end.max(right.end) })
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }

    /// Returns the window, if it is known.
    pub(super) fn range(self) -> Option<TimeRange> {
        if let Self::Known(range) = self { Some(range) } else { None }
    }
}
