//! Tests of the reader's public API: its types can be named, stored and shared, and their debug output is short.

use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{
    Block, BlockId, BlockView, Checks, Column, ContentFingerprint, Corruption, Domain, Error, ErrorKind, FileError,
    FindError, Fingerprint, Folder, Frame, Job, KeyId, Keyset, KeysetSeries, Label, LabelIds, LabelIdsIter,
    LabelPolicy, Labels, List, Meta, MetricMetadata, MetricRows, Metrics, OpenError, OwnedLabels, OwnedMeta, Pairs,
    Paths, Pool, PoolId, Remap, RemapFolder, RemapView, Resolver, RowForm, Rule, Section, SectionKind, Sections,
    Series, SeriesIter, SeriesRef, SymbolId, Symbols, Table, TableId, TableKeys, Target, Targets, Text, TextLabel,
    TextLabels, TimeRange, View,
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/metrics.cx");
const GOLDEN_OF_MANY_CHUNKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/many-chunks.cx");
const GOLDEN_REMAP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/remaps/golden/shards.cxr");

/// Holds a value of each type that an engine may want to store.
#[derive(Debug)]
#[expect(dead_code, reason = "the test is that these types can be named")]
struct Engine<'data, 'view> {
    view: &'view View<'data>,
    frame: Frame,
    meta: Meta<'data>,
    owned: OwnedMeta,
    external: Pairs<'data>,
    times: [Option<TimeRange>; 2],
    job: Option<Job>,
    policy: LabelPolicy,
    rows: RowForm,
    sections: Sections<'data>,
    symbols: &'view Symbols<'data>,
    table: Table<'data, 'view>,
    column: Column,
    pool: Option<Pool<'data, 'view>>,
    list: Option<List<'data, 'view>>,
    keyset: Keyset<'data, 'view>,
    keys: TableKeys<'data, 'view>,
    keyset_series: KeysetSeries<'data, 'view>,
    all: SeriesIter<'data, 'view>,
    series: Series<'data, 'view>,
    ids: LabelIdsIter<'data, 'view>,
    labels: Labels<'data, 'view>,
    text_labels: TextLabels<'data, 'view>,
    metrics: Metrics<'data>,
    metric_rows: MetricRows<'data>,
    metric: Option<MetricMetadata<'data>>,
    content: ContentFingerprint,
    text: Text<'data, 'view>,
}

fn engine<'data, 'view>(block: &'data Block, view: &'view View<'data>) -> Result<Engine<'data, 'view>, Error> {
    let meta = view.meta()?;
    let keyset: Keyset<'data, 'view> = view.keyset(0)?.expect("the golden has a keyset");
    let table: Table<'data, 'view> = keyset.table();
    let series = view.series(SeriesRef(0))?.expect("the golden has series");
    let metrics = view.metric_metadata()?;
    let text = view.text()?;
    Ok(Engine {
        view,
        frame: *view.frame(),
        meta,
        owned: view.to_owned_meta()?,
        external: meta.external_labels()?,
        times: [meta.time(), meta.window()],
        job: meta.job(),
        policy: meta.policy(),
        rows: view.row_form().expect("a known form"),
        sections: view.sections(),
        symbols: view.symbols(),
        table,
        column: table.column(0)?,
        pool: keyset.pool(),
        list: keyset.list(0)?,
        keyset,
        keys: keyset.keys()?,
        keyset_series: keyset.series()?,
        all: view.series_iter(),
        series,
        ids: series.label_ids(),
        labels: series.labels(),
        text_labels: text.labels(&series),
        metrics,
        metric_rows: metrics.iter(),
        metric: metrics.get(0)?,
        content: block.verify()?,
        text,
    })
}

/// Returns a label of a view that does not outlive the function.
fn job(bytes: &[u8]) -> Option<&[u8]> {
    let view = BlockView::open(bytes).ok()?;
    let series = view.series(SeriesRef(0)).ok()??;
    series.get("job").ok()?
}

/// Like [`job`], with text of a block.
fn first_label(block: &Block) -> Option<TextLabel<'_>> {
    let view = block.view();
    let series = view.series(SeriesRef(0)).ok()??;
    view.text().ok()?.labels(&series).next()?.ok()
}

