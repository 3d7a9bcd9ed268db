//! The workload: requests, one after another.

use std::ops::Range;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;

use crate::adversary::{batch, batch_len};
use crate::fleet::plan::Fleet;
use crate::labelset::{Labelset, visit_labelsets};
use crate::options::{Options, OptionsError, Set};
use crate::random::Random;
use crate::telemetry::{Moment, scrape};

/// A workload: a stream of requests, which is worked out as it is read.
///
/// What it keeps grows with services, by some 200 bytes each, and not with series.
#[derive(Clone, Debug)]
pub struct Workload {
    options: Options,
    /// There is none for sets of adversaries.
    fleet: Option<Fleet>,
}

impl Workload {
    /// The workload for these options. It takes microseconds for each service.
    ///
    /// # Errors
    ///
    /// An option makes no sense.
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        options.check()?;
        let fleet = (options.set == Set::Otlp).then(|| Fleet::new(&options));
        Ok(Self { options, fleet })
    }

    /// The options that it was made of.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// All requests, window after window, scrape after scrape. In each scrape each series has one point.
    ///
    /// A request has the points of one pod, or some hundred points of an adversary.
    #[must_use]
    pub fn requests(&self) -> Requests<'_> {
        Requests::new(self, self.options.windows.clone(), self.options.scrapes)
    }

    /// The requests of the first scrape of each window: each series of a window once.
    #[must_use]
    pub fn first_scrapes(&self) -> Requests<'_> {
        Requests::new(self, self.options.windows.clone(), 1)
    }

    /// The labelsets of all windows, each series once a window, in the order of requests.
    ///
    /// They are owned: [`visit_labelsets`] borrows them from a request.
    pub fn labelsets(&self) -> impl Iterator<Item = Labelset> + '_ {
        self.first_scrapes().flat_map(|request| {
            let mut labelsets = Vec::new();
            visit_labelsets(&request, |labels| {
                labelsets.push(labels.iter().map(|(name, value)| ((*name).to_owned(), (**value).to_owned())).collect());
            });
            labelsets
        })
    }

    /// When a source reports: always at the same time within its interval.
    fn moment(&self, window: u32, scrape: u32, source: u64, start: Option<u64>) -> Moment {
        let Range { start: window_start, end } = self.options.window_nanos(window);
        let interval = (end - window_start) / u64::from(self.options.scrapes);
        // Whole milliseconds, and never at the very beginning: a source was started before it reports.
        let millis = (interval / 1_000_000).max(2);
        let offset = (1 + Random::at(&[self.options.seed, 0x70, source]).below(millis - 1)) * 1_000_000;
        let time = window_start + u64::from(scrape) * interval + offset.min(interval - 1);
        let start = start.unwrap_or_else(|| self.options.window_nanos(0).start);
        Moment { start, previous: time.saturating_sub(interval).max(start), time }
    }

    /// Returns the metrics of the next source with at most `most` points, and the number of points.
    fn source(&self, window: u32, scrape_number: u32, source: u64, most: u64) -> Option<(ResourceMetrics, u64)> {
        let Some(fleet) = &self.fleet else {
            let len = batch_len(self.options.set);
            let slots = source * len..source * len + len.min(most);
            let moment = self.moment(window, scrape_number, source, None);
            let count = slots.end - slots.start;
            return Some((batch(&self.options, slots, window, moment), count));
        };
        let pod = fleet.pod(source, window, &self.options)?;
        let moment = self.moment(window, scrape_number, source, Some(pod.start_nanos));
        Some(scrape(&pod, moment, most))
    }
}

/// The requests of a workload, in the order of time.
#[derive(Clone, Debug)]
pub struct Requests<'w> {
    workload: &'w Workload,
    windows: Range<u32>,
    scrapes: u32,
    scrape: u32,
    /// The next source of the scrape, and how many of its series are still to come.
    source: u64,
    missing: u64,
}

impl<'w> Requests<'w> {
    fn new(workload: &'w Workload, windows: Range<u32>, scrapes: u32) -> Self {
        Self { workload, windows, scrapes, scrape: 0, source: 0, missing: workload.options.series }
    }

    /// The window of the request that came last; before it the first window, after all of them their end.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.windows.start
    }

    fn next_scrape(&mut self) {
        self.scrape += 1;
        if self.scrape == self.scrapes {
            self.scrape = 0;
            self.windows.start += 1;
        }
        self.source = 0;
        self.missing = self.workload.options.series;
    }
}

impl Iterator for Requests<'_> {
    type Item = ExportMetricsServiceRequest;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.windows.is_empty() && self.workload.options.series > 0 {
            if self.missing == 0 {
                self.next_scrape();
                continue;
            }
            let Some((metrics, count)) =
                self.workload.source(self.windows.start, self.scrape, self.source, self.missing)
            else {
                self.next_scrape();
                continue;
            };
            self.source += 1;
            self.missing = self.missing.saturating_sub(count);
            if count > 0 {
                return Some(ExportMetricsServiceRequest { resource_metrics: vec![metrics] });
            }
        }
        None
    }
}
