//! Encodings of the rows of a keyset, and their sizes.

use std::collections::{BTreeMap, HashMap};

use super::keyset_targets::{GONE, KeysetTargets};
use super::layout::REMAP_SLICE_ROWS;
use crate::bits::width;
use crate::number::{index, length, low32};

/// Targets of the members of a row, relative to the first target of the row in each part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    pub length: u64,
    pub runs: Vec<PatternRun>,
}

/// Members that stay together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PatternRun {
    pub start: u64,
    /// 1 + the part, or 0 for members that are gone.
    pub part: u64,
    pub place: u64,
}

/// Distinct patterns, in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    numbers: HashMap<Pattern, u32>,
    pub all: Vec<Pattern>,
}

impl Patterns {
    pub(super) fn intern(&mut self, pattern: &Pattern) -> u32 {
        if let Some(&number) = self.numbers.get(pattern) {
            return number;
        }
        let number = low32(length(self.all.len()));
        self.numbers.insert(pattern.clone(), number);
        self.all.push(pattern.clone());
        number
    }

    pub(super) fn has(&self, pattern: &Pattern) -> bool {
        self.numbers.contains_key(pattern)
    }
}

/// First target of each row in one part, stored as the difference from the position that it would have if no series
/// were added or dropped.
#[derive(Debug)]
pub(super) struct PartEncoding {
    /// For each row, its first target among the series of all outputs, plus the number of series of the keyset from
    /// this row on.
    pub shifts: Vec<u64>,
    pub least_base: u64,
    /// 0 if all slices have the same base.
    pub base_width: u32,
    pub width: u32,
    /// True if fields count from the row before, and not from the base.
    pub is_summed: bool,
}

impl PartEncoding {
    /// Bases for each slice, or one for all, or bases and steps from row to row, whichever takes least.
    fn new(shifts: Vec<u64>) -> Self {
        let least = |shifts: &[u64]| shifts.iter().copied().min().unwrap_or(0);
        let most = |shifts: &[u64]| shifts.iter().copied().max().unwrap_or(0);
        let least_base = least(&shifts);
        let flat = width(most(&shifts) - least_base);
        let (mut base_width, mut in_slice, mut step) = (0, 0, Some(0));
        for slice in shifts.chunks(index(REMAP_SLICE_ROWS)) {
            let base = least(slice);
            base_width = base_width.max(width(base - least_base));
            in_slice = in_slice.max(width(most(slice) - base));
            // An insertion before a row moves all rows after it, so that shifts mostly rise.
            let mut steps = slice.iter().zip(slice.iter().skip(1)).map(|(&before, &shift)| shift.checked_sub(before));
            step =
                steps.try_fold(step.unwrap_or(0), |most, step| Some(most.max(width(step?)))).filter(|_| step.is_some());
        }
        let rows = length(shifts.len());
        let bits =
            |slice: u32, row: u32| rows.div_ceil(REMAP_SLICE_ROWS.into()) * u64::from(slice) + rows * u64::from(row);
        let ways =
            [Some((0, flat, false)), Some((base_width, in_slice, false)), step.map(|step| (base_width, step, true))];
        let best = ways.into_iter().flatten().min_by_key(|&(slice, row, _)| bits(slice, row));
        let (base_width, width, is_summed) = best.unwrap_or((0, flat, false));
        Self { shifts, least_base, base_width, width, is_summed: is_summed && width > 0 }
    }

    /// Returns the base of the slice in which these shifts are.
    pub(super) fn base(&self, slice: &[u64]) -> u64 {
        if self.base_width == 0 { self.least_base } else { slice.iter().copied().min().unwrap_or(0) }
    }

    fn bits(&self) -> u64 {
        let rows = length(self.shifts.len());
        rows.div_ceil(REMAP_SLICE_ROWS.into()) * u64::from(self.base_width) + rows * u64::from(self.width)
    }
}

/// A way to write the rows of a keyset.
#[derive(Debug, Default)]
pub(super) struct KeysetEncoding {
    /// Number of series of each row if all rows have the same number, else 0.
    pub row_len: u64,
    /// Number of series before each row; empty if all rows have the same number.
    pub before: Vec<u64>,
    /// Pattern of each row.
    pub rows: Vec<u32>,
    pub patterns: Patterns,
    pub parts: Vec<PartEncoding>,
    pub series: u64,
}

impl KeysetEncoding {
    /// Returns the smallest of up to three encodings: a row per series, rows with one part, and rows with one part per
    /// shard.
    pub(super) fn best(targets: &KeysetTargets, shard_ends: &[u64], known: &Patterns) -> Self {
        let whole = [u64::MAX];
        let singles = Self::new(targets, true, &whole);
        let mut best = (singles.bits(known), singles);
        let mut try_encoding = |encoding: Self| {
            let bits = encoding.bits(known);
            if bits < best.0 {
                best = (bits, encoding);
            }
        };
        if targets.has_long_rows() {
            try_encoding(Self::new(targets, false, &whole));
            if shard_ends.len() > 1 {
                try_encoding(Self::new(targets, false, shard_ends));
            }
        }
        best.1
    }

