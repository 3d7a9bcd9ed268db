//! Text output of a plan's savings.

use std::io::{self, Write};

use chronoxide_dump::name::Name;
use chronoxide_dump::plan::{Balance, Entry, Head, KeysetGain, PoolUse, TableUse};
use chronoxide_text::human::{self, count, count_of};

use super::List;
use crate::style::Style;

/// Writes the entries of a plan in their order.
pub(crate) struct Screen<'o> {
    style: Style,
    /// Maximum names of labels in a line.
    most: usize,
    out: &'o mut dyn Write,
    head: Option<Head>,
    /// The heading above the last line.
    heading: &'static str,
}

impl<'o> Screen<'o> {
    pub(crate) fn new(style: Style, most: usize, out: &'o mut dyn Write) -> Self {
        Self { style, most, out, head: None, heading: "" }
    }

    /// Writes an entry. Keysets of a block that is not factored save nothing and are skipped.
    pub(crate) fn write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let is_factored = self.head.is_some_and(|head| head.factored);
        match entry {
            Entry::Plan(head) => self.plan(*head),
            Entry::Balance(balance) => self.balance(balance),
            _ if !is_factored => Ok(()),
            Entry::Keyset { gain, keys } => self.keyset(gain, keys),
            Entry::Table { used, keys } => self.table(used, keys),
            Entry::Pool(used) => self.pool(used),
            Entry::More { count: left } => writeln!(self.out, "  ... {} more", count(*left as u64)),
        }
    }

    fn under(&mut self, heading: &'static str) -> io::Result<()> {
        if self.heading == heading {
            return Ok(());
        }
        self.heading = heading;
        writeln!(self.out, "{}", self.style.heading(heading))
    }

    fn plan(&mut self, head: Head) -> io::Result<()> {
        self.head = Some(head);
        self.under("plan")?;
        writeln!(self.out, "  planner    {}", head.planner_version)?;
        writeln!(self.out, "  rows       {}", head.rows)?;
        writeln!(
            self.out,
            "  series     {} in {}",
            count(head.series.into()),
            count_of(head.keysets.into(), "keyset")
        )?;
        if let (Some(sampled), Some(expected)) = (head.sampled_series, head.expected_bytes_per_series) {
            let sampled = count(sampled);
            writeln!(self.out, "  expected   {} per series, learned from {sampled} series", human::per(expected))?;
        }
        if head.factored {
            return Ok(());
        }
        writeln!(self.out, "  Nothing was factored: the block has no inner tables and no lists; all rows are plain.")
    }

    fn keyset(&mut self, gain: &KeysetGain, keys: &[Name<'_>]) -> io::Result<()> {
        self.under("keysets: bytes of their rows")?;
        let (series, rows) = (count(gain.series.into()), count_of(gain.prefix_rows.into(), "prefix row"));
        let keys = List { what: "key", items: keys, most: self.most };
        writeln!(
            self.out,
            "  {:>6} {series:>13} series {rows:>22} {:>12} plain {:>12} factored {:>12} saved  {keys}",
            gain.keyset,
            count(gain.plain_bytes),
            count(gain.factored_bytes),
            signed(gain.saved_bytes)
        )
    }

    fn table(&mut self, used: &TableUse, keys: &[Name<'_>]) -> io::Result<()> {
        self.under("inner tables")?;
        let (rows, bytes) = (count_of(used.rows.into(), "row"), count_of(used.bytes, "byte"));
        let users = users(used.keysets, used.direct_keysets);
        let keys = List { what: "key", items: keys, most: self.most };
        writeln!(self.out, "  {:>6} {:6} {rows:>16} {bytes:>20}  {users}; {keys}", used.table, used.kind.name())
    }

    fn pool(&mut self, used: &PoolUse) -> io::Result<()> {
        self.under("list pools")?;
        let (lists, bytes) = (count_of(used.lists.into(), "list"), count_of(used.bytes, "byte"));
        let members = count_of(used.members.into(), "member");
        let users = users(used.keysets, used.keysets);
        writeln!(
            self.out,
            "  {:>6} {:6} {lists:>16} {bytes:>20}  {users}; {members} of table {}",
            used.pool, "", used.table
        )
    }

    fn balance(&mut self, balance: &Balance) -> io::Result<()> {
        self.under("balance: bytes of the block")?;
        let series = f64::from(self.head.map_or(0, |head| head.series));
        let mut line = |name: &str, bytes: i64| {
            let per_series = human::per(bytes as f64 / series);
            writeln!(self.out, "  {name:28} {:>16} {per_series:>10} per series", signed(bytes))
        };
        for (name, bytes) in [
            ("plain rows of all keysets", balance.plain_bytes),
            ("keyset tables", balance.keyset_table_bytes),
            ("anchors", balance.anchor_bytes),
            ("lists", balance.list_bytes),
            ("shared tables", balance.shared_table_bytes),
            ("maps", balance.map_bytes),
        ] {
            line(name, i64::try_from(bytes).unwrap_or(i64::MAX))?;
        }
        line("saved", balance.saved_bytes)?;
        line("catalogue, not included", i64::try_from(balance.catalogue_bytes).unwrap_or(i64::MAX))?;
        let whole = balance.factored_bytes.saturating_add(balance.catalogue_bytes);
        line("factored rows and catalogue", i64::try_from(whole).unwrap_or(i64::MAX))
    }
}

fn users(keysets: u32, direct: u32) -> String {
    let all = count_of(keysets.into(), "keyset");
    if direct == keysets {
        format!("used by {all}")
    } else {
        format!("used by {all}, {} of them directly", count(direct.into()))
    }
}

fn signed(bytes: i64) -> String {
    format!("{}{}", if bytes < 0 { "-" } else { "" }, count(bytes.unsigned_abs()))
}
