//! Goldens changed as a program of bytes says, with checksums and block id that are right all the same.
//!
//! The first byte of a program chooses the block, the second whether counts and fingerprint are corrected at the end;
//! then each byte is a change, followed by what it needs. So a fuzzer's small steps on the program are small steps on
//! the block.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use chronoxide_format::Rule;
use chronoxide_format::layout::{OPTIONAL, RowForm, SectionKind};
use chronoxide_format::metadata::OwnedMetricMetadata;
use chronoxide_format::verify::InTurn;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockMeta, MetricRecords, Records, SectionBytes};

use super::program::Program;
use crate::editor::{BlockEditor, reseal};
use crate::golden::{Golden, chain, goldens, histograms, lists, pods, shared, small};
use crate::plan::{Labelset, Plan, build};
use crate::random::{Random, random_metrics, random_plan, random_series};

/// The sections that have bytes of their own, most interesting ones twice. Metric metadata have the last one's turn in
/// blocks that have them, so that programs that were found for other blocks mean what they did.
const SECTIONS: [SectionKind; 8] = [
    SectionKind::Rows,
    SectionKind::Catalogue,
    SectionKind::Members,
    SectionKind::Symbols,
    SectionKind::Meta,
    SectionKind::Arena,
    SectionKind::Rows,
    SectionKind::Members,
];

/// A sound block, taken apart, with the starts of its symbols.
#[derive(Clone, Debug)]
struct MutableBlock {
    editor: BlockEditor,
    starts: Vec<u64>,
    /// True if records of the catalogue were changed and are not packed yet.
    is_unpacked: bool,
    /// True if records of metric metadata were changed and are not packed yet.
    are_metrics_unpacked: bool,
}

/// The goldens that are small, and blocks of a few of their series: the fewer the series, the more runs in a second.
fn blocks() -> &'static [MutableBlock] {
    static PATIENTS: OnceLock<Vec<MutableBlock>> = OnceLock::new();
    PATIENTS.get_or_init(|| {
        // Metric metadata are in some of the others. Goldens that came later would give programs of the corpus other
        // blocks.
        let left_out = ["metrics", "later-minor", "loss-matters", "strings", "before-1970", "from-1970"];
        let small_ones = |golden: &Golden| {
            let is_small = golden.series.len() <= 10 && golden.bytes.len() < 1000;
            is_small && !left_out.iter().any(|name| golden.name.starts_with(name))
        };
        let golden = goldens().into_iter().filter(small_ones);
        let mut blocks: Vec<Vec<u8>> = golden.map(|golden| golden.bytes).collect();
        let families = [
            (small(), Plan::default()),
            (pods(), shared()),
            (pods(), chain()),
            (pods(), Plan::default()),
            (histograms(), lists()),
        ];
        for (number, (series, plan)) in families.iter().enumerate() {
            for step in [2, 3, 5] {
                let metrics = random_metrics(step, &mut Random::new(number as u64));
                let metrics = metrics.iter().map(OwnedMetricMetadata::borrowed).filter(|_| step == 5).collect();
                let meta = BlockMeta { metrics, ..BlockMeta::default() };
                for form in [RowForm::BitPacked, RowForm::FixedWidth] {
                    let at_most = 2 + 6 / step;
                    let some: BTreeSet<Labelset> =
                        series.iter().skip(number).step_by(step).take(at_most).cloned().collect();
                    blocks.push(build(&some, plan, form, &meta).expect("a plan suits fewer series too"));
                }
            }
        }
        // A keyset with more prefixes than one anchor serves.
        let prefixes: BTreeSet<Labelset> =
            histograms().into_iter().filter(|labels| labels.contains_key("le")).take(36).collect();
        blocks.push(build(&prefixes, &lists(), RowForm::BitPacked, &BlockMeta::default()).expect("lists suit buckets"));
        blocks.iter().map(|block| MutableBlock::take_apart(block)).collect()
    })
}

/// The block that the program makes.
pub fn mutated(program: &mut Program<'_>) -> Vec<u8> {
    edited(blocks()[program.below(blocks().len())].clone(), program)
}

/// The block that the program makes of some of a family's series: they are planned in one of many ways, and others have
/// them too.
pub fn mutated_relative(family: u8, program: &mut Program<'_>) -> Vec<u8> {
    let all = random_series(20, &mut Random::new(family.into()));
    let random = &mut Random::new(program.number(2));
    let form = if random.percent(50) { RowForm::BitPacked } else { RowForm::FixedWidth };
    let percent = [60, 90, 100][random.below(3)];
    let some: BTreeSet<Labelset> = all.into_iter().filter(|_| random.percent(percent)).collect();
    let plan = if random.percent(20) { Plan::default() } else { random_plan(&some, random) };
    let metrics = if random.percent(25) { random_metrics(3, random) } else { Vec::new() };
    let metrics = metrics.iter().map(OwnedMetricMetadata::borrowed).collect();
    let block = build(&some, &plan, form, &BlockMeta { metrics, ..BlockMeta::default() });
    edited(MutableBlock::take_apart(&block.expect("the plan is for these series")), program)
}

