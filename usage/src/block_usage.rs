//! [`BlockUsage`]: metrics and labels of a block that queries use.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::KeyId;
use chronoxide_select::{Matcher, Operator, Searcher, SelectError};
use rayon::prelude::*;

use crate::need::{LabelNeeds, Use, Uses};
use crate::promql::METRIC;
use crate::query::{Kind, Queries};

/// Metrics and labels of a block that queries use. Queries are numbers of [`Queries::queries`].
#[derive(Clone, Debug, Default)]
pub struct BlockUsage {
    /// Use of metrics, by the code of the name; `None` stands for series without a name.
    metrics: BTreeMap<Option<u32>, MetricUsage>,
    labels: BTreeMap<u32, LabelUsage>,
    /// Labels that are needed of any series.
    of_all: BTreeSet<u32>,
    without_series: BTreeMap<String, BTreeSet<usize>>,
}

/// Use of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricUsage {
    /// Queries that name it, or select some of its series.
    pub queries: BTreeSet<usize>,
    /// Labels that these queries need of it, or of others that they select together with it.
    needed: BTreeSet<u32>,
}

/// Use of a label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelUsage {
    /// How queries use it.
    pub uses: Uses,
    /// Queries that use it.
    pub queries: BTreeSet<usize>,
}

/// Series of a selector, and the queries that have it.
struct Selected<'q> {
    matchers: &'q [Matcher],
    needs: Vec<(usize, &'q LabelNeeds)>,
}

/// Part of a block that a selector may select.
struct Found {
    /// True if it selects a series of the block.
    has_series: bool,
    metrics: Vec<Option<u32>>,
    /// Name and number of each label.
    keys: Vec<(String, u32)>,
}

impl BlockUsage {
    /// Runs the selectors of queries on a block. Costs a count by labels per distinct selector, on all threads.
    ///
    /// # Errors
    /// The block is damaged in a byte that was read.
    pub fn new(searcher: &Searcher<'_, '_>, queries: &Queries) -> Result<Self, SelectError> {
        let mut selected: BTreeMap<String, Selected<'_>> = BTreeMap::new();
        for (number, query) in queries.queries.iter().enumerate() {
            for need in &query.needs {
                let new = || Selected { matchers: need.selector.matchers(), needs: Vec::new() };
                selected.entry(need.selector.to_string()).or_insert_with(new).needs.push((number, &need.labels));
            }
        }
        let metric_key = searcher.view().key(METRIC)?;
        let found = (selected.par_iter())
            .map(|(_, selected)| find(searcher, selected.matchers, metric_key))
            .collect::<Result<Vec<_>, _>>()?;
        let mut usage = Self::default();
        for ((selector, selected), found) in selected.into_iter().zip(&found) {
            usage.add(selector, &selected, found, queries);
        }
        let of_used: BTreeSet<u32> = (found.iter().filter(|found| !found.metrics.is_empty()))
            .flat_map(|found| found.keys.iter().map(|(_, key)| *key))
            .collect();
        for (number, query) in queries.queries.iter().enumerate() {
            let mut keys = Vec::new();
            if query.needs_all_labels {
                keys.extend((0..searcher.view().key_count()).map(KeyId).filter(|key| Some(*key) != metric_key));
            }
            let is_variable = query.kind == Kind::Dashboard && !query.needs_all_labels;
            for name in &query.labels {
                let Some(key) = searcher.view().key(name)? else { continue };
                // Without a series that has it, a variable would have no values.
                if is_variable
                    && !of_used.contains(&key.0)
                    && let Ok(any) = Matcher::new(name, Operator::NotEqual, "")
                {
                    for metric in find(searcher, &[any], metric_key)?.metrics {
                        usage.metrics.entry(metric).or_default().queries.insert(number);
                    }
                }
                keys.push(key);
            }
            for key in keys {
                usage.of_all.insert(key.0);
                usage.labels.entry(key.0).or_default().add(number, &Uses::from([Use::Returned]));
            }
        }
        Ok(usage)
    }

