//! Tables of a block as its dump shows them, and the sizes, keys and references that follow from the spec.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_dump::dump_entries;
use chronoxide_format::view::BlockView;
use serde_json::{Value, json};

pub struct Table {
    pub rows: u64,
    pub bits: u64,
    /// Domains as the dump shows them, and bits.
    pub columns: Vec<(Value, u64)>,
}

pub struct Pool {
    pub table: usize,
    pub lists: u64,
    pub members: u64,
    pub low_width: u64,
}

pub struct Model {
    pub fixed_width: bool,
    pub keys: Vec<String>,
    pub tables: Vec<Table>,
    pub pools: Vec<Pool>,
    /// Number of series of each keyset.
    pub keysets: Vec<u64>,
    /// Lengths of sections by name.
    pub sections: BTreeMap<String, u64>,
}

/// Returns the number of bits that a number needs (spec, section 1).
pub fn width(number: u64) -> u64 {
    (0..=64).find(|&bits| number >> bits == 0).unwrap()
}

pub fn bytes(bits: u64) -> u64 {
    bits.div_ceil(8)
}

impl Model {
    pub fn from_block(block: &[u8]) -> Self {
        let view = BlockView::open(block).unwrap();
        let mut model = Self {
            fixed_width: false,
            keys: Vec::new(),
            tables: Vec::new(),
            pools: Vec::new(),
            keysets: Vec::new(),
            sections: BTreeMap::new(),
        };
        dump_entries(&view, None, &mut |entry| {
            model.add(&serde_json::to_value(entry).unwrap());
            Ok(())
        })
        .unwrap();
        model
    }

    fn add(&mut self, entry: &Value) {
        let number = |field: &str| entry[field].as_u64().unwrap();
        let text = |field: &str| entry[field].as_str().unwrap().to_owned();
        match entry["type"].as_str().unwrap() {
            "section" => {
                self.sections.insert(text("name"), number("length"));
            }
            "meta" => self.fixed_width = text("rows") == "fixedwidth",
            "key" => self.keys.push(text("name")),
            "table" => self.tables.push(Table { rows: number("rows"), bits: number("bits"), columns: Vec::new() }),
            "column" => self.tables.last_mut().unwrap().columns.push((entry["domain"].clone(), number("bits"))),
            "pool" => {
                let (lists, members, low_width) = (number("lists"), number("members"), number("low_width"));
                self.pools.push(Pool { table: number("table") as usize, lists, members, low_width });
            }
            "keyset" => self.keysets.push(number("end") - number("first")),
            _ => {}
        }
    }

    /// Returns the width of a field for codes with this span (spec, section 7).
    pub fn field(&self, span: u64) -> u64 {
        let bits = width(span);
        if !self.fixed_width { bits } else { [0, 8, 16, 32].into_iter().find(|&fixed| fixed >= bits).unwrap() }
    }

    pub fn first_keyset(&self) -> usize {
        self.tables.len() - self.keysets.len()
    }

    pub fn kind(&self, table: usize) -> &'static str {
        if table < self.keys.len() {
            "dictionary"
        } else if table >= self.first_keyset() {
            "keyset"
        } else if self.tables[table].columns.len() == 1 {
            "map"
        } else {
            "shared"
        }
    }

    pub fn table_bytes(&self, table: usize) -> u64 {
        bytes(self.tables[table].rows * self.tables[table].bits)
    }

    /// Returns the size of a pool: packed ends and members (spec, section 8).
    pub fn pool_bytes(&self, pool: usize) -> u64 {
        let Pool { table, lists, members, low_width } = self.pools[pool];
        let most = self.tables[table].rows - 1;
        let plain = low_width == self.field(most);
        let member_bits =
            if plain { members * low_width } else { members * (low_width + 1) + lists * (most >> low_width) };
        bytes(lists * width(members)) + bytes(member_bits)
    }

    /// Returns the size of anchors: one for every 16 rows of a keyset with lists (spec, section 8).
    pub fn anchor_bytes(&self, keyset: usize) -> u64 {
        let table = &self.tables[self.first_keyset() + keyset];
        let has_lists = table.columns.iter().any(|(domain, _)| domain.get("pool").is_some());
        if has_lists { bytes(table.rows.div_ceil(16) * width(self.keysets[keyset])) } else { 0 }
    }

    /// Returns the table behind a column; for a list column, the pool's table.
    pub fn behind(&self, domain: &Value) -> Option<usize> {
        let number = |field: &str| domain.get(field).map(|number| number.as_u64().unwrap() as usize);
        number("table").or_else(|| number("pool").map(|pool| self.pools[pool].table))
    }

    /// Returns the numbers of the keys of a table's rows.
    fn leaves(&self, table: usize) -> BTreeSet<usize> {
        if table < self.keys.len() {
            return BTreeSet::from([table]);
        }
        let behind = self.tables[table].columns.iter().filter_map(|(domain, _)| self.behind(domain));
        behind.flat_map(|behind| self.leaves(behind)).collect()
    }

    pub fn key_names(&self, table: usize) -> Vec<&str> {
        self.leaves(table).into_iter().map(|key| self.keys[key].as_str()).collect()
    }

    fn has_column_over(&self, table: usize, domain: &Value) -> bool {
        self.tables[table].columns.iter().any(|(other, _)| other == domain)
    }

    /// Returns inner tables, pools and keysets that refer to this domain.
    pub fn referrers(&self, domain: &Value) -> Value {
        let first = self.first_keyset();
        let pools = (0..self.pools.len()).filter(|&pool| json!({ "table": self.pools[pool].table }) == *domain);
        json!({
            "tables": (0..first).filter(|&table| self.has_column_over(table, domain)).collect::<Vec<_>>(),
            "pools": pools.collect::<Vec<_>>(),
            "keysets":
                (0..self.keysets.len()).filter(|keyset| self.has_column_over(first + keyset, domain)).collect::<Vec<_>>(),
        })
    }

    /// Returns all tables below a table.
    pub fn below(&self, table: usize) -> BTreeSet<usize> {
        let behind = self.tables[table].columns.iter().filter_map(|(domain, _)| self.behind(domain));
        behind.flat_map(|behind| self.below(behind).into_iter().chain([behind])).collect()
    }

    pub fn series(&self) -> u64 {
        self.keysets.iter().sum()
    }

    /// Returns null for a block without series.
    pub fn per_series(&self, bytes: i64) -> Value {
        if self.series() == 0 { Value::Null } else { json!(bytes as f64 / self.series() as f64) }
    }
}
