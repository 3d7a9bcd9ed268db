//! [`Page`]: a report as one HTML file.

use std::fmt::{self, Display};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronoxide_inspect::report::Report;
use chronoxide_text::escape::TerminalSafe;
use sha2::{Digest, Sha256};

/// The page with places for its parts: names in double braces.
const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");

/// Scripts. Each may use those before it.
const SCRIPTS: [&str; 18] = [
    include_str!("page/vendor/d3-hierarchy.min.js"),
    include_str!("page/element.js"),
    include_str!("page/text.js"),
    include_str!("page/format.js"),
    include_str!("page/selection.js"),
    include_str!("page/table.js"),
    include_str!("page/overview.js"),
    include_str!("page/usage.js"),
    include_str!("page/suggestions.js"),
    include_str!("page/layout.js"),
    include_str!("page/treemap.js"),
    include_str!("page/labels.js"),
    include_str!("page/metrics.js"),
    include_str!("page/parts.js"),
    include_str!("page/chart.js"),
    include_str!("page/windows.js"),
    include_str!("page/comparison.js"),
    include_str!("page/page.js"),
];

static SCRIPT: LazyLock<String> = LazyLock::new(|| SCRIPTS.join("\n"));

/// The page's security policy: nothing is loaded, and only the style and the script of the page are applied.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(&SCRIPT)
    )
});

/// A report as one HTML file, which `Display` writes. It loads nothing, and can be opened from disk, sent and printed.
///
/// The figures are in it as JSON. Text of captures is in that JSON only, where no character of it can end the element.
/// The script shows it as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'r>(pub(super) &'r Report);

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = serde_json::to_string(self.0).map_err(|_| fmt::Error)?;
        let data = Embedded(&data).to_string();
        let title = title(self.0);
        let mut rest = TEMPLATE;
        while let Some((before, (place, after))) =
            rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
        {
            f.write_str(before)?;
            f.write_str(match place {
                "title" => &title,
                "policy" => &POLICY,
                "style" => STYLE,
                "data" => &data,
                "script" => &SCRIPT,
                _ => return Err(fmt::Error),
            })?;
            rest = after;
        }
        f.write_str(rest)
    }
}

/// Returns the names of the inputs as HTML without markup and control characters.
fn title(report: &Report) -> String {
    let names = report.inputs.join(" and ");
    let mut title = String::new();
    for char in TerminalSafe(&names).to_string().chars() {
        match char {
            '&' => title.push_str("&amp;"),
            '<' => title.push_str("&lt;"),
            '>' => title.push_str("&gt;"),
            other => title.push(other),
        }
    }
    title
}

/// JSON for an element of HTML: characters that could end it, or that scripts take for line ends, are escaped.
struct Embedded<'j>(&'j str);

impl Display for Embedded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_special = |char| matches!(char, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        for part in self.0.split_inclusive(is_special) {
            match part.chars().next_back() {
                Some(char) if is_special(char) => {
                    f.write_str(&part[..part.len() - char.len_utf8()])?;
                    write!(f, "\\u{:04x}", u32::from(char))?;
                }
                _ => f.write_str(part)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_format::layout::RowForm;
    use chronoxide_format::write::BlockMeta;
    use chronoxide_inspect::report::{Input, Options, report};
    use chronoxide_reader::{Block, Checks};
    use chronoxide_testkit::plan::{Plan, build, labelsets};

    use super::*;

    #[test]
    fn embedded_json_has_the_same_meaning_and_no_markup() {
        let text = "</script><!-- \u{2028}&amp;\u{2029}>";
        let json = serde_json::to_string(&[text]).unwrap();
        let embedded = Embedded(&json).to_string();
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{embedded}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&embedded).unwrap(), [text]);
    }

    #[test]
    fn a_page_of_figures_with_placeholders_and_markup_has_them_as_text() {
        let hostile = "{{script}}</script><script>window.attacked=1</script>";
        let series = labelsets(&[&[("__name__", hostile), ("{{data}}", "<img src=x onerror=alert(1)>")]]);
        let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
        let blocks = vec![Block::from_vec(block, Checks::Lazy).unwrap().with_path(hostile).into()];
        let input = Input { name: hostile.to_owned(), is_folder: false, skipped: Vec::new(), is_whole: true, blocks };
        let report = report(&input, &Options::default()).unwrap();
        let page = Page(&report).to_string();
        assert_eq!(page.matches("<script").count(), 2);
        assert!(!page.contains("<img"), "{page}");
        let (_, rest) = page.split_once(r#"<script type="application/json" id="report">"#).unwrap();
        let found: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!((&found["inputs"][0], &found["metrics"][0]["metric"]), (&hostile.into(), &hostile.into()));
    }
}
