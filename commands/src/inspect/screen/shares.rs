//! Text output of shares in series and bytes.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_inspect::query::{Share, Shares};
use chronoxide_text::human;

use crate::style::Style;

/// Writes the totals and at most `most` shares.
pub(crate) fn write(name: &str, shares: &Shares, most: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Shares { series: all_series, bytes: all_bytes, values, shares } = shares;
    let of = format!("{}: {}", Name(name), human::count_of(*values, "value"));
    let series = human::count(*all_series);
    writeln!(out, "{}", style.heading(format!("{of}, {series} series, {}", human::bytes(all_bytes.round() as u64))))?;
    if !shares.is_empty() {
        writeln!(out, "  {:>13}  {:>6}  {:>15}", "series", "", "bytes")?;
    }
    for Share { value, series, bytes } in shares.iter().take(most) {
        let value = value.as_ref().map_or_else(|| format!("(no {})", Name(name)), |value| Name(value).to_string());
        let of_series = human::share(*series, *all_series);
        // Whole bytes would be too coarse for the shares of a small file.
        let [of_bytes, all] = [*bytes, *all_bytes].map(|bytes| (bytes * 1000.0).round() as u64);
        let of_bytes = human::share(of_bytes, all);
        let (series, bytes) = (human::count(*series), human::count(bytes.round() as u64));
        writeln!(out, "  {series:>13}  {of_series:>6}  {bytes:>15}  {of_bytes:>6}  {value}")?;
    }
    match shares.len().checked_sub(most) {
        Some(left @ 1..) => writeln!(out, "  ... {} more", human::count(left as u64)),
        _ => Ok(()),
    }
}