    fn add(&mut self, selector: String, selected: &Selected<'_>, found: &Found, all: &Queries) {
        let queries = selected.needs.iter().map(|&(query, _)| query);
        if !found.has_series {
            // Most words of a query that is not PromQL are not metrics.
            let is_parsed = |query: &usize| all.queries.get(*query).is_some_and(|query| query.is_parsed);
            let parsed: BTreeSet<usize> = queries.clone().filter(is_parsed).collect();
            if !parsed.is_empty() {
                self.without_series.insert(selector, parsed);
            }
        }
        let mut used = BTreeSet::new();
        for (name, key) in found.keys.iter().filter(|(name, _)| name != METRIC) {
            for (query, needs) in &selected.needs {
                let uses = needs.uses(name);
                if !uses.is_empty() {
                    used.insert(*key);
                    self.labels.entry(*key).or_default().add(*query, &uses);
                }
            }
        }
        for metric in &found.metrics {
            let metric = self.metrics.entry(*metric).or_default();
            metric.queries.extend(queries.clone());
            metric.needed.extend(&used);
        }
    }

    /// Returns the use of a metric by the code of its name, `None` for series without a name; nothing if no query
    /// selects any of its series.
    #[must_use]
    pub fn metric(&self, code: Option<u32>) -> Option<&MetricUsage> {
        self.metrics.get(&code)
    }

    /// Returns the use of a label; nothing if no query needs it.
    #[must_use]
    pub fn label(&self, key: KeyId) -> Option<&LabelUsage> {
        self.labels.get(&key.0)
    }

    /// Returns true if a query needs a label of a metric.
    #[must_use]
    pub fn is_needed(&self, metric: Option<u32>, key: KeyId) -> bool {
        self.metrics.get(&metric).is_some_and(|metric| metric.needed.contains(&key.0)) || self.of_all.contains(&key.0)
    }

    /// Returns the selectors that select no series of the block, with their queries. Those of words in text that is not
    /// PromQL are left out.
    #[must_use]
    pub fn without_series(&self) -> &BTreeMap<String, BTreeSet<usize>> {
        &self.without_series
    }

    /// Returns the names of the used metrics; an empty name stands for series without one.
    ///
    /// # Errors
    /// The block is damaged in a byte that was read.
    pub fn metric_names(&self, searcher: &Searcher<'_, '_>) -> Result<BTreeSet<String>, SelectError> {
        let (view, key) = (searcher.view(), searcher.view().key(METRIC)?);
        let text = view.text()?;
        let name = |code: &Option<u32>| match (code, key) {
            (Some(code), Some(key)) => Ok(text.symbol(view.dictionary_value(key, *code)?)?.to_owned()),
            _ => Ok(String::new()),
        };
        self.metrics.keys().map(name).collect()
    }
}

impl LabelUsage {
    fn add(&mut self, query: usize, uses: &Uses) {
        self.queries.insert(query);
        self.uses.extend(uses);
    }
}

/// Finds what a selector selects of a block, or may select of another one of the same sources: a query for errors needs
/// the metric of all requests, also while there are no errors. So a selector with a name stands for all series of that
/// name. Others stand for the series that have the wanted labels: `{job=""}` would select more if these lacked a label.
fn find(searcher: &Searcher<'_, '_>, matchers: &[Matcher], metric: Option<KeyId>) -> Result<Found, SelectError> {
    let mut wide: Vec<Matcher> = matchers.iter().filter(|matcher| !matcher.matches("")).cloned().collect();
    let is_name = |matcher: &Matcher| {
        matcher.name() == METRIC && matches!(matcher.operator(), Operator::Equal | Operator::Matches)
    };
    if wide.iter().any(is_name) {
        wide.retain(|matcher| matcher.name() == METRIC);
    }
    let tally = searcher.tally(&wide)?;
    let mut metrics: Vec<Option<u32>> = Vec::new();
    let mut named = 0;
    if let Some(key) = metric {
        for (code, series) in tally.values(key) {
            named += series;
            metrics.push(Some(code));
        }
    }
    if named < tally.series_count() {
        metrics.push(None);
    }
    let mut keys = Vec::new();
    for key in tally.keys() {
        keys.push((String::from_utf8_lossy(searcher.view().key_name(key)?).into_owned(), key.0));
    }
    Ok(Found { has_series: searcher.count(matchers)? > 0, metrics, keys })
}
