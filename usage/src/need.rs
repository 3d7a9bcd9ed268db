//! [`Need`]: series that a query selects, and the labels of them that it needs.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_select::Selector;
use serde::Serialize;

/// How a query uses a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Use {
    /// A matcher selects series by it.
    Selected,
    /// An aggregation groups by it.
    Grouped,
    /// An operator or a function joins series by it.
    Joined,
    /// The result has the label.
    Returned,
}

/// Uses of one label.
pub type Uses = BTreeSet<Use>;

/// Series that a query selects, and the labels of them that it needs.
#[derive(Clone, Debug)]
pub struct Need {
    /// Selects the series.
    pub selector: Selector,
    /// Labels of these series that the query needs.
    pub labels: LabelNeeds,
}

/// Labels that are needed: some by name, and perhaps all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelNeeds {
    named: BTreeMap<String, Uses>,
    /// Uses of all labels except some; no uses if only the named ones are needed.
    others: Uses,
    except: BTreeSet<String>,
}

impl LabelNeeds {
    /// Returns the need of all labels except some.
    #[must_use]
    pub fn all_except(except: impl IntoIterator<Item = String>, use_: Use) -> Self {
        Self { named: BTreeMap::new(), others: Uses::from([use_]), except: except.into_iter().collect() }
    }

    /// Adds all labels except some.
    #[must_use]
    pub fn with_all_except(self, except: impl IntoIterator<Item = String>, use_: Use) -> Self {
        self.and(&Self::all_except(except, use_))
    }

    /// Adds the labels of another need.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (name, uses) in &other.named {
            self.named.entry(name.clone()).or_default().extend(uses);
        }
        if self.others.is_empty() {
            self.except.clone_from(&other.except);
        } else if !other.others.is_empty() {
            // A label that one side excepts counts with the uses of both: rather too many than too few.
            self.except.retain(|name| other.except.contains(name));
        }
        self.others.extend(&other.others);
        self
    }

    /// Adds labels.
    #[must_use]
    pub fn with(mut self, names: impl IntoIterator<Item = String>, use_: Use) -> Self {
        for name in names {
            self.named.entry(name).or_default().insert(use_);
        }
        self
    }

    /// Removes a label that the query makes itself.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.named.remove(name);
        if !self.others.is_empty() {
            self.except.insert(name.to_owned());
        }
        self
    }

    /// Returns the uses of a label; none if it is not needed.
    #[must_use]
    pub fn uses(&self, name: &str) -> Uses {
        let mut uses = self.named.get(name).cloned().unwrap_or_default();
        if !self.except.contains(name) {
            uses.extend(&self.others);
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_labels_are_needed_besides_all_others() {
        let needs = LabelNeeds::all_except(["pod".to_owned()], Use::Grouped).with(["pod".to_owned()], Use::Selected);
        assert_eq!(needs.uses("pod"), Uses::from([Use::Selected]));
        assert_eq!(needs.uses("job"), Uses::from([Use::Grouped]));
        assert_eq!(needs.clone().without("job").uses("job"), Uses::new());
        let joined = needs.clone().with_all_except(["pod".to_owned(), "job".to_owned()], Use::Joined);
        assert_eq!(joined.uses("job"), Uses::from([Use::Grouped, Use::Joined]));
        assert_eq!(joined.uses("pod"), Uses::from([Use::Selected]));
        assert_eq!(LabelNeeds::default().and(&joined), joined);
        let none = LabelNeeds::default();
        assert_eq!((none.uses("job"), none.without("job")), (Uses::new(), LabelNeeds::default()));
    }
}
