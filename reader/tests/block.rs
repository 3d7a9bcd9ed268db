//! Blocks opened from files and memory, with eager, lazy and no checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_reader::{
    Block, Checks, Error, Label, MetricMetadata, OpenError, OwnedLabels, Rule, SeriesRef, SymbolId, TextLabel,
};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::{Golden, goldens};
use chronoxide_testkit::plan::{Labelset, Plan, build};

const CHECKS: [Checks; 3] = [Checks::Lazy, Checks::Eager, Checks::Never];
const CHUNK: usize = 8192;

fn golden(name: &str) -> Golden {
    goldens().into_iter().find(|golden| golden.name == name).unwrap()
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden").join(name).with_extension("cx")
}

/// Maps a file that does not change while the test runs.
fn map(path: &Path, checks: Checks) -> Result<Block, OpenError> {
    // SAFETY: goldens and files of temporary folders are not written to after they were made.
    unsafe { Block::map(path, checks) }
}

fn content(block: &Block) -> Result<BTreeSet<Labelset>, Error> {
    let view = block.view();
    let text = view.text()?;
    let mut resolver = view.text_resolver()?;
    let owned = |label: TextLabel<'_>| (label.name.to_owned(), label.value.to_owned());
    let mut content = BTreeSet::new();
    for series in view.series_iter() {
        let series = series?;
        let labels = text.labels(&series).map(|label| label.map(owned)).collect::<Result<Labelset, _>>()?;
        let resolved = resolver.labels(series.series_ref())?.expect("in range");
        assert!(resolved.iter().map(|label| (label.name, label.value)).eq(labels.iter().map(|(n, v)| (&**n, &**v))));
        assert_eq!(resolver.last().len(), labels.len());
        content.insert(labels);
    }
    assert_eq!(resolver.labels(SeriesRef(u32::MAX))?, None);
    assert!(resolver.last().is_empty());
    Ok(content)
}

/// Returns the place of a section of a golden block.
fn section(bytes: &[u8], kind: u32) -> std::ops::Range<usize> {
    let view = chronoxide_reader::BlockView::open(bytes).unwrap();
    let section = view.sections().find(|section| section.kind == kind).unwrap();
    section.offset as usize..(section.offset + section.length) as usize
}

const CATALOGUE: u32 = 1;
const META: u32 = 2;
const SYMBOLS: u32 = 3;
const ROWS: u32 = 4;
const ARENA: u32 = 6;
const METRIC_METADATA: u32 = 2_684_354_561;

#[test]
fn a_block_is_the_same_from_map_buffer_and_shared_bytes() {
    for golden in goldens() {
        let path = golden_path(golden.name);
        for checks in CHECKS {
            let blocks = [
                map(&path, checks).unwrap(),
                Block::read(&path, checks).unwrap(),
                Block::from_vec(golden.bytes.clone(), checks).unwrap(),
                Block::from_shared(Arc::from(&golden.bytes[..]), checks).unwrap(),
            ];
            for block in blocks {
                assert!(block.bytes() == golden.bytes, "{}", golden.name);
                assert_eq!(content(&block), Ok(golden.series.clone()), "{}", golden.name);
                assert_eq!(block.verify().unwrap().series_count, golden.series.len() as u64);
            }
        }
    }
}

#[test]
fn a_mapped_block_survives_the_deletion_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cx");
    let golden = golden("plain-bitpacked");
    fs::write(&path, &golden.bytes).unwrap();
    let block = map(&path, Checks::Lazy).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(content(&block), Ok(golden.series));
}

