//! Options of a workload.

use std::ops::Range;

use thiserror::Error;

/// Which workload to generate. The same options give the same bytes, on every machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Series in each window.
    pub series: u64,
    /// Another seed gives another fleet of the same kind.
    pub seed: u64,
    /// Kind of the series.
    pub set: Set,
    /// The windows to generate, counted from [`START_SECONDS`].
    pub windows: Range<u32>,
    /// How long a window is, in seconds.
    pub window_seconds: u32,
    /// How often each series is scraped in a window.
    pub scrapes: u32,
    /// The share of pods that are replaced from one window to the next, from 0 to 1.
    pub churn: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { series: 10_000, seed: 1, set: Set::Otlp, windows: 0..1, window_seconds: 3600, scrapes: 1, churn: 0.05 }
    }
}

/// When window 0 begins: 2025-01-01T00:00:00Z, in seconds since 1970.
pub const START_SECONDS: u64 = 1_735_689_600;

/// The most windows from the start, times their length: some 200 years fit into nanoseconds.
const MAX_SECONDS: u64 = 6_000_000_000;

/// Kind of the series of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Services in clusters, as OpenTelemetry describes them.
    Otlp,
    /// A label whose value no other series has.
    UniqueLabel,
    /// Ten thousand keysets with a few series each.
    TinyKeysets,
    /// 500 labels per series.
    Wide,
    /// The value of each label is drawn by itself: knowing some says nothing about the others.
    Independent,
}

impl Set {
    /// All sets.
    pub const ALL: [Self; 5] = [Self::Otlp, Self::UniqueLabel, Self::TinyKeysets, Self::Wide, Self::Independent];

    /// The name of the set, as the command knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Otlp => "otlp",
            Self::UniqueLabel => "unique-label",
            Self::TinyKeysets => "tiny-keysets",
            Self::Wide => "wide",
            Self::Independent => "independent",
        }
    }
}

/// Why there is no workload for the options.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A share is between 0 and 1.
    #[error("the churn is {0}, and must be from 0 to 1")]
    Churn(f64),
    /// A window has a length.
    #[error("the window length is 0 seconds")]
    WindowLength,
    /// Each series has a point in each window.
    #[error("the number of scrapes is 0")]
    Scrapes,
    /// Scrapes of a window are at different times.
    #[error("{scrapes} scrapes do not fit into a window of {seconds} seconds: at most one a millisecond")]
    TooManyScrapes {
        /// Requested value.
        scrapes: u32,
        /// Requested value.
        seconds: u32,
    },
    /// Times end within nanoseconds of 64 bits.
    #[error("window {last} of {seconds} seconds each is too late")]
    TooLate {
        /// The end of the windows asked for.
        last: u32,
        /// Requested value.
        seconds: u32,
    },
    /// More than anyone will wait for.
    #[error("{0} series are more than 1,000,000,000")]
    TooManySeries(u64),
}

impl Options {
    /// Checks the options.
    ///
    /// # Errors
    ///
    /// The first invalid option.
    pub fn check(&self) -> Result<(), OptionsError> {
        let (scrapes, seconds, last) = (self.scrapes, self.window_seconds, self.windows.end);
        if !(0.0..=1.0).contains(&self.churn) {
            return Err(OptionsError::Churn(self.churn));
        }
        if seconds == 0 {
            return Err(OptionsError::WindowLength);
        }
        if scrapes == 0 {
            return Err(OptionsError::Scrapes);
        }
        if u64::from(scrapes) > u64::from(seconds) * 1000 {
            return Err(OptionsError::TooManyScrapes { scrapes, seconds });
        }
        if u64::from(last) * u64::from(seconds) > MAX_SECONDS {
            return Err(OptionsError::TooLate { last, seconds });
        }
        if self.series > 1_000_000_000 {
            return Err(OptionsError::TooManySeries(self.series));
        }
        Ok(())
    }

    /// The time of a window: its first nanosecond, and the first one after it.
    #[must_use]
    pub fn window_nanos(&self, window: u32) -> Range<u64> {
        let length = u64::from(self.window_seconds);
        let start = u64::from(window).saturating_mul(length).saturating_add(START_SECONDS);
        start.saturating_mul(NANOS)..start.saturating_add(length).saturating_mul(NANOS)
    }
}

const NANOS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_sense_are_refused() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check()
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|options| options.churn = 1.5), Err(OptionsError::Churn(1.5)));
        assert!(with(|options| options.churn = f64::NAN).is_err());
        assert_eq!(with(|options| options.window_seconds = 0), Err(OptionsError::WindowLength));
        assert_eq!(with(|options| options.scrapes = 0), Err(OptionsError::Scrapes));
        let crowded = OptionsError::TooManyScrapes { scrapes: 3_600_001, seconds: 3600 };
        assert_eq!(with(|options| options.scrapes = 3_600_001), Err(crowded));
        let late = OptionsError::TooLate { last: u32::MAX, seconds: 3600 };
        assert_eq!(with(|options| options.windows = 0..u32::MAX), Err(late));
        assert_eq!(with(|options| options.series = u64::MAX), Err(OptionsError::TooManySeries(u64::MAX)));
    }

    #[test]
    fn windows_follow_each_other_from_the_first_day_of_2025() {
        let options = Options { window_seconds: 60, ..Options::default() };
        let start = jiff::Timestamp::from_second(START_SECONDS as i64).unwrap();
        assert_eq!(start.to_string(), "2025-01-01T00:00:00Z");
        assert_eq!(options.window_nanos(0), START_SECONDS * NANOS..(START_SECONDS + 60) * NANOS);
        assert_eq!(options.window_nanos(0).end, options.window_nanos(1).start);
    }
}
