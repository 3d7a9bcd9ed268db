//! Text output of the difference of blocks.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::query::{Difference, Explosion};
use chronoxide_text::human;

/// Writes labels that exploded, the totals, and the numbers of at most `most` metrics. No line begins with a sign:
/// those are series.
pub(crate) fn write(difference: &Difference, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let count = human::count;
    let Difference { same, gone, came, metrics, explosions } = difference;
    for Explosion { label, also, owner, values_before, values_after, series } in explosions {
        let owner = owner.as_ref().map(|(name, value)| format!(" of {} {}", Name(name), Name(value)));
        let (owner, values) = (owner.unwrap_or_default(), human::count_of(*values_after, "value"));
        let share = human::share(*series, came.len());
        let others: Vec<String> = also.iter().map(|label| Name(label).to_string()).collect();
        let also = if others.is_empty() { String::new() } else { format!(" (and {})", others.join(", ")) };
        writeln!(
            out,
            "{}{also}{owner}: {} to {values}, {share} of the series that came",
            Name(label),
            count(*values_before)
        )?;
    }
    writeln!(out, "series: {} in both, {} gone, {} came", count(*same), count(gone.len()), count(came.len()))?;
    for (metric, changes) in metrics.iter().take(most) {
        let name = metric.as_ref().map_or_else(|| "(no __name__)".to_owned(), |metric| Name(metric).to_string());
        let (gone, came) = (format!("-{}", count(changes.gone)), format!("+{}", count(changes.came)));
        writeln!(out, "  {gone:>13} {came:>13}  {name}")?;
    }
    match metrics.len().checked_sub(most) {
        Some(left @ 1..) => writeln!(out, "  ... {}", human::count_of(left as u64, "more metric")),
        _ => Ok(()),
    }
}