#[test]
fn a_damaged_chunk_is_an_error_only_for_reads_of_it() {
    let golden = golden("many-chunks");
    let rows = section(&golden.bytes, ROWS);
    // The first rows may share a chunk with sections that opening reads.
    let chunks = rows.start.div_ceil(CHUNK)..rows.end.div_ceil(CHUNK);
    assert!(chunks.len() > 2, "there are chunks to tell apart");
    let sound = Block::from_vec(golden.bytes.clone(), Checks::Never).unwrap();
    for chunk in chunks.clone() {
        let mut bytes = golden.bytes.clone();
        bytes[(chunk * CHUNK + 100).min(rows.end - 1)] ^= 0x10;
        let block = Block::from_vec(bytes.clone(), Checks::Lazy).expect("opening looks at no row");
        let (view, sound) = (block.view(), sound.view());
        let (mut answers, mut errors) = (0, 0);
        for number in 0..golden.series.len() as u32 {
            let of = |view: &chronoxide_reader::BlockView<'_>| -> Result<_, Error> {
                OwnedLabels::from_series(&view.series(SeriesRef(number))?.expect("in range"))
            };
            match of(&view) {
                Ok(labels) => {
                    answers += 1;
                    assert_eq!(Ok(labels), of(&sound), "an answer is right");
                }
                Err(error) => {
                    errors += 1;
                    assert_eq!(error.rule(), Rule::ChunkChecksum);
                    // A second attempt gives the same error.
                    assert_eq!(of(&view), Err(error));
                }
            }
        }
        assert!(errors > 0, "chunk {chunk}: {errors} errors, {answers} answers");
        if chunk > chunks.start {
            assert!(answers > 0, "chunk {chunk}: the others still answer");
        }
        assert_eq!(block.verify().unwrap_err().rule(), Rule::ChunkChecksum);
        assert_eq!(Block::from_vec(bytes, Checks::Eager).unwrap_err().rule(), Rule::ChunkChecksum);
    }
}

/// Catalogue, symbols and meta of a small block are one chunk each. Opening reads them.
#[test]
fn lazy_opening_refuses_every_flipped_byte_of_catalogue_symbols_and_meta() {
    let mut cases = 0;
    for golden in goldens() {
        for kind in [CATALOGUE, SYMBOLS, META] {
            let section = section(&golden.bytes, kind);
            if section.len() > CHUNK {
                continue;
            }
            for byte in section {
                let mut bytes = golden.bytes.clone();
                bytes[byte] ^= 1 << (byte % 8);
                let refused = Block::from_vec(bytes, Checks::Lazy).map(|block| block.view().block_id());
                assert!(refused.is_err(), "{}, section {kind}, byte {byte}", golden.name);
                cases += 1;
            }
        }
    }
    println!("{cases} flipped bytes");
    assert!(cases >= 3_000, "only {cases} bytes");
}

#[test]
fn a_search_that_touches_damage_is_an_error_and_never_a_miss() {
    let golden = golden("many-chunks");
    let rows = section(&golden.bytes, ROWS);
    let mut bytes = golden.bytes.clone();
    bytes[rows.end - 20] ^= 1;
    let block = Block::from_vec(bytes, Checks::Lazy).unwrap();
    let view = block.view();
    let (mut found, mut errors) = (0, 0);
    for labels in &golden.series {
        match view.find(labels) {
            Ok(Some(_)) => found += 1,
            Ok(None) => panic!("{labels:?} is in the block and was not found"),
            Err(_) => errors += 1,
        }
    }
    assert!(found > 0 && errors > 0, "{found} found, {errors} errors");
}

#[test]
fn text_of_a_damaged_arena_is_an_error_each_time() {
    let golden = golden("many-chunks");
    let arena = section(&golden.bytes, ARENA);
    let mut bytes = golden.bytes.clone();
    bytes[arena.start + CHUNK + 10] ^= 0x80;
    let block = Block::from_vec(bytes.clone(), Checks::Lazy).unwrap();
    let view = block.view();
    for _ in 0..3 {
        assert_eq!(view.text().unwrap_err().rule(), Rule::ChunkChecksum);
    }
    // Symbols outside the damaged chunk can be read.
    assert_eq!(view.label_names().collect::<Result<Vec<_>, _>>().unwrap().len(), 3);
    assert_eq!(Block::from_vec(bytes.clone(), Checks::Eager).unwrap_err().rule(), Rule::ChunkChecksum);
    // Without checks, bytes that are not UTF-8 are still an error.
    let unchecked = Block::from_vec(bytes, Checks::Never).unwrap();
    assert!(unchecked.view().text().is_err());
}

