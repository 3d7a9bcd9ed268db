//! Text output of the difference of blocks.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::query::Difference;
use chronoxide_text::human;

/// Writes the totals, and the numbers of at most `most` metrics. No line begins with a sign: those are series.
pub(crate) fn write(difference: &Difference<'_>, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let count = human::count;
    let Difference { same, gone, came, .. } = *difference;
    writeln!(out, "series: {} in both, {} gone, {} came", count(same), count(gone), count(came))?;
    let metrics = difference.metrics();
    for (metric, changes) in metrics.iter().take(most) {
        let name = metric.map_or_else(|| "(no __name__)".to_owned(), |metric| Name(metric).to_string());
        let (gone, came) = (format!("-{}", count(changes.gone)), format!("+{}", count(changes.came)));
        writeln!(out, "  {gone:>13} {came:>13}  {name}")?;
    }
    match metrics.len().checked_sub(most) {
        Some(left @ 1..) => writeln!(out, "  ... {}", human::count_of(left as u64, "more metric")),
        _ => Ok(()),
    }
}
