//! Views: lists of a block, and the series that they count.

use std::fmt;

use chronoxide_dump::name::Name;
use chronoxide_inspect::report::Scope;

/// Text in place of the name of a metric, for series without one.
pub(super) const NO_NAME: &str = "(no __name__)";

/// Series that a view counts: an owned [`Scope`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subset {
    All,
    /// The series of a metric; `None` stands for series without a name.
    Metric(Option<String>),
}

/// A list of names with counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Metrics of all series.
    Metrics,
    /// Labels of some series.
    Labels(Subset),
    /// Values of a label in some series.
    Values(Subset, String),
}

impl Subset {
    pub(super) fn scope(&self) -> Scope<'_> {
        match self {
            Self::All => Scope::All,
            Self::Metric(name) => Scope::Metric(name.as_deref()),
        }
    }
}

impl View {
    /// Returns the noun of a row.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Metrics => "metric",
            Self::Labels(_) => "label",
            Self::Values(..) => "value",
        }
    }
}

/// Writes the path from all series to the view, such as `All > metric up > label pod`.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("All")?;
        let subset = match self {
            Self::Metrics => return f.write_str(" > metrics"),
            Self::Labels(subset) | Self::Values(subset, _) => subset,
        };
        match subset {
            Subset::All => {}
            Subset::Metric(Some(name)) => write!(f, " > metric {}", Name(name))?,
            Subset::Metric(None) => write!(f, " > metric {NO_NAME}")?,
        }
        match self {
            Self::Values(_, label) => write!(f, " > label {}", Name(label)),
            _ => f.write_str(" > labels"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_each_level_and_are_escaped() {
        let metric = |name: &str| Subset::Metric(Some(name.to_owned()));
        for (view, path) in [
            (View::Metrics, "All > metrics"),
            (View::Labels(Subset::All), "All > labels"),
            (View::Labels(metric("up")), "All > metric up > labels"),
            (View::Labels(Subset::Metric(None)), "All > metric (no __name__) > labels"),
            (View::Values(Subset::All, "pod".to_owned()), "All > label pod"),
            (View::Values(metric("a\u{1b}b"), "\n".to_owned()), r#"All > metric "a\u001bb" > label "\u000a""#),
        ] {
            assert_eq!(view.to_string(), path);
        }
    }
}
