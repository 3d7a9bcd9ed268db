//! Random labelsets, random plans for them, and random metric metadata: the same for the same seed.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::{MAX_DEPTH, RowForm};
use chronoxide_format::metadata::{MetricMetadata, MetricType, OwnedMetricMetadata, Temporality};
use chronoxide_format::write::BlockMeta;

use crate::plan::{KeysetPlan, Labelset, Plan, Source, build, key};

/// Pseudorandom numbers from a seed (SplitMix64; Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    ///
    /// # Panics
    /// If `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next_u64() % end as u64) as usize
    }

    /// Any number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a text of 1 to 4 characters from a small alphabet, so that texts repeat, share prefixes, and have
    /// characters of several bytes.
    pub fn text(&mut self) -> String {
        let len = 1 + self.below(4);
        (0..len).map(|_| ['a', 'b', '_', '\u{0}', 'é', '世', '🦀', '\u{10ffff}'][self.below(8)]).collect()
    }

    /// Returns a labelset of 1 to `max_count` labels, sorted by name.
    pub fn labels(&mut self, max_count: usize) -> Vec<(String, String)> {
        let count = 1 + self.below(max_count);
        let labels: BTreeMap<_, _> = (0..count).map(|_| (self.text(), self.text())).collect();
        labels.into_iter().collect()
    }

    /// Returns true with this probability in percent.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Puts items in any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

const NAMES: [&str; 9] = ["__name__", "a", "a.b", "code", "le", "node", "pod", "zone", "größe"];

/// Some `count` series or fewer, of one to six keysets: with values that depend on one another, values that many series
/// share, some that only one has, and strings that are beginnings of others or need escapes.
pub fn random_series(count: usize, random: &mut Random) -> BTreeSet<Labelset> {
    let mut series = BTreeSet::new();
    let keysets = 1 + random.below(6);
    for _ in 0..keysets {
        let density = 20 + random.below(75);
        let mut names: Vec<&str> = NAMES.into_iter().filter(|_| random.percent(density)).collect();
        if names.is_empty() {
            names.push(NAMES[random.below(NAMES.len())]);
        }
        let spread: Vec<usize> = names.iter().map(|_| [1, 2, 3, 12, 300][random.below(5)]).collect();
        for _ in 0..random.below(count / keysets + 2) {
            let pod = random.below(12);
            let labels = names.iter().zip(&spread).map(|(&name, &spread)| {
                let value = match name {
                    "pod" => format!("pod-{pod}"),
                    "node" => format!("node-{}", pod / 3),
                    "zone" => format!("{}", pod / 6),
                    _ => value(random.below(spread)),
                };
                (name.to_owned(), value)
            });
            series.insert(labels.collect());
        }
    }
    series
}

fn value(number: usize) -> String {
    match number % 12 {
        0 => "x".repeat(number % 40 + 1),
        1 => format!("é\u{10ffff}{number}"),
        2 => format!("\"\\\n{number}"),
        3 => NAMES[number % NAMES.len()].to_owned(),
        _ => number.to_string(),
    }
}

/// Some `count` rows of metric metadata or fewer: several of a name, some of them given twice, with texts that are
/// absent, shared or beginnings of others, in any order.
pub fn random_metrics(count: usize, random: &mut Random) -> Vec<OwnedMetricMetadata> {
    let names = 1 + random.below(count + 1);
    let text = |random: &mut Random| {
        let number = random.below(40);
        if number < 10 { String::new() } else { value(number) }
    };
    let mut rows: Vec<OwnedMetricMetadata> = Vec::new();
    for _ in 0..random.below(count + 1) {
        if !rows.is_empty() && random.percent(10) {
            rows.push(rows[random.below(rows.len())].clone());
            continue;
        }
        let (name, unit, description) = (value(random.below(names)), text(random), text(random));
        let metadata = MetricMetadata {
            name: &name,
            metric_type: MetricType::ALL[random.below(MetricType::ALL.len())],
            temporality: Temporality::ALL[random.below(Temporality::ALL.len())],
            monotonicity: random.percent(50).into(),
            unit: &unit,
            description: &description,
        };
        rows.push(metadata.into());
    }
    rows
}

/// A table of a plan, as far as further tables need to know it.
struct Inner {
    keys: BTreeSet<String>,
    depth: u32,
}

/// A column on its way into a keyset's plan.
struct Column {
    source: Source,
    keys: BTreeSet<String>,
    depth: u32,
}

