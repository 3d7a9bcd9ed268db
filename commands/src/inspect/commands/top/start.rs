//! The list to begin with.

use chronoxide_dump::name::Name;
use chronoxide_inspect::report::{Explorer, ReportError};
use chronoxide_text::escape::Escaped;

use super::browser::Browser;
use super::view::{NO_NAME, Subset, View};
use crate::mistake::did_you_mean;

/// List to begin with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start<'a> {
    Metrics,
    /// Labels of all series, or the values of a label.
    Labels {
        label: Option<&'a str>,
    },
    /// Labels of a metric, or the values of one of its labels. An empty name stands for series without a name.
    Metric {
        name: &'a str,
        label: Option<&'a str>,
    },
}

impl Browser {
    /// Opens the list to begin with. If it does not exist, opens the level above, with a notice.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub(super) fn new(input: &str, start: Start<'_>, explorer: &Explorer<'_>) -> Result<Self, ReportError> {
        let view = match start {
            Start::Labels { .. } => View::Labels(Subset::All),
            Start::Metrics | Start::Metric { .. } => View::Metrics,
        };
        let mut browser = Self::open_top(input, view, explorer)?;
        match start {
            Start::Metrics | Start::Labels { label: None } => {}
            Start::Labels { label: Some(label) } => browser.open_name(Some(label), explorer)?,
            Start::Metric { name, label } => {
                browser.open_name((!name.is_empty()).then_some(name), explorer)?;
                if let (Some(label), None) = (label, browser.notice()) {
                    browser.open_name(Some(label), explorer)?;
                }
            }
        }
        Ok(browser)
    }

    /// Selects and opens the row with a name.
    fn open_name(&mut self, name: Option<&str>, explorer: &Explorer<'_>) -> Result<(), ReportError> {
        if self.current().select_name(name) {
            return self.open(explorer);
        }
        let shown = Escaped(name.unwrap_or_default());
        let list = &self.level().list;
        let near = did_you_mean(name.unwrap_or_default(), (0..list.len()).filter_map(|row| list.name(row)));
        let notice = match (&self.level().view, name) {
            (View::Metrics, None) => "all series have a name".to_owned(),
            (View::Metrics, Some(_)) => format!("no metric has the name {shown}{near}"),
            (View::Labels(Subset::Metric(metric)), _) => {
                let metric = metric.as_deref().map_or_else(|| NO_NAME.to_owned(), |name| Name(name).to_string());
                format!("no series of the metric {metric} has a label {shown}{near}")
            }
            _ => format!("no series has a label {shown}{near}"),
        };
        self.set_notice(notice);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::commands::top::fixture::{SERIES, with_explorer};
    use crate::inspect::commands::top::keys::Action;

    fn began(start: Start<'_>, see: impl FnOnce(&mut Browser, &Explorer<'_>)) {
        with_explorer(SERIES, |explorer| see(&mut Browser::new("a.cx", start, explorer).unwrap(), explorer));
    }

    fn path(browser: &Browser) -> String {
        browser.level().view.to_string()
    }

    #[test]
    fn a_start_opens_the_list_or_tells_that_it_does_not_exist() {
        let metric = |name, label| Start::Metric { name, label };
        for (start, expected, notice) in [
            (metric("load", None), "All > metric load > labels", None),
            (metric("load", Some("job")), "All > metric load > label job", None),
            (metric("", None), "All > metric (no __name__) > labels", None),
            (metric("lo", None), "All > metrics", Some("no metric has the name \"lo\"")),
            (metric("l\u{1b}", Some("job")), "All > metrics", Some("no metric has the name \"l\\u001b\"")),
            (
                metric("load", Some("pod")),
                "All > metric load > labels",
                Some("no series of the metric load has a label \"pod\""),
            ),
            (Start::Labels { label: None }, "All > labels", None),
            (Start::Labels { label: Some("pod") }, "All > label pod", None),
            (
                Start::Labels { label: Some("Pod") },
                "All > labels",
                Some("no series has a label \"Pod\"; did you mean \"pod\"?"),
            ),
        ] {
            began(start, |browser, _| assert_eq!((path(browser).as_str(), browser.notice()), (expected, notice)));
        }
        // The levels above are ready to go back to.
        began(metric("load", Some("job")), |browser, explorer| {
            for expected in ["All > metric load > label job", "All > metric load > labels", "All > metrics"] {
                assert_eq!(path(browser), expected);
                browser.apply(Action::Back, explorer).unwrap();
            }
            let level = browser.level();
            assert_eq!(level.selected().and_then(|row| level.list.name(row)), Some("load"));
        });
    }
}
