//! Arguments of the command.

use std::ops::Range;
use std::path::PathBuf;

use chronoxide_workload::{Format, Options, Set};
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Generates a workload of OTLP metrics
///
/// The same options give the same bytes, on every machine. Data goes to standard output or to a file, messages to
/// standard error.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-workload", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Series in each window
    #[arg(long, value_name = "N", value_parser = count, default_value = "10000")]
    pub(crate) series: u64,

    /// Another seed gives another fleet of the same kind
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Kind of the series
    #[arg(long, value_name = "SET", default_value = "otlp", value_parser = set())]
    pub(crate) set: Set,

    /// The windows to generate: one, or those from A up to B without B
    #[arg(long, value_name = "A..B", value_parser = windows, default_value = "0")]
    pub(crate) windows: Range<u32>,

    /// Length of a window, such as 90s, 15m, 2h or 1d
    #[arg(long, value_name = "LENGTH", value_parser = length, default_value = "1h")]
    pub(crate) window_length: u32,

    /// Share of pods that are replaced from one window to the next
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub(crate) churn: f64,

    /// Scrapes per window
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) scrapes: u32,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "otlp-json", value_parser = format())]
    pub(crate) format: Format,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Print measures of the workload instead of the workload
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub(crate) describe: bool,
}

const AFTER_HELP: &str = "\
Formats: otlp-proto, each request after its length (4 bytes, big-endian); otlp-json, one request per line; series-json, \
one object per line that maps labels to values, each series once per window.

Examples:
  chronoxide-workload --series 1000000 --describe
  chronoxide-workload --series 100k --format otlp-proto -o metrics.binpb
  chronoxide-workload --windows 0..24 --churn 0.1 | zstd > day.jsonl.zst
  chronoxide-workload --set wide --series 1k --format series-json | head -n 1";

impl Arguments {
    pub(crate) fn options(&self) -> Options {
        Options {
            series: self.series,
            seed: self.seed,
            set: self.set,
            windows: self.windows.clone(),
            window_seconds: self.window_length,
            scrapes: self.scrapes,
            churn: self.churn,
        }
    }
}

fn set() -> impl TypedValueParser<Value = Set> {
    PossibleValuesParser::new(Set::ALL.map(Set::name))
        .try_map(|name| Set::ALL.into_iter().find(|set| set.name() == name).ok_or("there is no such set"))
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::ALL.into_iter().find(|format| format.name() == name).ok_or("there is no such format"))
}

/// Reads a number that may have a unit behind it.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let by_unit = units.iter().find_map(|(unit, factor)| text.strip_suffix(unit).map(|number| (number, *factor)));
    let (number, factor) = by_unit.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn count(text: &str) -> Result<u64, String> {
    with_unit(&text.replace([',', '_'], ""), &[("k", 1000), ("M", 1_000_000)])
        .ok_or_else(|| "a number is expected, such as 50000, 100k or 10M".to_owned())
}

fn length(text: &str) -> Result<u32, String> {
    let seconds = with_unit(text, &[("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]);
    match seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => Ok(seconds),
        _ => Err("a time is expected, such as 90s, 15m, 2h or 1d".to_owned()),
    }
}

fn windows(text: &str) -> Result<Range<u32>, String> {
    let range = match text.split_once("..") {
        None => text.parse::<u32>().ok().and_then(|window| Some(window..window.checked_add(1)?)),
        Some((first, end)) => first.parse().ok().zip(end.parse().ok()).map(|(first, end)| first..end),
    };
    match range {
        Some(range) if !range.is_empty() => Ok(range),
        _ => Err("a window is expected, such as 3, or some of them, such as 0..24".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let arguments = Arguments::try_parse_from(["chronoxide-workload"]).unwrap();
        assert_eq!(arguments.options(), Options::default());
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(count("100k"), Ok(100_000));
        assert_eq!(count("1,000_000"), Ok(1_000_000));
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(length("90"), Ok(90));
        assert_eq!(length("2h"), Ok(7200));
        assert_eq!(windows("3"), Ok(3..4));
        assert_eq!(windows("0..24"), Ok(0..24));
        for text in ["", "k", "-1", "1.5M", "99999999999999999999", "99999999999999999M"] {
            assert!(count(text).is_err(), "{text:?}");
        }
        for text in ["", "0", "0h", "1w", "50000d"] {
            assert!(length(text).is_err(), "{text:?}");
        }
        for text in ["", "..", "3..3", "4..3", "0..", "4294967295", "-1..2"] {
            assert!(windows(text).is_err(), "{text:?}");
        }
    }
}
