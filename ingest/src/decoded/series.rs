//! Labels of series as arrays: [`Series`].

use std::ops::Range;

use crate::prometheus::text::Stamp;
use crate::series::SeriesSink;

/// Labels of series.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// Lengths of the name and the value of each label.
    lens: Vec<[u32; 2]>,
    /// Names and values, concatenated.
    text: String,
}

/// Place of a series in [`Series`], and its stamp if it is a sample of exposition text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeriesPlace {
    labels: Range<usize>,
    text: usize,
    pub(crate) stamp: Stamp,
}

/// Error of a series that is not kept here.
#[derive(Debug)]
pub(crate) struct NotKept;

/// Labels of a series in order of the record, as names and values.
#[derive(Debug, Clone)]
pub(crate) struct Labels<'s> {
    lens: std::slice::Iter<'s, [u32; 2]>,
    text: &'s str,
}

impl Series {
    /// Removes all series.
    pub(super) fn clear(&mut self) {
        self.lens.clear();
        self.text.clear();
    }

    /// Adds a series whose labels `give` adds. If it returns `None`, nothing is added.
    pub(super) fn add(&mut self, give: impl FnOnce(&mut Self) -> Option<Stamp>) -> Option<SeriesPlace> {
        let (labels, text) = (self.lens.len(), self.text.len());
        let stamp = give(self);
        if stamp.is_none() {
            self.lens.truncate(labels);
            self.text.truncate(text);
        }
        Some(SeriesPlace { labels: labels..self.lens.len(), text, stamp: stamp? })
    }

    /// Returns the labels of a series.
    pub(crate) fn labels(&self, place: &SeriesPlace) -> Labels<'_> {
        let lens = self.lens.get(place.labels.clone()).unwrap_or_default();
        Labels { lens: lens.iter(), text: self.text.get(place.text..).unwrap_or_default() }
    }
}

impl SeriesSink for Series {
    type Error = NotKept;

    fn label(&mut self, name: &str, value: &str) -> Result<(), NotKept> {
        let len = |text: &str| u32::try_from(text.len()).map_err(|_| NotKept);
        self.lens.push([len(name)?, len(value)?]);
        self.text.push_str(name);
        self.text.push_str(value);
        Ok(())
    }

    /// Refuses: a series here has labels only, so that its record is decoded where it is assembled.
    fn points(&mut self, _: i64, _: i64) -> Result<(), NotKept> {
        Err(NotKept)
    }

    fn point_without_time(&mut self) -> Result<(), NotKept> {
        Err(NotKept)
    }
}

impl<'s> Iterator for Labels<'s> {
    type Item = (&'s str, &'s str);

    #[inline]
    fn next(&mut self) -> Option<(&'s str, &'s str)> {
        let &[name, value] = self.lens.next()?;
        let (name, rest) = self.text.split_at_checked(name as usize)?;
        let (value, rest) = rest.split_at_checked(value as usize)?;
        self.text = rest;
        Some((name, value))
    }
}
