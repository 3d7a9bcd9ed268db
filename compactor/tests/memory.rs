//! The bound of a memory limit, against the memory that merges use.

use std::sync::Mutex;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, Draft, LEAST_MEMORY};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Domain};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{SymbolId, TableId};
use chronoxide_publish::{Disk, Spool};
use chronoxide_testkit::allocation::{Counting, measure_process};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Values of each of the keys whose values are few.
const FEW: u32 = 1000;

/// Content that takes the memory of a merge.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// Distinct values of a key.
    Values,
    /// Rows of a shared table.
    Table,
    /// Rows of many small shared tables over one large dictionary.
    SmallTables,
    /// Distinct lists.
    Lists,
    /// Rows of a shared table for series that the second input has in plain rows.
    Translated,
}

/// Builds a block with the rows `rows` of the content: labels `a` and `b` are those of the number in base 1000, `c` is
/// one value, or a list of values.
fn block(content: Content, rows: std::ops::Range<u32>, is_plain: bool) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let mut numbers: Vec<SymbolId> = Vec::new();
    let has_many = matches!(content, Content::Values | Content::SmallTables);
    let values = if has_many { rows.clone() } else { 0..FEW };
    for number in values {
        numbers.push(builder.push_symbol(&format!("{number:040}")).unwrap());
    }
    let first = builder.push_symbol("a").unwrap();
    if let Content::Values = content {
        builder.push_key(first, &numbers).unwrap();
        let codes: Vec<u32> = (0..rows.len() as u32).collect();
        builder.push_keyset_table(&[Domain::Table(TableId(0))], &codes).unwrap();
        return builder.finish(&BlockMeta::default()).unwrap();
    }
    if let Content::SmallTables = content {
        return small_tables(builder, first, &numbers);
    }
    let more = ["b", "c"].map(|name| builder.push_symbol(name).unwrap());
    let (first_a, last_a) = (rows.start / FEW, (rows.end - 1) / FEW);
    let members = if let Content::Lists = content { 128 } else { 1 };
    let dictionaries = [&numbers[first_a as usize..=last_a as usize], &numbers, &numbers[..members]];
    for (name, values) in [first].into_iter().chain(more).zip(dictionaries) {
        builder.push_key(name, values).unwrap();
    }
    let [a, b, c] = [0, 1, 2].map(|key| Domain::Table(TableId(key)));
    let codes: Vec<[u32; 2]> = rows.clone().map(|row| [row / FEW - first_a, row % FEW]).collect();
    if is_plain {
        let rows: Vec<u32> = codes.iter().flat_map(|&[a, b]| [a, b, 0]).collect();
        builder.push_keyset_table(&[a, b, c], &rows).unwrap();
        return builder.finish(&BlockMeta::default()).unwrap();
    }
    let table = builder.push_table(&[a, b], codes.as_flattened()).unwrap();
    let numbered = 0..rows.len() as u32;
    if let Content::Lists = content {
        // Each list has four members: the digits of a number in base 32, each in a range of its own.
        let number = |row: u32| row.wrapping_mul(2_654_435_761) % (1 << 20);
        let list = |row: u32| [0, 1, 2, 3].map(|digit| 32 * digit + (number(row) >> (15 - 5 * digit)) % 32);
        let mut lists: Vec<[u32; 4]> = rows.map(list).collect();
        lists.sort_unstable();
        let pool = builder.push_pool_from(TableId(2), lists.iter().map(|list| list.iter().copied())).unwrap();
        let rows: Vec<u32> = numbered.flat_map(|row| [row, row]).collect();
        builder.push_keyset_table(&[Domain::Table(table), Domain::Pool(pool)], &rows).unwrap();
    } else {
        let rows: Vec<u32> = numbered.flat_map(|row| [row, 0]).collect();
        builder.push_keyset_table(&[Domain::Table(table), c], &rows).unwrap();
    }
    builder.finish(&BlockMeta::default()).unwrap()
}