#[test]
fn labels_outlive_the_view_that_they_were_read_from() {
    let bytes = std::fs::read(GOLDEN).unwrap();
    let view = BlockView::open(&bytes).unwrap();
    let series = view.series(SeriesRef(0)).unwrap().unwrap();
    assert_eq!(job(&bytes), series.get(b"job").unwrap());
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let first = series.labels().next().unwrap().unwrap();
    let found = first_label(&block).unwrap();
    assert_eq!((found.name.as_bytes(), found.value.as_bytes()), first.into());
    let (name, value): (&str, &str) = found.into();
    assert_eq!(format!("{found:?}"), format!("Label {{ name: {name:?}, value: {value:?} }}"));
}

#[test]
fn a_clone_of_a_block_outlives_it_in_another_thread() {
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let (clone, count) = (block.clone(), block.view().series_count().unwrap());
    assert!(std::ptr::eq(block.bytes(), clone.bytes()), "clones share the bytes");
    drop(block);
    let counted = std::thread::spawn(move || clone.view().series_iter().map(Result::unwrap).count());
    assert_eq!(counted.join().unwrap(), count as usize);
}

#[test]
fn names_and_values_are_text_or_bytes() {
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let view = block.view();
    let series = view.series(SeriesRef(0)).unwrap().unwrap();
    let label = series.labels().next().unwrap().unwrap();
    let [name, value] = [label.name, label.value].map(|bytes| std::str::from_utf8(bytes).unwrap());
    let key = view.key(name).unwrap();
    assert!(key.is_some());
    assert_eq!(view.key(label.name), Ok(key));
    assert_eq!(view.lookup_symbol(name), view.lookup_symbol(label.name));
    assert_eq!(view.value_code(key.unwrap(), value), view.value_code(key.unwrap(), label.value));
    assert_eq!(series.get(name), Ok(Some(label.value)));
    let owned = OwnedLabels::from_series(&series).unwrap();
    assert_eq!((owned.get(name), owned.get(label.name)), (Some(label.value), Some(label.value)));
    let bytes = series.labels().map(|label| label.map(Into::into));
    let pairs: Vec<(&[u8], &[u8])> = bytes.collect::<Result<_, _>>().unwrap();
    assert_eq!(view.find(pairs.iter().copied()), Ok(Some(SeriesRef(0))));
    assert_eq!(view.find(pairs.iter().map(|&(name, _)| (name, b"\xff"))), Ok(None), "not UTF-8 and not in the block");
    let long = [0xFF; 70_000];
    assert_eq!(view.find([(&long[..], b"x")]), Ok(None), "longer than the policy allows and not UTF-8");
}

#[test]
fn public_types_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Block>();
    check::<View<'_>>();
    check::<BlockView<'_>>();
    check::<Series<'_, '_>>();
    check::<SeriesIter<'_, '_>>();
    check::<Labels<'_, '_>>();
    check::<LabelIdsIter<'_, '_>>();
    check::<Table<'_, '_>>();
    check::<Keyset<'_, '_>>();
    check::<Resolver<'_, '_>>();
    check::<Text<'_, '_>>();
    check::<OwnedLabels>();
    check::<OwnedMeta>();
    check::<Paths>();
    check::<Folder>();
    check::<Remap>();
    check::<RemapView<'_>>();
    check::<RemapFolder>();
    check::<Error>();
    check::<OpenError>();
    check::<FileError>();
}

#[test]
fn iterators_are_fused() {
    fn check<T: std::iter::FusedIterator>() {}
    check::<Sections<'_>>();
    check::<SeriesIter<'_, '_>>();
    check::<KeysetSeries<'_, '_>>();
    check::<Labels<'_, '_>>();
    check::<TextLabels<'_, '_>>();
    check::<LabelIdsIter<'_, '_>>();
    check::<TableKeys<'_, '_>>();
    check::<MetricRows<'_>>();
    check::<Pairs<'_>>();
    check::<Targets<'_, '_>>();
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    assert_eq!(block.view().sections().len(), block.view().sections().count());
}

#[test]
fn a_block_id_is_parsed_from_its_text() {
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let id = block.view().block_id();
    assert_eq!(id.to_string().parse(), Ok(id));
    assert!("not an id".parse::<BlockId>().is_err());
}

