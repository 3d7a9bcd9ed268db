//! [`Queried`]: a block with its selected series.

use std::cell::OnceCell;

use chronoxide_format::error::{Corruption, Place};
use chronoxide_format::view::{BlockView, FindError, Series, Text};
use chronoxide_format::{Error, KeyId, Rule};
use chronoxide_select::{IndexedBlock, Limits, Matcher, Searcher, Selector};

use crate::InspectError;

/// A block, and the selectors of its series.
#[derive(Debug)]
pub struct Queried<'data> {
    block: &'data IndexedBlock,
    text: Text<'data, 'data>,
    selectors: Vec<Selector>,
    damage: OnceCell<InspectError>,
}

impl<'data> Queried<'data> {
    /// Prepares the queries of a block for the series that match at least one selector, or for all series if there
    /// are no selectors. Selectors are cut by the label policy of the block, as its labels are.
    ///
    /// # Errors
    /// Returns an error if the arena is damaged.
    pub fn new(block: &'data IndexedBlock, selectors: &[Selector]) -> Result<Self, InspectError> {
        let text = block.view().text()?;
        Ok(Self { block, text, selectors: selectors.to_vec(), damage: OnceCell::new() })
    }

    /// Returns the first damage that a query met. Results lack the block, or the part of it that was not yet read.
    #[must_use]
    pub fn damage(&self) -> Option<&InspectError> {
        self.damage.get()
    }

    /// Converts the block into the first damage that a query met.
    #[must_use]
    pub fn into_damage(self) -> Option<InspectError> {
        self.damage.into_inner()
    }

    /// Returns true if a series of the block has a label with this name, cut as the block's labels were. True, too, if
    /// that cannot be read.
    #[must_use]
    pub fn has_label(&self, name: &str) -> bool {
        self.key(name).map_or(true, |key| key.is_some())
    }

    /// Returns the key with a name, which is cut by the label policy of the block as its labels were.
    pub(super) fn key(&self, name: &str) -> Result<Option<KeyId>, InspectError> {
        let policy = self.view().meta()?.policy();
        Ok(self.view().key(policy.name(name).as_bytes())?)
    }

    /// Records damage, unless some is known.
    pub(super) fn note(&self, damage: InspectError) {
        let _ = self.damage.set(damage);
    }

    /// Returns the block.
    #[must_use]
    pub fn view(&self) -> &'data BlockView<'data> {
        self.block.view()
    }

    pub(super) fn text(&self) -> Text<'data, 'data> {
        self.text
    }

    /// Returns the matchers of each selector; one empty list if all series are selected.
    pub(super) fn alternatives(&self) -> Vec<&[Matcher]> {
        if self.selectors.is_empty() {
            return vec![&[]];
        }
        self.selectors.iter().map(Selector::matchers).collect()
    }

    /// Returns true if all series are selected.
    pub(super) fn is_whole(&self) -> bool {
        self.selectors.is_empty()
    }

    pub(super) fn searcher(&self) -> Result<Searcher<'data, 'data>, InspectError> {
        Ok(self.block.searcher(Limits::default()).map_err(|error| error.source)?)
    }

    /// Calls `each` with each selected series, in the order of refs, until it returns false.
    pub(super) fn each_series(
        &self,
        mut each: impl FnMut(&Series<'data, '_>) -> Result<bool, InspectError>,
    ) -> Result<(), InspectError> {
        if self.is_whole() {
            for series in self.view().series_iter() {
                if !each(&series?)? {
                    break;
                }
            }
            return Ok(());
        }
        let searcher = self.searcher()?;
        let mut pages = searcher.pages(self.alternatives())?;
        while let Some(page) = pages.next_page(&searcher)? {
            for series in &page {
                if let Some(series) = self.view().series(series)?
                    && !each(&series)?
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns true if the block has a series with exactly these labels in the order of their names, selected or not. A
    /// damaged block has none.
    ///
    /// Costs a binary search per label, and the reading of a series that is found.
    pub(super) fn has(&self, labels: &[(&str, &str)]) -> bool {
        if self.damage.get().is_some() {
            return false;
        }
        match self.find(labels) {
            Ok(found) => found,
            Err(damage) => {
                self.note(damage);
                false
            }
        }
    }

    fn find(&self, labels: &[(&str, &str)]) -> Result<bool, InspectError> {
        let series = match self.searcher()?.find(labels) {
            Ok(Some(series)) => self.view().series(series)?,
            Ok(None) => return Ok(false),
            Err(FindError::Block(error)) => return Err(error.into()),
            // Only a damaged block has such labels: its own error tells.
            Err(_) => return Ok(false),
        };
        let Some(series) = series else { return Ok(false) };
        if series.label_count() as usize != labels.len() {
            return Ok(false);
        }
        // `find` cuts labels by the policy of this block, so that it finds the cut form of a label too.
        for (label, (name, value)) in series.labels().zip(labels) {
            let label = label?;
            if label.name != name.as_bytes() || label.value != value.as_bytes() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns a name or value as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, InspectError> {
    let rule = Rule::SymbolsUtf8;
    let damage = |error: std::str::Utf8Error| {
        let place = Place::Byte(error.valid_up_to() as u64);
        Error::from(Corruption::new(rule, place))
    };
    Ok(std::str::from_utf8(bytes).map_err(damage)?)
}
