//! Summary of a compaction, as text and JSON.

use std::io;
use std::path::{Path, PathBuf};

use chronoxide_compactor::engine::{PublishedOutput, Workplace};
use chronoxide_compactor::strategy::times;
use chronoxide_compactor::{HashedLabel, Phase, Summary};
use chronoxide_format::view::{Job, TimeRange};
use chronoxide_publish::Published;
use chronoxide_text::escape::{Escaped, TerminalSafe};
use chronoxide_text::human;

use crate::compact::arguments::Arguments;
use crate::compact::blocks;
use crate::{json_line, print, tell};

/// A published output.
#[derive(Debug)]
pub(crate) struct Written {
    /// Path or URL.
    pub(crate) name: String,
    bytes: u64,
    /// True if this run wrote it; false if it existed already.
    is_new: bool,
    /// The file, or its copy in the cache.
    pub(crate) file: Option<PathBuf>,
}

impl Written {
    /// Describes an output in a location.
    pub(crate) fn new(place: &Workplace<'_>, output: &PublishedOutput) -> Self {
        Self {
            name: place.location.name(&output.key),
            bytes: output.byte_len,
            is_new: !output.found,
            file: place.cache.fetch(place.location, &output.wanted()).ok(),
        }
    }

    /// Describes the only output, which is a file.
    pub(crate) fn file(Published { path, byte_len, .. }: Published) -> Self {
        Self { name: path.display().to_string(), bytes: byte_len, is_new: true, file: Some(path) }
    }
}

/// Metadata of an output.
#[derive(Debug)]
struct Stated {
    id: String,
    series: u64,
    time: Option<TimeRange>,
    window: Option<TimeRange>,
    job: Option<Job>,
}

impl Stated {
    fn read(path: &Path) -> Option<Self> {
        let block = blocks::map(path).ok()?;
        let view = block.view();
        let meta = view.meta().ok()?;
        Some(Self {
            id: view.block_id().to_string(),
            series: meta.series_count(),
            time: meta.time(),
            window: meta.window(),
            job: meta.job(),
        })
    }
}

/// Summary of a compaction.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) inputs: usize,
    pub(crate) bytes_in: u64,
    pub(crate) summary: Summary,
    pub(crate) outputs: Vec<Written>,
    pub(crate) deleted: Vec<String>,
}

impl Report {
    pub(crate) fn show(&self, arguments: &Arguments) -> io::Result<()> {
        if arguments.json {
            let report = self.json(arguments);
            return print(|out| json_line(out, &report));
        }
        if !arguments.quiet.is_set() {
            tell(|out| self.write(out));
        }
        Ok(())
    }

    fn bytes_out(&self) -> u64 {
        self.outputs.iter().map(|output| output.bytes).sum()
    }

    fn per(bytes: u64, series: u64) -> Option<f64> {
        (series > 0).then(|| bytes as f64 / series as f64)
    }

