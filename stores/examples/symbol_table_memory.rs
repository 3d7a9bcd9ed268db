//! Prints the memory of each symbol table for the same strings, as a Markdown table.
//!
//! ```sh
//! cargo run --release -p chronoxide-stores --example symbol_table_memory -- 512 25000 75000
//! ```
//!
//! The arguments are label keys besides `__name__`, common values and rare values.

mod support;

use chronoxide_labels::{ArenaSymbolTable, SymbolTable};
use chronoxide_stores::{
    ArcSymbolTable, ByteViewSymbolTable, GermanSymbolTable, LassoSymbolTable, PackedArenaSymbolTable,
    SmolStrSymbolTable, TrackingAllocator, UnpackedArenaSymbolTable, hash_collisions,
};
use chronoxide_testkit::articles::{SEED, Symbols};
use foldhash::fast::RandomState;
use support::{numbers, print_head, print_row};

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

fn main() {
    let [keys, common, rare] = numbers("usage: symbol_table_memory [KEYS [COMMON [RARE]]]", [512, 25_000, 75_000]);
    let symbols = Symbols::new(keys + 1, common, rare, SEED);
    let texts: Vec<&str> = symbols.unique().collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    println!("{} distinct strings, {bytes} bytes\n", texts.len());
    print_head("table", &["collisions"]);
    // The first hasher of a process allocates its seed.
    ArenaSymbolTable::new().intern("").expect("the table has room");
    row("Arc", &texts, ArcSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("German", &texts, GermanSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("SmolStr", &texts, SmolStrSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("ByteView", &texts, ByteViewSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("Lasso", &texts, LassoSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("arena, unpacked", &texts, UnpackedArenaSymbolTable::<RandomState>::new, |table| {
        hash_collisions(table.hashes())
    });
    row("arena, packed", &texts, PackedArenaSymbolTable::<RandomState>::new, |table| hash_collisions(table.hashes()));
    row("arena of labels", &texts, ArenaSymbolTable::new, |table| hash_collisions(table.hashes()));
}

fn row<T: SymbolTable>(name: &str, texts: &[&str], make: fn() -> T, collisions: fn(&T) -> usize) {
    let (table, allocations) = TrackingAllocator::measure(|| {
        let mut table = make();
        for text in texts {
            table.intern(text).expect("the table has room");
        }
        table
    });
    assert_eq!(table.len(), texts.len());
    let bytes = (table.estimated_bytes(), table.used_bytes());
    print_row(name, allocations, bytes, &[collisions(&table).to_string()]);
}