fn edited(mut base: MutableBlock, program: &mut Program<'_>) -> Vec<u8> {
    let is_corrected = !program.byte().is_multiple_of(4);
    let mut in_file = Vec::new();
    while !program.is_at_end() {
        base.edit(program, &mut in_file);
    }
    if base.is_unpacked {
        base.editor.repack();
    }
    if base.are_metrics_unpacked {
        base.editor.repack_metrics();
    }
    let mut block = base.editor.clone().close();
    if is_corrected
        && in_file.is_empty()
        && let Some(corrected) = corrected(&block, base.editor)
    {
        block = corrected;
    }
    for (at, value) in in_file {
        // Header and directory.
        let len = block.len().min(64 + 8 * 24);
        block[at % len] = value;
        reseal(&mut block);
    }
    block
}

/// The block with the counts and the fingerprint that its content has, if nothing else is wrong with it up to there.
fn corrected(block: &[u8], mut editor: BlockEditor) -> Option<Vec<u8>> {
    let view = BlockView::open(block).ok()?;
    let error = view.verify().err()?;
    if !matches!(error.rule(), Rule::MetaCounts | Rule::Fingerprint) {
        return None;
    }
    let content = view.verify_content(&InTurn).ok()?;
    let [first, second] = content.fingerprint.to_parts();
    let fields = [content.series_count, content.label_count, first, second];
    let header: Vec<u8> = fields.into_iter().flat_map(u64::to_le_bytes).collect();
    editor.section(SectionKind::Meta).get_mut(..header.len())?.copy_from_slice(&header);
    Some(editor.close())
}

impl MutableBlock {
    fn take_apart(block: &[u8]) -> Self {
        let view = BlockView::open(block).expect("a sound block");
        view.verify().expect("a sound block");
        let mut starts = vec![0];
        for id in 0..view.symbols().count() {
            let symbol = view.symbol(id.into()).expect("a sound block");
            starts.push(starts[starts.len() - 1] + symbol.len() as u64);
        }
        Self { editor: BlockEditor::open(block), starts, is_unpacked: false, are_metrics_unpacked: false }
    }

    fn edit(&mut self, program: &mut Program<'_>, in_file: &mut Vec<(usize, u8)>) {
        match program.byte() % 16 {
            0..=4 => self.change_record(program),
            5 => self.change_records(program),
            6 | 7 => self.change_bits(program),
            8 => {
                let section = self.section(program);
                let at = program.below(section.len());
                let value = program.byte();
                if let Some(byte) = section.get_mut(at) {
                    *byte = value;
                }
            }
            9 => {
                let section = self.section(program);
                let at = program.below(section.len() + 1);
                let count = program.below(24);
                let bytes = program.bytes(count).to_vec();
                section.splice(at..at, bytes);
            }
            10 => {
                let section = self.section(program);
                let start = program.below(section.len() + 1);
                let end = (start + program.below(24)).min(section.len());
                section.drain(start..end);
            }
            11..=12 => self.change_symbol(program),
            13 => self.change_meta(program),
            14 => self.change_sections(program),
            _ => in_file.push((program.number(1) as usize, program.byte())),
        }
    }

    fn section(&mut self, program: &mut Program<'_>) -> &mut Vec<u8> {
        let choice = program.below(SECTIONS.len());
        let mut kind = SECTIONS[choice];
        if choice == SECTIONS.len() - 1 && self.has_metrics() {
            kind = SectionKind::MetricMetadata;
            if std::mem::take(&mut self.are_metrics_unpacked) {
                self.editor.repack_metrics();
            }
        }
        if kind == SectionKind::Catalogue && self.is_unpacked {
            self.editor.repack();
            self.is_unpacked = false;
        }
        self.editor.section(kind)
    }

    fn has_metrics(&self) -> bool {
        self.editor.has(SectionKind::MetricMetadata)
    }

    fn change_record(&mut self, program: &mut Program<'_>) {
        let choice = program.byte();
        if choice >= 128 && self.has_metrics() {
            self.are_metrics_unpacked = true;
            let MetricRecords { rows, ends, .. } = &mut self.editor.metrics;
            return if choice < 224 { change_field(rows, program) } else { change_field(ends, program) };
        }
        self.is_unpacked = true;
        let Records { tables, shapes, pools, keysets, keys } = &mut self.editor.records;
        match choice % 8 {
            0 | 1 => change_field(tables, program),
            2..=5 if shapes.is_empty() => change_field(keys, program),
            kind @ 2..=5 => {
                let shape = program.below(shapes.len());
                let shape = &mut shapes[shape];
                if kind == 5 {
                    change_leaf(&mut shape.leaves, program)
                } else {
                    change_field(&mut shape.columns, program)
                }
                // Shapes may have become longer or shorter. Tables that say otherwise come of changes to tables.
                self.editor.records.place_shapes();
            }
            6 => change_field(pools, program),
            _ if program.byte().is_multiple_of(2) => change_field(keysets, program),
            _ => change_field(keys, program),
        }
    }

