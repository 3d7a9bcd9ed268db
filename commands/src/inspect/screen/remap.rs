//! Text output of the summary of a remap.

use std::io::{self, Write};

use chronoxide_dump::remap::RemapSummary;
use chronoxide_text::human;

use super::summary;
use crate::style::Style;

/// Writes a summary.
pub(crate) fn write(remap: &RemapSummary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let count = human::count;
    writeln!(out, "{} of {}", style.heading("remap"), remap.input_id)?;
    let size = human::bytes(remap.bytes);
    match remap.bytes_per_series() {
        Some(per_series) => writeln!(out, "  size       {size}, {} bytes per series", human::per(per_series))?,
        None => writeln!(out, "  size       {size}")?,
    }
    writeln!(out, "  job        {}", remap.job.as_deref().unwrap_or("none"))?;
    let (mapped, dropped) = (count(remap.mapped), count(remap.dropped));
    writeln!(out, "  series     {}: {mapped} mapped, {dropped} dropped", count(remap.series))?;
    writeln!(out, "  keysets    {}", count(remap.keysets.into()))?;
    writeln!(out, "{}", style.heading("outputs"))?;
    for output in &remap.outputs {
        let series = count(output.series);
        writeln!(out, "  {} of {series} series: {} mapped to it", output.block_id, count(output.mapped))?;
    }
    summary::parts(&remap.parts, remap.bytes, style, out)
}