    fn new(targets: &KeysetTargets, is_single: bool, part_ends: &[u64]) -> Self {
        let series = length(targets.targets.len());
        let mut encoding = Self { series, ..Self::default() };
        let mut shifts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut pattern = Pattern::default();
        let mut firsts: Vec<(u64, u64)> = Vec::new();
        let mut before = 0;
        let mut lengths = Vec::new();
        let mut add = |row: &[u64]| {
            describe(row, part_ends, &mut firsts, &mut pattern);
            let number = length(encoding.rows.len());
            for &(part, first) in &firsts {
                let of_part = shifts.entry(part).or_default();
                let shift = first + series - before;
                // A row without series in the part repeats the shift of the row before.
                let filler = of_part.last().copied().unwrap_or(shift);
                of_part.resize(index(low32(number)), filler);
                of_part.push(shift);
            }
            encoding.before.push(before);
            lengths.push(pattern.length);
            encoding.rows.push(encoding.patterns.intern(&pattern));
            before += pattern.length;
        };
        if is_single {
            targets.targets.chunks(1).for_each(&mut add);
        } else {
            targets.rows().for_each(&mut add);
        }
        if let Some(&first) = lengths.first()
            && lengths.iter().all(|&length| length == first)
        {
            encoding.row_len = first;
            encoding.before = Vec::new();
        }
        let rows = encoding.rows.len();
        let numbers: BTreeMap<u64, u64> = shifts.keys().copied().zip(1..).collect();
        encoding.parts = shifts
            .into_values()
            .map(|mut shifts| {
                let filler = shifts.last().copied().unwrap_or(0);
                shifts.resize(rows, filler);
                PartEncoding::new(shifts)
            })
            .collect();
        encoding.patterns = renumbered(encoding.patterns, &numbers);
        encoding
    }

    pub(super) fn anchor_width(&self) -> u32 {
        if self.row_len > 0 { 0 } else { width(self.series) }
    }

    /// Returns the approximate size in bits, with the patterns that are not in `known`.
    fn bits(&self, known: &Patterns) -> u64 {
        let rows = length(self.rows.len());
        let slices = rows.div_ceil(REMAP_SLICE_ROWS.into());
        let pattern_width = width(length(self.patterns.all.len()).saturating_sub(1));
        let of_rows = slices * u64::from(self.anchor_width()) + rows * u64::from(pattern_width);
        let of_parts: u64 = self.parts.iter().map(|part| part.bits() + 24).sum();
        let of_pattern = |pattern: &Pattern| {
            let place = pattern.runs.iter().map(|run| width(run.place)).max().unwrap_or(0);
            let run = width(pattern.length) + width(length(self.parts.len())) + place;
            u64::from(width(pattern.length)) + 20 + length(pattern.runs.len()) * u64::from(run)
        };
        let of_patterns: u64 = self.patterns.all.iter().filter(|pattern| !known.has(pattern)).map(of_pattern).sum();
        of_rows + of_parts + of_patterns
    }
}

/// The pattern of a row, and the number of its first series in each part that it has any in.
fn describe(row: &[u64], part_ends: &[u64], firsts: &mut Vec<(u64, u64)>, pattern: &mut Pattern) {
    firsts.clear();
    pattern.length = length(row.len());
    pattern.runs.clear();
    let part_of = |target: u64| length(part_ends.partition_point(|&end| end <= target));
    for &target in row.iter().filter(|&&target| target != GONE) {
        let part = part_of(target);
        match firsts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, first)) => *first = target.min(*first),
            None => firsts.push((part, target)),
        }
    }
    let mut expected = None;
    for (&target, member) in row.iter().zip(0..) {
        let part = (target != GONE).then(|| part_of(target));
        if expected == Some((part, target)) {
            // The run continues.
        } else if let Some(part) = part {
            let first = firsts.iter().find(|(known, _)| *known == part).map_or(0, |&(_, first)| first);
            pattern.runs.push(PatternRun { start: member, part: part + 1, place: target - first });
        } else {
            pattern.runs.push(PatternRun { start: member, part: 0, place: 0 });
        }
        expected = Some((part, if target == GONE { GONE } else { target + 1 }));
    }
}

/// Returns the patterns with the used parts numbered from 1.
fn renumbered(mut patterns: Patterns, numbers: &BTreeMap<u64, u64>) -> Patterns {
    for run in patterns.all.iter_mut().flat_map(|pattern| &mut pattern.runs) {
        if let Some(part) = run.part.checked_sub(1) {
            run.part = numbers.get(&part).copied().unwrap_or(0);
        }
    }
    // Patterns stay distinct. The patterns of the whole file renumber them.
    patterns.numbers = HashMap::new();
    patterns
}
