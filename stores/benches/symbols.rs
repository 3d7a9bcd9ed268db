//! Benchmarks symbol tables on the articles' strings: 513 keys, 25,000 common values and 75,000 rare ones.
//!
//! | group | work |
//! | --- | --- |
//! | `intern/unique` | intern all 100,513 strings into an empty table |
//! | `intern/mixed` | intern 150,000 pairs into an empty table: a random key, and 3 in 4 a common value, 1 in 4 a new one |
//! | `lookup_hit` | look up all strings |
//! | `lookup_miss` | look up as many other strings |
//! | `resolve+hash` | resolve all ids in random order and hash the strings |

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;

use chronoxide_labels::{ArenaSymbolTable, StoreSymbolId, SymbolTable};
use chronoxide_stores::{
    ArcSymbolTable, ByteViewSymbolTable, GermanSymbolTable, LassoSymbolTable, PackedArenaSymbolTable,
    SmolStrSymbolTable, UnpackedArenaSymbolTable,
};
use chronoxide_testkit::articles::{SEED, Symbols};
use chronoxide_testkit::random::Random;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use foldhash::fast::RandomState;

const PAIRS: usize = 150_000;

/// Strings of all groups.
struct Strings<'a> {
    unique: Vec<&'a str>,
    mixed: Vec<&'a str>,
    missing: Vec<&'a str>,
    /// All ids in random order.
    ids: Vec<StoreSymbolId>,
}

fn benches(criterion: &mut Criterion) {
    let (symbols, others) = (Symbols::from_articles(), Symbols::new(513, 25_000, 75_000, SEED + 1));
    let unique: Vec<&str> = symbols.unique().collect();
    let mut ids: Vec<StoreSymbolId> = (0..unique.len() as u32).map(StoreSymbolId).collect();
    Random::new(SEED).shuffle(&mut ids);
    let known: std::collections::HashSet<&str> = unique.iter().copied().collect();
    let missing = others.unique().filter(|text| !known.contains(text)).collect();
    let strings = Strings { unique, mixed: symbols.mixed(PAIRS), missing, ids };
    table("Arc", ArcSymbolTable::<RandomState>::new, &strings, criterion);
    table("German", GermanSymbolTable::<RandomState>::new, &strings, criterion);
    table("SmolStr", SmolStrSymbolTable::<RandomState>::new, &strings, criterion);
    table("ByteView", ByteViewSymbolTable::<RandomState>::new, &strings, criterion);
    table("Lasso", LassoSymbolTable::<RandomState>::new, &strings, criterion);
    table("arena unpacked", UnpackedArenaSymbolTable::<RandomState>::new, &strings, criterion);
    table("arena packed", PackedArenaSymbolTable::<RandomState>::new, &strings, criterion);
    table("arena of labels", ArenaSymbolTable::new, &strings, criterion);
}

fn fill<T: SymbolTable>(table: &mut T, texts: &[&str]) -> u64 {
    texts.iter().map(|text| u64::from(table.intern(text).expect("the table has room").0)).sum()
}

fn table<T: SymbolTable>(name: &str, make: fn() -> T, strings: &Strings<'_>, criterion: &mut Criterion) {
    let mut known = make();
    fill(&mut known, &strings.unique);
    assert_eq!(known.len(), strings.unique.len());
    assert!(strings.missing.iter().all(|text| known.get(text).is_none()));

    let groups = [("intern/unique", &strings.unique), ("intern/mixed", &strings.mixed)];
    for (group, texts) in groups {
        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Elements(texts.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(make, |table| fill(table, texts), BatchSize::PerIteration);
        });
        group.finish();
    }
    for (group, texts) in [("lookup_hit", &strings.unique), ("lookup_miss", &strings.missing)] {
        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Elements(texts.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| texts.iter().filter(|text| known.get(text).is_some()).count());
        });
        group.finish();
    }
    let mut group = criterion.benchmark_group("resolve+hash");
    group.throughput(Throughput::Elements(strings.ids.len() as u64));
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let hashes = strings.ids.iter().map(|&id| hasher.hash_one(known.resolve(id).expect("a known id")));
            black_box(hashes.fold(0, u64::wrapping_add))
        });
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