/// Number of small tables.
const TABLES: usize = 200;

/// Adds keysets of two keys each: a key of many values, which are spread over the keysets, and a key of its own. A
/// shared table has their labels.
fn small_tables(mut builder: BlockBuilder, many: SymbolId, numbers: &[SymbolId]) -> Vec<u8> {
    let symbols = (0..TABLES).map(|table| builder.push_symbol(&format!("d{table:03}")).unwrap());
    let names: Vec<SymbolId> = symbols.collect();
    builder.push_key(many, numbers).unwrap();
    for &name in &names {
        builder.push_key(name, &numbers[..1]).unwrap();
    }
    let own = |table: usize| Domain::Table(TableId(table as u32 + 1));
    let mut tables = Vec::new();
    for table in 0..TABLES {
        let rows: Vec<u32> = (table..numbers.len()).step_by(TABLES).flat_map(|value| [value as u32, 0]).collect();
        let id = builder.push_table(&[Domain::Table(TableId(0)), own(table)], &rows).unwrap();
        tables.push((id, rows.len() as u32 / 2));
    }
    for (id, count) in tables {
        let rows: Vec<u32> = (0..count).collect();
        builder.push_keyset_table(&[Domain::Table(id)], &rows).unwrap();
    }
    builder.finish(&BlockMeta::default()).unwrap()
}

/// Merges two blocks with `count` rows together. Returns the memory that each refused limit asked for, and the peak.
fn bounds(content: Content, count: u32) -> (Vec<u64>, u64) {
    let is_translated = matches!(content, Content::Translated);
    let cut = if is_translated { count / 2 + 1 } else { count / 2 };
    let blocks = [block(content, 0..cut, false), block(content, cut..count, is_translated)];
    let views = [0, 1].map(|block| BlockView::open(&blocks[block]).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (mut limit, mut steps) = (1, Vec::new());
    loop {
        let options = CompactOptions { memory_limit: Some(limit), ..CompactOptions::default() };
        let mut spool = Spool::new(&Disk, folder.path(), 1 << 16);
        let mut series = 0;
        let publish = |_, draft: Draft<'_>| {
            series += draft.series_count();
            draft
                .write_to(&mut std::fs::File::create(folder.path().join("out.cx")).unwrap())
                .map_err(CompactError::Write)
        };
        let (merged, usage) =
            measure_process(|| Compaction::new(&views, &options).merge_to_drafts(&mut spool, publish));
        match merged {
            Err(CompactError::Memory { needed, limit: refused }) => {
                assert_eq!(refused, limit as u64);
                assert!(needed > refused, "{content:?}: the limit that was asked for is refused: {needed}");
                assert_eq!(series, 0, "{content:?}: nothing is written");
                steps.push(needed);
                limit = needed as usize;
            }
            merged => {
                merged.unwrap();
                let per_row = if let Content::Lists = content { 4 } else { 1 };
                assert_eq!(series, u64::from(count) * per_row);
                return (steps, usage.peak);
            }
        }
    }
}

#[test]
fn the_bound_grows_as_the_use_does() {
    let _alone = ALONE.lock();
    for content in [Content::Values, Content::Table, Content::SmallTables, Content::Lists, Content::Translated] {
        let ((few_steps, few_peak), (steps, peak)) = (bounds(content, 50_000), bounds(content, 400_000));
        let (few_bound, bound) = (*few_steps.last().unwrap(), *steps.last().unwrap());
        let (asked, used) = (bound - few_bound, peak - few_peak);
        println!("{content:?}: {steps:?} asked, {peak} used; for more rows {:.2}", asked as f64 / used as f64);
        assert!(steps.is_sorted() && few_steps[0] >= LEAST_MEMORY as u64);
        assert!(asked >= used, "{content:?}: {asked} bytes more asked for, {used} more used");
        assert!(asked <= 2 * used, "{content:?}: {asked} bytes more asked for, {used} more used");
        assert!(peak <= bound);
    }
}