/// A plan for some of the keysets of `series`: with maps, shared tables, some of them used by several keysets, tables
/// of tables as deep as they may be, and lists over dictionaries and tables. The other keysets stay plain.
pub fn random_plan(series: &BTreeSet<Labelset>, random: &mut Random) -> Plan {
    let keysets: BTreeSet<Vec<String>> = series.iter().map(|labels| labels.keys().cloned().collect()).collect();
    let mut plan = Plan::default();
    let mut inner: Vec<Inner> = Vec::new();
    for names in keysets {
        if random.percent(25) {
            continue;
        }
        let mut columns = columns(&names, &mut plan.tables, &mut inner, random);
        while columns.len() > 1 && random.percent(75) {
            join_columns(&mut columns, &mut plan.tables, &mut inner, random);
        }
        let list = (columns.len() > 1 && random.percent(50)).then(|| columns.swap_remove(random.below(columns.len())));
        let keyset = KeysetPlan {
            columns: columns.into_iter().map(|column| column.source).collect(),
            list: list.map(|column| column.source),
        };
        plan.keysets.insert(names, keyset);
    }
    plan
}

/// Tables that are there already for some of the keys; for the others themselves, or maps of them.
fn columns(
    names: &[String],
    tables: &mut Vec<Vec<Source>>,
    inner: &mut Vec<Inner>,
    random: &mut Random,
) -> Vec<Column> {
    let mut left: BTreeSet<String> = names.iter().cloned().collect();
    let mut columns = Vec::new();
    let mut candidates: Vec<usize> = (0..tables.len()).collect();
    random.shuffle(&mut candidates);
    for table in candidates {
        // The keyset's own table adds one to the depth.
        let fits = inner[table].keys.is_subset(&left) && inner[table].depth < MAX_DEPTH;
        if !fits || random.percent(30) {
            continue;
        }
        let (keys, mut depth) = (inner[table].keys.clone(), inner[table].depth);
        left = left.difference(&keys).cloned().collect();
        let mut source = Source::Table(table);
        if depth + 1 < MAX_DEPTH && random.percent(40) {
            depth += 1;
            source = push(vec![source], Inner { keys: keys.clone(), depth }, tables, inner);
        }
        columns.push(Column { source, keys, depth });
    }
    for name in left {
        let (mut source, keys, mut depth) = (key(&name), BTreeSet::from([name]), 0);
        if random.percent(25) {
            depth = 1;
            source = push(vec![source], Inner { keys: keys.clone(), depth }, tables, inner);
        }
        columns.push(Column { source, keys, depth });
    }
    columns
}

/// Puts two or three of the columns into a table of their own, if that is not too deep.
fn join_columns(columns: &mut Vec<Column>, tables: &mut Vec<Vec<Source>>, inner: &mut Vec<Inner>, random: &mut Random) {
    random.shuffle(columns);
    let rest = columns.len().saturating_sub(2 + random.below(2));
    let depth = 1 + columns[rest..].iter().map(|column| column.depth).max().unwrap_or(0);
    // The keyset's own table is above it.
    if depth + 1 > MAX_DEPTH {
        return;
    }
    let joined = columns.split_off(rest);
    let keys: BTreeSet<String> = joined.iter().flat_map(|column| column.keys.iter().cloned()).collect();
    let sources = joined.into_iter().map(|column| column.source).collect();
    let source = push(sources, Inner { keys: keys.clone(), depth }, tables, inner);
    columns.push(Column { source, keys, depth });
}

fn push(sources: Vec<Source>, description: Inner, tables: &mut Vec<Vec<Source>>, inner: &mut Vec<Inner>) -> Source {
    tables.push(sources);
    inner.push(description);
    Source::Table(tables.len() - 1)
}

/// The labelsets by their names: keysets and series in the order in which a plain block has them.
#[must_use]
pub fn by_keyset(series: &BTreeSet<Labelset>) -> BTreeMap<Vec<&String>, BTreeSet<Vec<&String>>> {
    let mut keysets: BTreeMap<Vec<&String>, BTreeSet<Vec<&String>>> = BTreeMap::new();
    for labels in series {
        keysets.entry(labels.keys().collect()).or_default().insert(labels.values().collect());
    }
    keysets
}

/// Returns random series after a random plan, and their block in one of the row forms. Equal seeds give equal blocks.
#[must_use]
pub fn random_block(seed: u64) -> (BTreeSet<Labelset>, Vec<u8>) {
    let mut random = Random::new(seed);
    let series = random_series(200, &mut random);
    let plan = random_plan(&series, &mut random);
    let form = if seed.is_multiple_of(3) { RowForm::FixedWidth } else { RowForm::BitPacked };
    let bytes = build(&series, &plan, form, &BlockMeta::default()).expect("the plan is valid");
    (series, bytes)
}
