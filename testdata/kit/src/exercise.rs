//! The whole read API over any bytes: what flips, truncations, hostile fields and fuzzers are tried against.
//!
//! Nothing here may panic, loop or read out of bounds, whatever the bytes are. How much is looked at is bounded, since
//! few bytes can stand for very many series.

use chronoxide_dump::metrics::write_metrics;
use chronoxide_dump::plan::{Plan, plan_entries};
use chronoxide_dump::series::{Format, write_series};
use chronoxide_dump::summary::Summary;
use chronoxide_dump::tables::{Selection, table_entries};
use chronoxide_dump::{DumpError, dump};
use chronoxide_format::view::{BlockView, FindError, Paths, Series};
use chronoxide_format::{KeyId, PoolId, Result, SeriesRef, SymbolId, TableId};

/// Things of each kind that are looked at, from the first on.
const FIRST: u32 = 40;

/// Series that are looked at where all must be or none.
const MAX_SERIES: u32 = 200;

/// Opens a block without verifying it and calls everything that can be called. Returns how many labels were read, and
/// the errors met.
#[must_use]
pub fn read_everything(bytes: &[u8]) -> Tally {
    // A dump's lines are as long as the lists and rows that they show.
    read_some(bytes, FIRST, bytes.len() < 10_000)
}

/// Like [`read_everything`], for the first few things of each kind; also as text, if requested, which costs more than
/// the rest.
pub fn read_some(bytes: &[u8], first: u32, as_text: bool) -> Tally {
    let mut tally = Tally::default();
    let mut arena = Vec::new();
    let Ok(view) = BlockView::open_unpacked(bytes, &mut arena) else {
        tally.errors += 1;
        return tally;
    };
    let paths = Paths::new();
    for view in [view, view.with_paths(&paths)] {
        let reader = Reader { view: &view, first };
        tally.note(reader.names());
        tally.note(reader.tables());
        tally.note(read_meta(&view));
        tally.note(reader.metrics());
        tally.note(reader.columns());
        reader.series(&mut tally);
    }
    tally.note_dump(Summary::from_view(&view).map(|_| ()).map_err(DumpError::from));
    if as_text {
        tally.note_dump(dump(&view, Some(3), &mut std::io::sink()));
        for json in [false, true] {
            tally.note_dump(write_metrics(&view, None, json, &mut std::io::sink()));
        }
        let selection = Selection { first: Some(3), ..Selection::default() };
        tally.note_dump(table_entries(&view, selection, &mut |_| Ok(())));
        tally.note_dump(gains(&view));
        for format in [Format::Table, Format::SeriesJson, Format::Prometheus] {
            tally.note_dump(write_series(&view, format, Some(3), &mut std::io::sink()));
        }
    }
    tally
}

/// Reads the gains of the planner, unless there are too many series.
fn gains(view: &BlockView<'_>) -> std::result::Result<(), DumpError> {
    if view.series_count()? > MAX_SERIES {
        return Ok(());
    }
    plan_entries(view, &Plan::from_view(view)?, Some(3), &mut |_| Ok(()))
}

/// Counts of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Labels that were read.
    pub labels: u64,
    /// Calls that ended in an error.
    pub errors: u64,
}

impl Tally {
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        self.errors += u64::from(result.is_err());
        result.ok()
    }

    fn note_dump(&mut self, result: Result<(), DumpError>) {
        self.errors += u64::from(result.is_err());
    }
}

/// Reads the first few things of each kind.
struct Reader<'v> {
    view: &'v BlockView<'v>,
    first: u32,
}