    fn json(&self, arguments: &Arguments) -> serde_json::Value {
        let Summary { series_in, duplicates, dropped, other_shards, series_out, .. } = self.summary;
        let outputs = self.outputs.iter().map(|output| {
            // Unknown if the output cannot be opened again.
            let stated = output.file.as_deref().and_then(Stated::read);
            let stated = stated.as_ref();
            serde_json::json!({
                "path": output.name,
                "bytes": output.bytes,
                "was_there": !output.is_new,
                "id": stated.map(|stated| &stated.id),
                "series": stated.map(|stated| stated.series),
                "time": stated.and_then(|stated| stated.time).map(times),
                "window": stated.and_then(|stated| stated.window).map(times),
                "output": stated.and_then(|stated| stated.job).map(|job| format!("{}/{}", u64::from(job.output) + 1, job.output_count)),
            })
        });
        let seconds: serde_json::Map<_, _> = (Phase::ALL.iter())
            .map(|&phase| (phase.name().to_owned(), self.summary.timings.duration(phase).as_secs_f64().into()))
            .collect();
        let hashed = self.summary.hashed.iter().map(|HashedLabel { name, values, hashes }| {
            serde_json::json!({ "label": name, "values": values, "hashes": hashes })
        });
        serde_json::json!({
            "inputs": self.inputs,
            "outputs": outputs.collect::<Vec<_>>(),
            "deleted": self.deleted,
            "series_in": series_in,
            "duplicates": duplicates,
            "dropped": dropped,
            "other_shards": other_shards,
            "series_out": series_out,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out(),
            "bytes_per_series_in": Self::per(self.bytes_in, series_in),
            "bytes_per_series_out": Self::per(self.bytes_out(), series_out),
            "seconds": seconds,
            "peak_memory_bytes": peak_memory(),
            "optional_sections_copied": self.summary.optional_sections_copied,
            "optional_sections_left_out": self.summary.optional_sections_left_out,
            "shard": arguments.shard.map(|shard| shard.to_string()),
            "shards": arguments.shards,
            "unmatched": self.summary.unmatched,
            "hashed": hashed.collect::<Vec<_>>(),
        })
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let Summary { series_in, duplicates, dropped, other_shards, series_out, .. } = self.summary;
        let inputs = human::count_of(self.inputs as u64, "block");
        match &self.outputs[..] {
            [output] => writeln!(out, "{}: {inputs} merged", TerminalSafe(&output.name))?,
            outputs => {
                writeln!(out, "{inputs} merged into {}", outputs.len())?;
                for output in outputs {
                    writeln!(out, "  {}: {}", TerminalSafe(&output.name), human::bytes(output.bytes))?;
                }
            }
        }
        writeln!(out, "  series in    {}", human::count(series_in))?;
        writeln!(out, "  duplicates   {}", human::count(duplicates))?;
        for (what, count) in [("dropped", dropped), ("other shards", other_shards)] {
            if count > 0 {
                writeln!(out, "  {what:<12} {}", human::count(count))?;
            }
        }
        writeln!(out, "  series out   {}", human::count(series_out))?;
        for (what, bytes, series) in
            [("bytes in", self.bytes_in, series_in), ("bytes out", self.bytes_out(), series_out)]
        {
            match Self::per(bytes, series).map(human::per) {
                Some(per) => writeln!(out, "  {what:<12} {}, {per} per series", human::bytes(bytes))?,
                None => writeln!(out, "  {what:<12} {}", human::bytes(bytes))?,
            }
        }
        let seconds = |phase: &Phase| format!("{phase} {:.2}", self.summary.timings.duration(*phase).as_secs_f64());
        writeln!(out, "  seconds      {}", Phase::ALL.iter().map(seconds).collect::<Vec<_>>().join(", "))?;
        if let Some(peak) = peak_memory() {
            writeln!(out, "  peak memory  {}", human::bytes(peak))?;
        }
        if !self.deleted.is_empty() {
            writeln!(out, "  deleted      {}", human::count_of(self.deleted.len() as u64, "input"))?;
        }
        for HashedLabel { name, values, hashes } in &self.summary.hashed {
            let [values, hashes] = [*values, *hashes].map(human::count);
            writeln!(out, "  hashed       {}: {values} values, {hashes} hashes", Escaped(name))?;
        }
        for unmatched in &self.summary.unmatched {
            writeln!(out, "  note         no match: {}", Escaped(unmatched))?;
        }
        write_unknown_sections(out, "copied", self.summary.optional_sections_copied)?;
        write_unknown_sections(out, "not copied", self.summary.optional_sections_left_out)
    }
}

/// Writes how many optional sections of unknown kind were copied or not, if there are any.
pub(super) fn write_unknown_sections(out: &mut dyn io::Write, what: &str, count: usize) -> io::Result<()> {
    match count {
        0 => Ok(()),
        _ => writeln!(out, "  {what:<12} {} of unknown kind", human::count_of(count as u64, "optional section")),
    }
}

/// Returns the peak resident memory of the process, including mapped inputs, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
