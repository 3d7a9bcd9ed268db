//! Plans that are learned from a sample of the rows: [`MergedLabels::learn`].

use chronoxide_format::Forecast;
use chronoxide_planner::{KeysetPlan, KeysetRows, Plan, bytes, factor, plan};

use crate::CompactError;
use crate::merge::{
    Adopted, AllLabelRows, Choice, Filter, MergedLabels, RowSample, SampledContent, Vocabulary, choosing_keys,
};
use crate::progress::{Phase, Watch};

/// Source of the plan of the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planning {
    /// Rows are plain.
    Plain,
    /// Plan of the largest input.
    Adopted,
    /// Learned from all rows of an output, which are held in memory.
    Whole,
    /// Learned from some rows of the inputs.
    Sampled,
}

/// Returns the maximum number of sampled series. A sample that is a quarter of what could be held is as good.
pub(crate) fn sampled_series(planned_series: u32) -> u32 {
    (planned_series / 4).max(1)
}

/// Maximum relative change of bytes per added series from one doubling to the next. Small samples show larger ones.
const MAX_CHANGE: f64 = 0.1;

impl MergedLabels<'_> {
    /// Finds the keysets of the outputs, and chooses their plan. A learned plan comes with the forecast of its size.
    pub(super) fn plan(
        self,
        planning: Planning,
        labels: &AllLabelRows<'_>,
        filter: &Filter,
        planned_series: u32,
        watch: &Watch<'_>,
    ) -> Result<(Adopted, Option<Forecast>), CompactError> {
        match planning {
            Planning::Plain | Planning::Whole => Ok((self.adopt(Choice::Plain)?, None)),
            Planning::Adopted => Ok((self.adopt(Choice::OfInputs)?, None)),
            Planning::Sampled => {
                let plain = self.adopt(Choice::Plain)?;
                let (adopted, forecast) = self.learn(&plain, labels, filter, planned_series, watch)?;
                Ok((adopted, Some(forecast)))
            }
        }
    }

    /// Learns a plan from a sample of the rows, or takes that of the inputs, unless the outputs will probably be
    /// smaller with the learned one: by this sample, and by one that another key chose. `plain` has the plain plan.
    fn learn(
        self,
        plain: &Adopted,
        labels: &AllLabelRows<'_>,
        filter: &Filter,
        planned_series: u32,
        watch: &Watch<'_>,
    ) -> Result<(Adopted, Forecast), CompactError> {
        let most = sampled_series(planned_series) as usize;
        let choosing = choosing_keys(&plain.keysets, self.vocabulary);
        let context = self.context(plain, labels);
        let sample = |choosing: &[u32]| RowSample::new(context, plain, filter, most, choosing, watch);
        let first = sample(&choosing)?;
        watch.progress(Phase::Tables, 2, 4)?;
        let learned = {
            let SampledContent { content, keysets } = first.content(self.vocabulary);
            let (learned, _) = plan(&content);
            let mut all = plain.plan.keysets.clone();
            keysets.into_iter().zip(learned.keysets).for_each(|(number, choice)| all[number] = choice);
            self.adopt(Choice::Learned(&Plan { tables: learned.tables, keysets: all }))?
        };
        watch.progress(Phase::Tables, 2, 4)?;
        let of_inputs = self.adopt(Choice::OfInputs)?;
        let forecasts = |sample: &RowSample| {
            let judge = Judge::new(sample, self.vocabulary);
            [&learned, &of_inputs].map(|adopted| judge.forecast(&adopted.plan))
        };
        let [of_learned, of_adopted] = forecasts(&first);
        drop(first);
        // Series that keep their plan need not be translated.
        let mut is_better = of_learned.bytes_per_series < of_adopted.bytes_per_series;
        if is_better && choosing.len() > 1 {
            // Values of one key can show repetitions that all series together do not have.
            let [of_learned, of_adopted] = forecasts(&sample(&choosing[1..])?);
            is_better = of_learned.bytes_per_series < of_adopted.bytes_per_series;
        }
        Ok(if is_better { (learned, of_learned) } else { (of_inputs, of_adopted) })
    }
}

/// Judges plans by their exact size for the sample, for half of it and for a quarter of it.
struct Judge {
    /// Number of times that the sample doubles until it has all series.
    doublings: u32,
    /// The sample and its parts, the largest first.
    contents: [SampledContent; 3],
}

impl Judge {
    fn new(sample: &RowSample, vocabulary: &Vocabulary<'_>) -> Self {
        let contents = [0, 1, 2].map(|halvings| sample.content_of_level(vocabulary, sample.level + halvings));
        Self { doublings: sample.level, contents }
    }

    /// Extrapolates the size of a plan. Bytes per added series change with the next doubling half as much as with the
    /// last one, and so on.
    fn forecast(&self, plan: &Plan) -> Forecast {
        let [whole, half, quarter] =
            self.contents.each_ref().map(|content| (content.series() as f64, content.bytes(plan) as f64));
        let added = |(series, bytes): (f64, f64), (less, fewer): (f64, f64)| (bytes - fewer) / (series - less).max(1.0);
        let (mut per_added, before) = (added(whole, half), added(half, quarter));
        let change = if before > 0.0 { per_added / before } else { 1.0 };
        let mut change = change.clamp(1.0 - MAX_CHANGE, 1.0 + MAX_CHANGE);
        let (mut series, mut bytes) = whole;
        for _ in 0..self.doublings {
            change = change.sqrt();
            per_added *= change;
            bytes += per_added * series;
            series *= 2.0;
        }
        Forecast { sampled_series: whole.0 as u64, bytes_per_series: bytes / series.max(1.0) }
    }
}

impl SampledContent {
    fn series(&self) -> usize {
        self.content.keysets.iter().map(KeysetRows::len).sum()
    }

    /// Returns the size of this content under a plan for all keysets.
    fn bytes(&self, plan: &Plan) -> u64 {
        let keysets: Vec<KeysetPlan> = self.keysets.iter().map(|&number| plan.keysets[number].clone()).collect();
        let plan = Plan { tables: plan.tables.clone(), keysets }.without_unused_tables();
        bytes(&self.content, &factor(&self.content, &plan))
    }
}
