//! Every table and store passes the conformance suite, also when all hashes collide.

use std::hash::{BuildHasherDefault, Hasher};

use chronoxide_labels::{ArenaSymbolTable, LabelSetStore, StoreSymbolId, SymbolTable};
use chronoxide_stores::{
    ArcSymbolTable, BitPackedKeySetLabelSetStore, ByteViewSymbolTable, FixedWidthPackedKeySetLabelSetStore,
    FlatInternedLabelSetStore, GermanSymbolTable, KeySetDictEncodedLabelSetStore, LassoSymbolTable, NaiveLabelSetStore,
    PackedArenaSymbolTable, RowWidth, SealedLabelSets, SmolStrSymbolTable, UnpackedArenaSymbolTable,
};
use chronoxide_testkit::conformance::{check_labelset_store, check_labelsets, check_symbol_table};
use chronoxide_testkit::sweep;

/// Returns the seeds of random cases: one, or four if all cases are asked for.
fn seeds() -> std::ops::Range<u64> {
    1..sweep::cases(2, 5)
}

/// Gives every value the same hash.
#[derive(Default)]
struct ConstantHasher;

impl Hasher for ConstantHasher {
    fn write(&mut self, _bytes: &[u8]) {}

    fn finish(&self) -> u64 {
        0x5555_5555_5555_5555
    }
}

type Constant = BuildHasherDefault<ConstantHasher>;

/// A test of a table with its own hasher, and one with a hasher that gives every string the same hash.
macro_rules! table_tests {
    ($($name:ident: $table:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn agrees_with_the_model() {
                seeds().for_each(|seed| check_symbol_table(<$table>::default, seed));
            }

            #[test]
            fn agrees_with_the_model_when_all_hashes_collide() {
                check_symbol_table(<$table<Constant>>::default, 9);
            }
        }
    )*};
}

table_tests! {
    arc: ArcSymbolTable;
    german: GermanSymbolTable;
    smol_str: SmolStrSymbolTable;
    byteview: ByteViewSymbolTable;
    packed_arena: PackedArenaSymbolTable;
    unpacked_arena: UnpackedArenaSymbolTable;
    lasso: LassoSymbolTable;
}

fn store<S: LabelSetStore + Default>() {
    seeds().for_each(|seed| check_labelset_store(S::default, seed));
}

#[test]
fn the_naive_store_agrees_with_the_model() {
    store::<NaiveLabelSetStore>();
    store::<NaiveLabelSetStore<Constant>>();
}

#[test]
fn the_flat_store_over_any_table_agrees_with_the_model() {
    store::<FlatInternedLabelSetStore>();
    store::<FlatInternedLabelSetStore<ArcSymbolTable>>();
    store::<FlatInternedLabelSetStore<GermanSymbolTable>>();
    store::<FlatInternedLabelSetStore<SmolStrSymbolTable>>();
    store::<FlatInternedLabelSetStore<ByteViewSymbolTable>>();
    store::<FlatInternedLabelSetStore<PackedArenaSymbolTable>>();
    store::<FlatInternedLabelSetStore<UnpackedArenaSymbolTable>>();
    store::<FlatInternedLabelSetStore<LassoSymbolTable>>();
    store::<FlatInternedLabelSetStore<ArenaSymbolTable<Constant>, Constant>>();
}

#[test]
fn the_keyset_store_agrees_with_the_model() {
    store::<KeySetDictEncodedLabelSetStore>();
    store::<KeySetDictEncodedLabelSetStore<Constant>>();
}

fn sealed<W: RowWidth>(labelsets: &[Vec<(String, String)>]) -> SealedLabelSets<W> {
    let mut store = KeySetDictEncodedLabelSetStore::new();
    for labels in labelsets {
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        store.insert(&labels).unwrap();
    }
    let (sealed, refs) = SealedLabelSets::from_store(&store).unwrap();
    let mut sorted: Vec<u32> = refs.iter().map(|series| series.0).collect();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..labelsets.len() as u32), "refs are a permutation");
    sealed
}

#[test]
fn sealed_stores_agree_with_the_model() {
    for seed in seeds() {
        check_labelsets::<FixedWidthPackedKeySetLabelSetStore>(sealed, seed);
        check_labelsets::<BitPackedKeySetLabelSetStore>(sealed, seed);
    }
}

/// Interns the same strings into two tables. Ids, resolved strings and counts must agree.
fn agree(left: &mut impl SymbolTable, right: &mut impl SymbolTable, texts: &[&str]) {
    for &text in texts {
        assert_eq!(left.intern(text), right.intern(text), "{text:?}");
    }
    assert_eq!(left.len(), right.len());
    for id in (0..left.len() as u32).map(StoreSymbolId) {
        assert_eq!(left.resolve(id), right.resolve(id));
    }
}

#[test]
fn tables_agree_on_the_articles_strings() {
    let symbols = chronoxide_testkit::articles::Symbols::new(513, 2_500, 7_500, 7);
    let mixed = symbols.mixed(15_000);
    let mut arena: ArenaSymbolTable = ArenaSymbolTable::new();
    agree(&mut arena, &mut PackedArenaSymbolTable::<foldhash::fast::RandomState>::new(), &mixed);
    agree(&mut ArenaSymbolTable::new(), &mut LassoSymbolTable::<foldhash::fast::RandomState>::new(), &mixed);
}