#[test]
fn a_symbol_that_begins_inside_a_character_is_no_text() {
    let golden = golden("plain-bitpacked");
    let block = Block::from_vec(golden.bytes.clone(), Checks::Eager).unwrap();
    let second = block.view().symbol(SymbolId(0)).unwrap().len();
    let mut edited = BlockEditor::open(&golden.bytes);
    let arena = edited.section(SectionKind::Arena);
    arena[second - 1..=second].copy_from_slice("\u{e9}".as_bytes());
    assert!(std::str::from_utf8(arena).is_ok(), "together, the symbols are UTF-8");
    let block = Block::from_vec(edited.close(), Checks::Eager).unwrap();
    assert_eq!(block.view().text().unwrap_err().rule(), Rule::SymbolsUtf8);
    assert_eq!(block.view().text_resolver().unwrap_err().rule(), Rule::SymbolsUtf8);
}

#[test]
fn metric_metadata_are_checked_on_access() {
    // A value as long as a chunk, so that the metric metadata, which follow it, are in a chunk of their own.
    let series = BTreeSet::from([Labelset::from([("name".to_owned(), "x".repeat(2 * CHUNK))])]);
    let metric = MetricMetadata { name: "up", description: "1 if the target is up", ..MetricMetadata::default() };
    let meta = BlockMeta { metrics: [metric].into_iter().collect(), ..BlockMeta::default() };
    let sound = build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
    let metrics = section(&sound, METRIC_METADATA);
    for damaged in [metrics.start, metrics.start + 20, metrics.end - 1] {
        let mut bytes = sound.clone();
        bytes[damaged] ^= 1;
        let block = Block::from_vec(bytes.clone(), Checks::Lazy).expect("opening looks at no metric");
        let view = block.view();
        let first = view.series(SeriesRef(0)).unwrap().expect("there is one series");
        assert_eq!(first.label_count(), 1, "series do not depend on them");
        for _ in 0..2 {
            assert_eq!(block.view().metric_metadata().map(|_| ()).unwrap_err().rule(), Rule::ChunkChecksum);
        }
        assert_eq!(Block::from_vec(bytes, Checks::Eager).unwrap_err().rule(), Rule::ChunkChecksum);
    }
}

#[test]
fn a_damaged_chunk_of_metric_metadata_hides_the_rows_that_need_it_and_no_others() {
    let texts: Vec<String> = (0..400).map(|n| format!("metric {n:03} {}", "x".repeat(60))).collect();
    let metrics = texts.iter().map(|name| MetricMetadata { name, ..MetricMetadata::default() }).collect();
    let meta = BlockMeta { metrics, ..BlockMeta::default() };
    let bytes = BlockBuilder::new(RowForm::BitPacked).finish(&meta).unwrap();
    let section = section(&bytes, METRIC_METADATA);
    let chunks = section.len().div_ceil(CHUNK);
    assert!(chunks > 3, "there are chunks to tell apart");
    for chunk in 1..chunks {
        let mut damaged = bytes.clone();
        damaged[section.start + chunk * CHUNK] ^= 1;
        let block = Block::from_vec(damaged, Checks::Lazy).unwrap();
        let view = block.view();
        let metrics = view.metric_metadata().expect("the first chunk is sound");
        let (mut answers, mut errors) = (0, 0);
        for (row, text) in (0..).zip(&texts) {
            match metrics.get(row) {
                Ok(metadata) => {
                    answers += 1;
                    assert_eq!(metadata.expect("in range").name, text);
                }
                Err(error) => {
                    errors += 1;
                    assert_eq!(error.rule(), Rule::ChunkChecksum);
                }
            }
        }
        assert!(answers > 0 && errors > 0, "chunk {chunk}: {errors} errors, {answers} answers");
        assert!(metrics.iter().filter(|row| row.is_err()).count() == 1, "iterators stop at damage");
    }
}

