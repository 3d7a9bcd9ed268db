//! The reader's public surface is enough: every type of its signatures can be named, and debug output is short.

use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{
    AllSeries, Block, BlockId, BlockView, Checks, Column, ContentFingerprint, Corruption, Domain, Error, FindError,
    Fingerprint, Folder, Frame, Job, KeyId, Keyset, KeysetSeries, Label, LabelIds, LabelIdsIter, LabelPolicy, Labels,
    Leaves, List, Meta, MetricMetadata, MetricRows, Metrics, OpenError, OwnedLabels, OwnedMeta, Pairs, Pool, PoolId,
    Remap, RemapView, Resolver, RowForm, Rule, Section, SectionKind, Sections, Series, SeriesRef, SymbolId, Symbols,
    Table, TableId, Target, Targets, Text, TimeRange,
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/metrics.cx");
const GOLDEN_REMAP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/remaps/golden/shards.cxr");

/// What an engine that stores the results of calls in its own types has to be able to write.
#[derive(Debug)]
#[expect(dead_code, reason = "what matters is that the types can be named")]
struct Engine<'v> {
    view: &'v BlockView<'v>,
    frame: Frame,
    meta: Meta<'v>,
    owned: OwnedMeta,
    external: Pairs<'v>,
    times: [Option<TimeRange>; 2],
    job: Option<Job>,
    policy: LabelPolicy,
    rows: RowForm,
    sections: Sections<'v>,
    symbols: &'v Symbols<'v>,
    table: Table<'v>,
    column: Column,
    pool: Option<Pool<'v>>,
    list: Option<List<'v>>,
    keyset: Keyset<'v>,
    keys: Leaves<'v>,
    of_keyset: KeysetSeries<'v>,
    all: AllSeries<'v>,
    series: Series<'v>,
    ids: LabelIdsIter<'v>,
    labels: Labels<'v>,
    metrics: Metrics<'v>,
    metric_rows: MetricRows<'v>,
    metric: Option<MetricMetadata<'v>>,
    content: ContentFingerprint,
    text: Text<'v>,
}

fn engine<'v>(block: &'v Block, view: &'v BlockView<'v>) -> Result<Engine<'v>, Error> {
    let meta = view.meta()?;
    let keyset: Keyset<'v> = view.keyset(0)?;
    let table: Table<'v> = keyset.table();
    let series = view.series(SeriesRef(0))?.expect("the golden has series");
    let metrics = view.metric_metadata()?;
    Ok(Engine {
        view,
        frame: *view.frame(),
        meta,
        owned: view.to_owned_meta()?,
        external: meta.external_labels()?,
        times: [meta.time(), meta.window()],
        job: meta.job(),
        policy: meta.policy(),
        rows: view.row_form(),
        sections: view.sections(),
        symbols: view.symbols(),
        table,
        column: table.column(0)?,
        pool: keyset.pool(),
        list: keyset.list(0)?,
        keyset,
        keys: keyset.keys()?,
        of_keyset: keyset.series()?,
        all: view.all_series(),
        series,
        ids: series.label_ids(),
        labels: series.labels(),
        metrics,
        metric_rows: metrics.iter(),
        metric: metrics.get(0)?,
        content: block.verify()?,
        text: block.text(view)?,
    })
}

#[test]
fn an_engine_can_name_everything_that_it_gets() {
    let block: Block = Block::read(GOLDEN, Checks::Lazy).unwrap();
    let view: BlockView<'_> = block.view();
    let engine = engine(&block, &view).unwrap();
    assert_eq!(engine.content.series_count, u64::from(view.series_count().unwrap()));
    let id: BlockId = engine.owned.block_id();
    assert_eq!(id, view.block_id());
    let first: LabelIds = engine.series.label_ids().next().unwrap().unwrap();
    let (key, value): (KeyId, SymbolId) = (first.key, first.value);
    let label: Label<'_> = engine.series.labels().next().unwrap().unwrap();
    assert_eq!((view.key_name(key).unwrap(), view.symbol(value).unwrap()), (label.name, Some(label.value)));
    let section: Section = view.sections().next().unwrap();
    assert_eq!(section.known().map(SectionKind::name), section.known().map(|kind| kind.name()));
    let _: [Domain; 3] = [Domain::Arena, Domain::Table(TableId(0)), Domain::Pool(PoolId(0))];
    let _: Fingerprint = engine.content.fingerprint;
    let mut resolver: Resolver<'_> = view.resolver();
    assert_eq!(resolver.labels(SeriesRef(0)).unwrap().unwrap().first(), Some(&label));

    let refused: FindError = view.find([("__name__", "a"), ("__name__", "b")]).unwrap_err();
    assert!(!refused.to_string().is_empty());
    let error: OpenError = Block::read("/no/such/block.cx", Checks::Lazy).unwrap_err();
    assert!(error.to_string().contains("/no/such/block.cx"));
    let mut bytes = std::fs::read(GOLDEN).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let damaged: Error = Block::from_vec(bytes, Checks::Eager).unwrap_err();
    let Error::Corrupt(Corruption { rule, .. }) = damaged else { panic!("{damaged}") };
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
    let owned = OwnedLabels::of(&series).unwrap();
    let first = series.labels().next().unwrap().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(format!("{owned:?}").starts_with(&format!("{{{:?}: {:?}", text(first.name), text(first.value))));
    // No part of a block prints the bytes of the whole.
    let engine = engine(&block, &view).unwrap();
    let debug = format!("{engine:?}");
    assert!(debug.len() < 20_000, "{} bytes: {debug}", debug.len());
}