    fn change_records(&mut self, program: &mut Program<'_>) {
        let choice = program.byte();
        if choice >= 128 && self.has_metrics() {
            self.are_metrics_unpacked = true;
            let MetricRecords { rows, ends, .. } = &mut self.editor.metrics;
            return if choice < 224 { change_list(rows, program) } else { change_list(ends, program) };
        }
        self.is_unpacked = true;
        let Records { tables, shapes, pools, keysets, keys } = &mut self.editor.records;
        match choice % 6 {
            0 => change_list(tables, program),
            1 | 2 if shapes.is_empty() => {}
            kind @ 1..=2 => {
                let shape = program.below(shapes.len());
                let shape = &mut shapes[shape];
                if kind == 1 {
                    change_list(&mut shape.columns, program)
                } else {
                    change_list(&mut shape.leaves, program)
                }
                self.editor.records.place_shapes();
            }
            3 => change_list(pools, program),
            4 => change_list(keysets, program),
            _ => change_list(keys, program),
        }
    }

    fn change_bits(&mut self, program: &mut Program<'_>) {
        let kind = if program.byte().is_multiple_of(2) { SectionKind::Rows } else { SectionKind::Members };
        let bits = self.editor.section(kind).len() * 8;
        let bit = program.below(bits);
        let width = program.below(9).min(bits - bit) as u32;
        let value = program.number(1);
        self.editor.set_bits(kind, bit as u64, width, value);
    }

    /// Gives a symbol another text, or takes it away, or adds one.
    fn change_symbol(&mut self, program: &mut Program<'_>) {
        let symbol = program.below(self.starts.len());
        let keep = program.below(16) as u64;
        let count = program.below(8);
        let text = program.bytes(count);
        let start = self.starts[symbol];
        let end = self.starts.get(symbol + 1).copied();
        let from = (start + keep).min(end.unwrap_or(start));
        let arena = self.editor.section(SectionKind::Arena);
        let Some(behind) = end.map_or(Some(from), |end| (end as usize <= arena.len()).then_some(end)) else { return };
        if (behind as usize) > arena.len() {
            return;
        }
        arena.splice(from as usize..behind as usize, text.iter().copied());
        let (was, is) = (behind - start, from - start + text.len() as u64);
        if end.is_none() {
            self.starts.push(start);
        }
        for later in &mut self.starts[symbol + 1..] {
            *later = *later + is - was;
        }
        self.editor.repack_starts(&self.starts, 0);
    }

    fn change_meta(&mut self, program: &mut Program<'_>) {
        let meta = self.editor.section(SectionKind::Meta);
        let fields = (4..8).map(|at| (at * 8, 8)).chain((16..29).map(|at| (at * 4, 4))).chain([(116, 1), (117, 1)]);
        let fields: Vec<(usize, usize)> = fields.collect();
        let (at, size) = fields[program.below(fields.len())];
        let Some(field) = meta.get_mut(at..at + size) else { return };
        let mut was = [0; 8];
        was[..size].copy_from_slice(field);
        let value = program.value(u64::from_le_bytes(was));
        field.copy_from_slice(&value.to_le_bytes()[..size]);
    }

    fn change_sections(&mut self, program: &mut Program<'_>) {
        match program.byte() % 4 {
            0 => {
                let word = program.below(3);
                self.editor.features[word] = program.number(1) as u32;
            }
            1 => {
                let count = program.below(8);
                let (id, bytes) = (program.number(1) as u32, program.bytes(count).to_vec());
                self.editor.sections.push(SectionBytes { kind: OPTIONAL + 5, id, bytes });
            }
            2 => {
                let count = self.editor.sections.len();
                self.editor.sections.swap(program.below(count), program.below(count));
            }
            _ => {
                let count = self.editor.sections.len();
                self.editor.sections[program.below(count)].id = program.number(1) as u32;
            }
        }
    }
}

/// No record's field is wider.
const WIDEST: u64 = (1 << 48) - 1;

fn change_field<const N: usize>(records: &mut [[u64; N]], program: &mut Program<'_>) {
    let (record, field) = (program.below(records.len()), program.below(N));
    if let Some(record) = records.get_mut(record) {
        record[field] = program.value(record[field]) & WIDEST;
    }
}

/// Changes the column of a leaf.
fn change_leaf(leaves: &mut [u64], program: &mut Program<'_>) {
    let leaf = program.below(leaves.len());
    if let Some(column) = leaves.get_mut(leaf) {
        *column = program.value(*column) & 0xFFFF;
    }
}

fn change_list<T: Copy + Default>(records: &mut Vec<T>, program: &mut Program<'_>) {
    let (a, b) = (program.below(records.len()), program.below(records.len()));
    match program.byte() % 3 {
        _ if records.is_empty() => records.push(T::default()),
        0 => records.swap(a, b),
        1 => records.insert(b, records[a]),
        _ => drop(records.remove(a)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_program_changes_nothing() {
        assert!(blocks().len() >= 38, "{} blocks to choose from", blocks().len());
        for number in 0..blocks().len() {
            let block = mutated(&mut Program(&[number as u8]));
            BlockView::open(&block).and_then(|view| view.verify()).unwrap_or_else(|error| panic!("{number}: {error}"));
        }
    }
}
