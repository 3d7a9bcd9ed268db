//! JSON into memory.

use std::fmt::Display;
use std::io::Write;

/// An object that is being written.
pub(super) struct Object<'b> {
    out: &'b mut Vec<u8>,
    is_first: bool,
}

impl<'b> Object<'b> {
    pub(super) fn begin(out: &'b mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_first: true }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// The name of a member, after which its value can be written.
    fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
        string(name, self.out);
        self.out.push(b':');
        self.out
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        string(value, self.member(name));
    }

    /// A text, unless it is empty: what has its default is left out.
    pub(super) fn text_if_any(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    /// A number of 64 bits, which is a string: JSON readers that have doubles only would round it.
    pub(super) fn long(&mut self, name: &str, value: impl Display) {
        display(format_args!("\"{value}\""), self.member(name));
    }

    /// A value that JSON writes without quotes.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) {
        display(value, self.member(name));
    }

    pub(super) fn double(&mut self, name: &str, value: f64) {
        double(value, self.member(name));
    }

    pub(super) fn object(&mut self, name: &str, write: impl FnOnce(&mut Object<'_>)) {
        let mut object = Object::begin(self.member(name));
        write(&mut object);
        object.end();
    }

    /// A list, unless it is empty.
    pub(super) fn list<T>(&mut self, name: &str, items: &[T], write: impl FnMut(&T, &mut Vec<u8>)) {
        if !items.is_empty() {
            list(items, self.member(name), write);
        }
    }

    /// A list of objects, unless it is empty.
    pub(super) fn objects<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&T, &mut Object<'_>)) {
        self.list(name, items, |item, out| {
            let mut object = Object::begin(out);
            write(item, &mut object);
            object.end();
        });
    }
}

fn list<T>(items: &[T], out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// Memory takes everything.
pub(super) fn display(value: impl Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{value}");
}

/// A double; what JSON has no number for is a string in protobuf's mapping.
pub(super) fn double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        string("NaN", out);
    } else if value.is_infinite() {
        string(if value > 0.0 { "Infinity" } else { "-Infinity" }, out);
    } else {
        display(value, out);
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, text);
}