#[test]
fn an_error_found_late_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.cx");
    let mut bytes = std::fs::read(GOLDEN_OF_MANY_CHUNKS).unwrap();
    let view = BlockView::open(&bytes).unwrap();
    let arena = view.sections().find(|section| section.known() == Some(SectionKind::Arena)).unwrap();
    let place = usize::try_from(arena.offset).unwrap();
    bytes[place] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let block = Block::read(&path, Checks::Lazy).unwrap();
    let error = block.view().text().map_err(|error| block.locate(error)).unwrap_err();
    assert_eq!(error.source.rule(), Rule::ChunkChecksum);
    assert_eq!(error.path.as_deref(), block.path());
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    let in_memory = Block::from_vec(bytes, Checks::Lazy).unwrap();
    assert_eq!(
        (in_memory.path(), in_memory.locate(error.source.clone()).to_string()),
        (None, error.source.to_string())
    );
}

#[test]
fn an_engine_can_name_everything_that_it_gets() {
    let block: Block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let view: View<'_> = block.view();
    let engine = engine(&block, &view).unwrap();
    assert_eq!(engine.content.series_count, u64::from(view.series_count().unwrap()));
    let id: BlockId = engine.owned.block_id();
    assert_eq!(id, view.block_id());
    let first: LabelIds = engine.series.label_ids().next().unwrap().unwrap();
    let (key, value): (KeyId, SymbolId) = (first.key, first.value);
    let label: Label<'_> = engine.series.labels().next().unwrap().unwrap();
    assert_eq!((view.key_name(key), view.symbol(value)), (Ok(label.name), Ok(label.value)));
    let section: Section = view.sections().next().unwrap();
    assert_eq!(section.known().map(SectionKind::name), section.known().map(|kind| kind.name()));
    let _: [Domain; 3] = [Domain::Arena, Domain::Table(TableId(0)), Domain::Pool(PoolId(0))];
    let _: Fingerprint = engine.content.fingerprint;
    let mut resolver: Resolver<'_, '_> = view.resolver();
    assert_eq!(resolver.labels(SeriesRef(0)).unwrap().unwrap().first(), Some(&label));

    let refused: FindError = view.find([("__name__", "a"), ("__name__", "b")]).unwrap_err();
    assert!(!refused.to_string().is_empty());
    let error: OpenError = Block::read("/no/such/block.cx", Checks::Lazy).unwrap_err();
    assert!(error.to_string().contains("/no/such/block.cx"));
    let mut bytes = std::fs::read(GOLDEN).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let damaged: Error = Block::from_vec(bytes, Checks::Eager).unwrap_err();
    let ErrorKind::Corrupt(Corruption { rule, .. }) = *damaged.kind() else { panic!("{damaged}") };
    let _: Rule = rule;

    let folder = Folder::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden"), Checks::Lazy).unwrap();
    let lineages: Vec<&Lineage> = folder.lineages().iter().map(|(_, lineage)| lineage).collect();
    assert!(!lineages.is_empty());
    let remap = Remap::read(GOLDEN_REMAP, Checks::Lazy).unwrap();
    let view: RemapView<'_> = remap.view();
    let targets: Targets<'_, '_> = view.targets().unwrap();
    let all: Vec<Option<Target>> = targets.map(Result::unwrap).collect();
    assert_eq!(all.len() as u64, view.series_count().unwrap());
}

#[test]
fn debug_output_is_an_id_and_a_length_and_labels_are_text() {
    let block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let view = block.view();
    let (id, len) = (view.block_id(), block.bytes().len());
    assert_eq!(format!("{block:?}"), format!("Block {{ id: BlockId({id}), len: {len} }}"));
    assert_eq!(format!("{view:?}"), format!("BlockView {{ id: BlockId({id}), len: {len} }}"));
    let remap = Remap::read(GOLDEN_REMAP, Checks::Lazy).unwrap();
    let (input, len) = (remap.view().input_id(), remap.bytes().len());
    assert_eq!(format!("{remap:?}"), format!("Remap {{ input: BlockId({input}), len: {len} }}"));
    let label = Label { name: b"job", value: "größe".as_bytes() };
    assert_eq!(format!("{label:?}"), r#"Label { name: "job", value: "größe" }"#);
    let series = view.series(SeriesRef(0)).unwrap().unwrap();
    let owned = OwnedLabels::from_series(&series).unwrap();
    let first = series.labels().next().unwrap().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(format!("{owned:?}").starts_with(&format!("{{{:?}: {:?}", text(first.name), text(first.value))));
    // No part of a block prints the bytes of the whole.
    let engine = engine(&block, &view).unwrap();
    let debug = format!("{engine:?}");
    assert!(debug.len() < 20_000, "{} bytes: {debug}", debug.len());
}
