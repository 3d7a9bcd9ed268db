//! [`Targets`]: the target of each series of the input, in order.

use super::RemapError;
use super::keyset::Keyset;
use super::lookup::{Stretch, Target};
use super::view::RemapView;
use crate::number::low32;

/// Iterator over the target of each series of the input; see [`RemapView::targets`]. After an error it ends.
#[derive(Clone, Debug)]
pub struct Targets<'data, 'view> {
    view: &'view RemapView<'data>,
    next: u32,
    series_count: u32,
    /// The keyset in which the last series was.
    keyset: Option<Keyset>,
    /// Rest of the stretch of the next series.
    stretch: Stretch,
}

impl<'a> RemapView<'a> {
    /// Returns an iterator over the targets of all series of the input, in order.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn targets(&self) -> Result<Targets<'a, '_>, RemapError> {
        let stretch = Stretch { target: None, series: 0 };
        Ok(Targets { view: self, next: 0, series_count: low32(self.series_count()?), keyset: None, stretch })
    }
}

impl Targets<'_, '_> {
    fn step(&mut self) -> Result<Option<Target>, RemapError> {
        if self.stretch.series == 0 {
            let series = self.next.into();
            if self.keyset.is_none_or(|keyset| keyset.series.end <= series) {
                self.keyset = self.view.keyset_with(series)?;
            }
            // All series have one, or there is an error.
            self.stretch = match &self.keyset {
                Some(keyset) => self.view.stretch(keyset, series)?,
                None => Stretch { target: None, series: 1 },
            };
        }
        let target = self.stretch.target;
        self.stretch = Stretch {
            target: target.map(|target| target.saturating_add(1)),
            series: self.stretch.series.saturating_sub(1),
        };
        self.next += 1;
        target.map(|target| self.view.target(target)).transpose()
    }
}

impl std::iter::FusedIterator for Targets<'_, '_> {}

impl Iterator for Targets<'_, '_> {
    type Item = Result<Option<Target>, RemapError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.series_count {
            return None;
        }
        let step = self.step();
        if step.is_err() {
            self.next = self.series_count;
        }
        Some(step)
    }
}
