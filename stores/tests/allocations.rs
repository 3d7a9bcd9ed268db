//! Allocations of tables and stores: no more than the articles counted on the same kind of data, and as many bytes as
//! the tables estimate.

use byteview::ByteView;
use chronoxide_labels::{ArenaSymbolTable, LabelSetStore, LabelSets, SymbolTable};
use chronoxide_stores::{
    Allocations, ArcSymbolTable, BitPackedKeySetLabelSetStore, ByteViewSymbolTable,
    FixedWidthPackedKeySetLabelSetStore, FlatInternedLabelSetStore, GermanSymbolTable, KeySetDictEncodedLabelSetStore,
    LassoSymbolTable, NaiveLabelSetStore, PackedArenaSymbolTable, SmolStrSymbolTable, TrackingAllocator,
    UnpackedArenaSymbolTable,
};
use chronoxide_testkit::articles::{self, Symbols};
use foldhash::fast::RandomState;

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

fn interned<T: SymbolTable>(make: fn() -> T, texts: &[&str]) -> (T, Allocations) {
    TrackingAllocator::measure(|| {
        let mut table = make();
        for text in texts {
            table.intern(text).unwrap();
        }
        table
    })
}

/// Interns the articles' strings. Returns the number of allocations, after a comparison of the table's estimate with
/// the bytes that were requested.
fn allocations<T: SymbolTable>(name: &str, make: fn() -> T, texts: &[&str]) -> u64 {
    let (table, allocations) = interned(make, texts);
    assert_eq!(table.len(), texts.len());
    let (estimated, requested) = (table.estimated_bytes() as f64, allocations.requested as f64);
    println!("{name}: {allocations:?}, estimated {estimated}, used {}", table.used_bytes());
    assert!((estimated / requested - 1.0).abs() < 0.001, "{name}: {estimated} estimated, {requested} requested");
    assert!(table.used_bytes() as f64 <= requested, "{name}");
    allocations.allocations
}

fn inserted<S: LabelSetStore>(make: fn() -> S, series: &[Vec<(&str, &str)>]) -> (S, Allocations) {
    TrackingAllocator::measure(|| {
        let mut store = make();
        for labels in series {
            store.insert(labels).unwrap();
        }
        store
    })
}

fn check_store<S: LabelSetStore>(name: &str, make: fn() -> S, series: &[Vec<(&str, &str)>]) -> (S, Allocations) {
    let (store, allocations) = inserted(make, series);
    assert_eq!(store.len(), series.len());
    let (estimated, requested) = (store.estimated_bytes() as f64, allocations.requested as f64);
    println!("{name}: {allocations:?}, estimated {estimated}, used {}", store.used_bytes());
    assert!((estimated / requested - 1.0).abs() < 0.01, "{name}: {estimated} estimated, {requested} requested");
    assert!(store.used_bytes() as f64 <= requested, "{name}");
    (store, allocations)
}

/// One test: another one on another thread would be counted, too.
#[test]
fn tables_and_stores_allocate_no_more_than_in_the_articles() {
    let symbols = Symbols::from_articles();
    let texts: Vec<&str> = symbols.unique().collect();
    // The first hasher of a process allocates its seed.
    ArenaSymbolTable::new().intern("").unwrap();
    assert!(allocations("Arc", ArcSymbolTable::<RandomState>::new, &texts) <= 100_530);
    assert!(allocations("German", GermanSymbolTable::<RandomState>::new, &texts) <= 69_069);
    assert!(allocations("SmolStr", SmolStrSymbolTable::<RandomState>::new, &texts) <= 25_873);
    assert!(allocations("ByteView", ByteViewSymbolTable::<RandomState>::new, &texts) < 40_000);
    assert!(allocations("Lasso", LassoSymbolTable::<RandomState>::new, &texts) <= 20);
    assert!(allocations("arena, packed", PackedArenaSymbolTable::<RandomState>::new, &texts) <= 18);
    assert!(allocations("arena, unpacked", UnpackedArenaSymbolTable::<RandomState>::new, &texts) <= 18);
    assert!(allocations("arena of labels", ArenaSymbolTable::new, &texts) <= 18);

    let owned = articles::series(100_000);
    let series: Vec<Vec<(&str, &str)>> = owned
        .iter()
        .map(|labels| labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
        .collect();
    let (_, naive) = check_store("naive", NaiveLabelSetStore::new, &series);
    assert_eq!(naive.allocations, 1_100_017, "as in the article: 11 per series, and 17 of the table and the list");
    let (_, flat) = check_store("flat", FlatInternedLabelSetStore::new, &series);
    let (keyset, keyset_allocations) = check_store("keyset", KeySetDictEncodedLabelSetStore::new, &series);
    assert!(flat.allocations < 100 && keyset_allocations.allocations < 200);
    assert!(keyset.used_bytes() < naive.requested as usize / 8);

    let (fixed, _) = FixedWidthPackedKeySetLabelSetStore::from_store(&keyset).unwrap();
    let (packed, _) = BitPackedKeySetLabelSetStore::from_store(&keyset).unwrap();
    assert!(packed.used_bytes() < fixed.used_bytes() / 4 * 3, "bits are fewer than bytes");

    let (empty, none) = TrackingAllocator::measure(|| ByteView::from_reader(&mut &b"text"[..], 0).unwrap());
    assert_eq!((empty.len(), none), (0, Allocations::default()), "an empty value allocates nothing");
    let (inline, none) = TrackingAllocator::measure(|| ByteView::from_reader(&mut &[7; 20][..], 20).unwrap());
    assert_eq!((&*inline, none), (&[7; 20][..], Allocations::default()), "20 bytes are inline");
    let (heap, one) = TrackingAllocator::measure(|| ByteView::from_reader(&mut &[7; 21][..], 21).unwrap());
    assert_eq!((heap.len(), one.allocations), (21, 1));
}