impl Reader<'_> {
    /// The first few numbers below `count`, the last one, and one beyond.
    fn some(&self, count: u32) -> impl Iterator<Item = u32> + use<> {
        (0..count.min(self.first)).chain([count.saturating_sub(1), count])
    }

    fn names(&self) -> Result<()> {
        let view = self.view;
        for id in self.some(view.symbols().count()) {
            if let Ok(symbol) = view.symbol(SymbolId(id)) {
                let _ = view.lookup_symbol(symbol)?;
            }
        }
        view.lookup_symbol(b"")?;
        view.lookup_symbol([0xFF; 40])?;
        let _ = view.label_names().take(self.first as usize).filter(Result::is_ok).count();
        for key in self.some(view.key_count()).map(KeyId) {
            if let Ok(name) = view.key_name(key) {
                view.key(name)?;
            }
            let _ = view.cardinality(key);
            if let Ok(Some(values)) = view.label_values(key) {
                for value in values.take(self.first as usize) {
                    view.value_code(key, value?)?;
                }
            }
        }
        Ok(())
    }

    fn tables(&self) -> Result<()> {
        let view = self.view;
        for id in self.some(view.table_count()) {
            let Ok(Some(table)) = view.table(TableId(id)) else { continue };
            let _ = (table.len(), table.is_empty(), table.is_keyset());
            for column in self.some(table.column_count()) {
                let Ok(column) = table.column(column) else { continue };
                for row in self.some(table.row_count()) {
                    let _ = table.code(row, &column);
                }
            }
            for leaf in self.some(table.leaf_count().unwrap_or(0)) {
                let _ = table.leaf_key(leaf);
            }
        }
        for id in self.some(view.pool_count()) {
            let Ok(Some(pool)) = view.pool(PoolId(id)) else { continue };
            for number in self.some(pool.list_count()) {
                let Ok(list) = pool.list(number) else { continue };
                for place in self.some(list.len()) {
                    if let Ok(member) = list.get(place) {
                        list.position(member)?;
                    }
                }
            }
        }
        for id in self.some(view.keyset_count()) {
            let Ok(Some(keyset)) = view.keyset(id) else { continue };
            let _ = keyset.keys().map(Iterator::count);
            for anchor in self.some(keyset.anchor_count()) {
                let _ = keyset.anchor(anchor);
            }
            let _ = keyset.series().map(|series| series.take(self.first as usize).count());
        }
        Ok(())
    }

    fn columns(&self) -> Result<()> {
        for column in self.view.series_columns() {
            let column = column?;
            let _ = (self.view.series_column(column.name()), column.merge(), column.unit(), column.text_count());
            for series in self.some(self.view.series_count()?) {
                let _ = column.get(SeriesRef(series));
            }
            let _ = column.get(SeriesRef(u32::MAX));
            let end = SeriesRef(self.first);
            column.read(SeriesRef(0)..end, |_, _| Ok::<(), chronoxide_format::Error>(()))?;
        }
        let _ = self.view.series_column("no such column")?;
        Ok(())
    }

    fn metrics(&self) -> Result<()> {
        let metrics = self.view.metric_metadata()?;
        let _ = (metrics.is_empty(), metrics.iter().take(self.first as usize).count());
        for row in self.some(metrics.len()) {
            // A row that cannot be read leaves the others as they are.
            if let Ok(Some(metadata)) = metrics.get(row) {
                let _ = metrics.find(metadata.name).map(|rows| rows.take(self.first as usize).count());
            }
        }
        for unknown in ["", "no such metric", "\u{10ffff}"] {
            let _ = metrics.find(unknown)?.take(self.first as usize).count();
        }
        Ok(())
    }

    fn series(&self, tally: &mut Tally) {
        let view = self.view;
        let text = tally.note(view.text());
        for series in view.series_iter().take(self.first as usize) {
            let Some(series) = tally.note(series) else { break };
            read_labels(view, &series, tally);
            if let Some(text) = &text {
                tally.labels += text.labels(&series).filter(Result::is_ok).count() as u64;
            }
        }
        let count = tally.note(view.series_count()).unwrap_or(0);
        let mut resolver = view.resolver();
        for series in (0..count.min(self.first)).chain(self.some(count)).chain([u32::MAX]) {
            if let Some(Some(labels)) = tally.note(resolver.labels(SeriesRef(series))) {
                tally.labels += labels.len() as u64;
            }
        }
        let refs: Vec<SeriesRef> = self.some(count).chain([u32::MAX, 0, 0]).map(SeriesRef).collect();
        resolver.resolve_many(&refs, |_, labels| {
            tally.labels += tally.note(labels).flatten().map_or(0, <[_]>::len) as u64;
        });
        let scattered = (0..self.first).map(|n| (u64::from(n) * 2_654_435_761 % (u64::from(count) + 1)) as u32);
        for series in self.some(count).chain(scattered).chain([u32::MAX]) {
            if let Some(Some(series)) = tally.note(view.series(SeriesRef(series))) {
                read_labels(view, &series, tally);
            }
        }
    }
}

fn read_meta(view: &BlockView<'_>) -> Result<()> {
    let meta = view.meta()?;
    let _ = (meta.time(), meta.window(), meta.job(), meta.policy(), meta.fingerprint(), meta.row_form());
    let _ = meta.parents()?.count() + meta.ancestors()?.count();
    let _ = meta.external_labels()?.count() + meta.annotations()?.count();
    view.sections().count();
    Ok(())
}

fn read_labels(view: &BlockView<'_>, series: &Series<'_, '_>, tally: &mut Tally) {
    let mut labels = Vec::new();
    for label in series.labels() {
        let Some(label) = tally.note(label) else { return };
        tally.labels += 1;
        tally.note(series.get(label.name));
        labels.push((label.name, label.value));
    }
    tally.note(series.ids(u32::MAX));
    let found = view.find(labels.iter().copied());
    tally.errors += u64::from(matches!(found, Err(FindError::Block(_))));
}