#[test]
fn iterators_that_meet_damage_stop() {
    let golden = golden("many-chunks");
    let rows = section(&golden.bytes, ROWS);
    let mut bytes = golden.bytes.clone();
    bytes[rows.end - 20] ^= 1;
    let block = Block::from_vec(bytes, Checks::Lazy).unwrap();
    let view = block.view();
    let results: Vec<bool> =
        view.series_iter().map(|series| series.and_then(|s| OwnedLabels::from_series(&s)).is_ok()).collect();
    assert!(results.contains(&false) && results.len() <= golden.series.len());
}

fn is_send_and_sync<T: Send + Sync>() {}

#[test]
fn threads_share_a_block_while_it_is_checked() {
    is_send_and_sync::<Block>();
    is_send_and_sync::<OpenError>();
    is_send_and_sync::<OwnedLabels>();
    let golden = golden("many-chunks");
    let block = map(&golden_path("many-chunks"), Checks::Lazy).unwrap();
    let count = golden.series.len() as u32;
    std::thread::scope(|scope| {
        let work = |thread: u32| {
            let (block, golden) = (&block, &golden);
            move || {
                let view = block.view();
                let text = view.text().unwrap();
                let mut seen = BTreeSet::new();
                for number in 0..count {
                    // Each thread reads in its own order.
                    let series = view.series(SeriesRef((number * 7 + thread * 401) % count)).unwrap().unwrap();
                    let labels: Labelset = text
                        .labels(&series)
                        .map(|label| label.unwrap())
                        .map(|label| (label.name.into(), label.value.into()))
                        .collect();
                    assert_eq!(view.find(&labels), Ok(Some(series.series_ref())));
                    seen.insert(labels);
                }
                assert!(seen == golden.series);
            }
        };
        for thread in 0..8 {
            scope.spawn(work(thread));
        }
    });
}

#[test]
fn each_kind_of_open_error_is_distinct() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).unwrap();
        folder.path().join(name)
    };
    let whole = golden("plain-bitpacked").bytes;
    let absent = folder.path().join("absent.cx");
    let cases = [
        (write("empty.cx", b""), Rule::Magic),
        (write("text.cx", b"up 1\n"), Rule::Magic),
        (write("magic.cx", &whole[..8]), Rule::FileLen),
        (write("header.cx", &whole[..63]), Rule::FileLen),
        (write("cut.cx", &whole[..whole.len() - 1]), Rule::FileLen),
        (write("more.cx", &[&whole[..], b"\0"].concat()), Rule::FileLen),
    ];
    for checks in CHECKS {
        for open in [map, |path: &Path, checks| Block::read(path, checks)] {
            for (path, rule) in &cases {
                let error = open(path, checks).unwrap_err();
                assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
                match error {
                    OpenError::Block { source, path: named } => assert_eq!((source.rule(), &named), (*rule, path)),
                    other => panic!("{}: {other:?}", path.display()),
                }
            }
            for (path, kind) in [
                (absent.as_path(), std::io::ErrorKind::NotFound),
                (folder.path(), std::io::ErrorKind::IsADirectory),
                (&cases[0].0.join("x"), std::io::ErrorKind::NotADirectory),
            ] {
                match open(path, checks).unwrap_err() {
                    OpenError::Io { source, path: named } => assert_eq!((source.kind(), &*named), (kind, path)),
                    other => panic!("{}: {other:?}", path.display()),
                }
            }
        }
    }
}

#[test]
fn owned_labels_outlive_their_block() {
    let golden = golden("unicode");
    let owned: Vec<OwnedLabels> = {
        let block = Block::from_vec(golden.bytes.clone(), Checks::Lazy).unwrap();
        let view = block.view();
        view.series_iter().map(|series| OwnedLabels::from_series(&series.unwrap()).unwrap()).collect()
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let maps = owned.iter().map(|labels| labels.iter().map(|label| (text(label.name), text(label.value))).collect());
    assert_eq!(maps.collect::<BTreeSet<Labelset>>(), golden.series);
    for labels in &owned {
        for Label { name, value } in labels.iter() {
            assert_eq!(labels.get(name), Some(value));
        }
        assert_eq!(labels.get(b"no such name"), None);
    }
}
