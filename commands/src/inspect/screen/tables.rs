//! The list of tables and pools.

use std::fmt;
use std::io::{self, Write};

use chronoxide_dump::tables::{ColumnEntry, Entry, PoolEntry, PoolTotal, Referrers, TableEntry, Total};
use chronoxide_text::human::{self, count_of};

use super::List;

/// Writes the line of an entry, with at most `most` items of each list.
pub(crate) fn write(entry: &Entry<'_>, most: usize, out: &mut dyn Write) -> io::Result<()> {
    match entry {
        Entry::Table(entry) => table(entry, most, out),
        Entry::Pool(entry) => pool(entry, out),
        Entry::More { count } => writeln!(out, "{:>8} {} more", "...", human::count((*count).into())),
        Entry::Total(total) => kind_total(total, out),
        Entry::PoolTotal(total) => pool_total(total, out),
    }
}

fn table(entry: &TableEntry<'_>, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let (rows, bits) = (count_of(entry.rows.into(), "row"), count_of(entry.bits.into(), "bit"));
    let bytes = count_of(entry.bytes, "byte");
    let keys = List { what: "key", items: &entry.keys, most };
    let columns: Vec<ShownColumn> = entry.columns.iter().copied().map(ShownColumn).collect();
    let columns = List { what: "column", items: &columns, most };
    write!(out, "{:>8} {:10} {rows:>16} {bits:>9} {bytes:>20}  ", entry.table, entry.kind.name())?;
    match entry.keyset {
        Some(keyset) => writeln!(out, "keyset {keyset}; {keys}; {columns}"),
        None => writeln!(out, "{keys}; {columns}; {}", ShownReferrers(&entry.referrers)),
    }
}

fn pool(entry: &PoolEntry, out: &mut dyn Write) -> io::Result<()> {
    let (lists, members) = (count_of(entry.lists.into(), "list"), count_of(entry.members.into(), "member"));
    let bytes = count_of(entry.bytes, "byte");
    let (pool, table, referrers) = (entry.pool, entry.table, ShownReferrers(&entry.referrers));
    writeln!(
        out,
        "{pool:>8} {:10} {lists:>16} {:>9} {bytes:>20}  {members}; over table {table}; {referrers}",
        "pool", ""
    )
}

fn kind_total(total: &Total, out: &mut dyn Write) -> io::Result<()> {
    let (count, rows) = (count_of(total.count.into(), "table"), count_of(total.rows, "row"));
    sum(total.kind.name(), &count, total.bytes, total.bytes_per_series, &rows, out)
}

fn pool_total(total: &PoolTotal, out: &mut dyn Write) -> io::Result<()> {
    let content = format!("{} of {}", count_of(total.lists, "list"), count_of(total.members, "member"));
    sum("pool", &count_of(total.count.into(), "pool"), total.bytes, total.bytes_per_series, &content, out)
}

fn sum(
    kind: &str,
    count: &str,
    bytes: u64,
    per_series: Option<f64>,
    content: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bytes = count_of(bytes, "byte");
    let per_series = per_series.map_or_else(|| "-".to_owned(), human::per);
    writeln!(
        out,
        "{:>8} {kind:10} {count:>16} {:>9} {bytes:>20}  {per_series} bytes per series; {content}",
        "total", ""
    )
}

struct ShownColumn(ColumnEntry);

impl fmt::Display for ShownColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.domain, count_of(self.0.bits.into(), "bit"))
    }
}

struct ShownReferrers<'a>(&'a Referrers);

impl fmt::Display for ShownReferrers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Referrers { tables, pools, keysets } = self.0;
        let mut separator = "used by ";
        for (what, count) in [("table", tables.len()), ("pool", pools.len()), ("keyset", keysets.len())] {
            if count > 0 {
                write!(f, "{separator}{}", count_of(count as u64, what))?;
                separator = ", ";
            }
        }
        if separator == ", " { Ok(()) } else { write!(f, "unused") }
    }
}
