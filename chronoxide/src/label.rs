//! [`AsLabel`]: what a caller may give as a label.

use crate::Label;

/// A name and a value: a pair of strings, or a [`Label`] of another series, or a reference to one of these.
pub trait AsLabel {
    /// Returns the name.
    fn name(&self) -> &str;

    /// Returns the value.
    fn value(&self) -> &str;
}

impl<N: AsRef<str>, V: AsRef<str>> AsLabel for (N, V) {
    fn name(&self) -> &str {
        self.0.as_ref()
    }

    fn value(&self) -> &str {
        self.1.as_ref()
    }
}

impl AsLabel for Label<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn value(&self) -> &str {
        self.value
    }
}

impl<L: AsLabel + ?Sized> AsLabel for &L {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn value(&self) -> &str {
        (**self).value()
    }
}
