//! What was said about the current metric family: [`Family`].

use super::line::Fact;
use crate::prometheus::FamilyType;
use chronoxide_format::metadata::MetricMetadata;

/// What was said about a metric family so far. It stands on separate lines.
#[derive(Default)]
pub(super) struct Family {
    name: String,
    family_type: FamilyType,
    unit: String,
    help: String,
    /// Whether something was said that the sink does not know yet.
    has_news: bool,
}

impl Family {
    /// Whether this is said about the same family.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Forgets what was said and starts another family.
    pub(super) fn begin(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
        self.family_type = FamilyType::Unknown;
        self.unit.clear();
        self.help.clear();
        self.has_news = false;
    }

    /// Keeps what is said; the last of its kind counts.
    pub(super) fn learn(&mut self, fact: &Fact<'_>) {
        self.has_news = true;
        match fact {
            Fact::Help(help) => help.as_ref().clone_into(&mut self.help),
            Fact::Type(family_type) => self.family_type = *family_type,
            Fact::Unit(unit) => (*unit).clone_into(&mut self.unit),
        }
    }

    /// What was said, if anything was that was not taken yet.
    pub(super) fn take_news(&mut self) -> Option<MetricMetadata<'_>> {
        let metadata = self.family_type.metadata(&self.name, &self.unit, &self.help);
        std::mem::take(&mut self.has_news).then_some(metadata)
    }
}
