//! Expected size of a block whose plan was learned from a sample of its series: [`Forecast`].

use std::fmt;
use std::str::FromStr;

/// Key of the annotation with the [`Forecast`] of a block (LIFECYCLE.md, section 2).
pub const PLAN_KEY: &str = "chronoxide.plan";

/// Expected size of the tables and lists of a block, from a sample of its series. A compaction that plans afresh writes
/// it into the block as an annotation, so that it can be compared with the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Number of sampled series.
    pub sampled_series: u64,
    /// Expected bytes per series of tables, lists and their records, without strings and value dictionaries.
    pub bytes_per_series: f64,
}

/// Writes the value of the annotation.
impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sampled_series, bytes_per_series } = self;
        write!(f, "sampled_series={sampled_series} bytes_per_series={bytes_per_series:.3}")
    }
}

/// The text is not that of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a forecast of a plan")]
pub struct NotAForecast;

/// Reads the value of the annotation.
impl FromStr for Forecast {
    type Err = NotAForecast;

    fn from_str(text: &str) -> Result<Self, NotAForecast> {
        let read = || {
            let (sampled, bytes) = text.strip_prefix("sampled_series=")?.split_once(" bytes_per_series=")?;
            let bytes_per_series: f64 = bytes.parse().ok()?;
            (bytes_per_series.is_finite() && bytes_per_series >= 0.0)
                .then_some(Self { sampled_series: sampled.parse().ok()?, bytes_per_series })
        };
        read().ok_or(NotAForecast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_forecast_is_read_back_and_others_are_refused() {
        let forecast = Forecast { sampled_series: 784_235, bytes_per_series: 1.384 };
        assert_eq!(forecast.to_string(), "sampled_series=784235 bytes_per_series=1.384");
        assert_eq!(forecast.to_string().parse(), Ok(forecast));
        for text in [
            "",
            "sampled_series=1",
            "sampled_series=-1 bytes_per_series=1.000",
            "sampled_series=1 bytes_per_series=NaN",
            "sampled_series=1 bytes_per_series=-1.000",
            "sampled_series=1 bytes_per_series=inf",
            "bytes_per_series=1.000 sampled_series=1",
        ] {
            assert_eq!(text.parse::<Forecast>(), Err(NotAForecast), "{text}");
        }
    }
}
