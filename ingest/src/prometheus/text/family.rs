//! Metadata of the current metric family: [`Family`].

use chronoxide_format::metadata::MetricMetadata;

use super::line::Fact;
use crate::prometheus::FamilyType;

/// Metadata of a metric family, collected from several lines.
#[derive(Default)]
pub(super) struct Family {
    name: String,
    family_type: FamilyType,
    unit: String,
    help: String,
    /// True if there is metadata that the sink did not get yet.
    has_news: bool,
}

impl Family {
    /// Returns true if the metadata is of this family.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Starts another family.
    pub(super) fn begin(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
        self.family_type = FamilyType::Unknown;
        self.unit.clear();
        self.help.clear();
        self.has_news = false;
    }

    /// Adds metadata. The last of a kind wins.
    pub(super) fn learn(&mut self, fact: &Fact<'_>) {
        self.has_news = true;
        match fact {
            Fact::Help(help) => help.as_ref().clone_into(&mut self.help),
            Fact::Type(family_type) => self.family_type = *family_type,
            Fact::Unit(unit) => (*unit).clone_into(&mut self.unit),
        }
    }

    /// Returns the metadata, if the sink did not get it yet.
    pub(super) fn take_news(&mut self) -> Option<MetricMetadata<'_>> {
        let metadata = self.family_type.metadata(&self.name, &self.unit, &self.help);
        std::mem::take(&mut self.has_news).then_some(metadata)
    }
}
