//! Blocks built anew from what is read from them.

use std::collections::BTreeSet;

use chronoxide_format::build::{BlockBuilder, BlockMeta, BuildError, SectionBytes};
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Domain, Table};
use chronoxide_format::{KeyId, PoolId, Result, SymbolId, TableId};

use crate::plan::{Labelset, Plan, build};
use crate::surgeon::Surgeon;

/// The block that the builder makes of a sound block's symbols, tables, lists and meta: the same bytes, since a content and a plan have one
/// encoding.
///
/// # Panics
/// If something cannot be read, or the builder refuses it.
pub fn rebuilt(view: &BlockView<'_>) -> Vec<u8> {
    let mut builder = BlockBuilder::new(view.row_form());
    push_everything(view, &mut builder).expect("a sound block can be read").expect("a sound block can be built");
    let meta = block_meta(view).expect("a sound block");
    let block = builder.finish(&meta).expect("the meta of a sound block can be written");
    let optional = view.sections().filter(|section| section.known().is_none());
    let optional: Vec<SectionBytes> = optional
        .map(|section| {
            let start = section.offset as usize;
            let bytes = view.bytes()[start..start + section.length as usize].to_vec();
            SectionBytes { kind: section.kind, id: section.id, bytes }
        })
        .collect();
    if optional.is_empty() && view.features() == [0; 3] {
        return block;
    }
    let mut surgeon = Surgeon::open(&block);
    surgeon.features = view.features();
    surgeon.sections.extend(optional);
    // A kind that is not known may stand before one that is.
    surgeon.sections.sort_by_key(|section| (section.kind, section.id));
    surgeon.close()
}

fn push_everything(view: &BlockView<'_>, builder: &mut BlockBuilder) -> Result<Result<(), BuildError>> {
    macro_rules! push {
        ($result:expr) => {
            if let Err(error) = $result {
                return Ok(Err(error));
            }
        };
    }
    let text = view.text()?;
    for id in 0..view.symbols().count() {
        push!(builder.push_symbol(text.symbol(SymbolId(id))?.expect("below their count")));
    }
    for key in (0..view.key_count()).map(KeyId) {
        let (_, values) = table(&view.dictionary(key)?)?;
        let values: Vec<SymbolId> = values.into_iter().map(SymbolId).collect();
        push!(builder.push_key(view.key_symbol(key)?, &values));
    }
    let first_keyset = view.table_count() - view.keyset_count();
    for id in view.key_count()..first_keyset {
        let (domains, rows) = table(&view.table(TableId(id))?)?;
        push!(builder.push_table(&domains, &rows));
    }
    for id in 0..view.pool_count() {
        let pool = view.pool(PoolId(id))?;
        let list = |number| {
            let list = pool.list(number)?;
            (0..list.len()).map(|place| list.get(place)).collect::<Result<Vec<u32>>>()
        };
        let lists = (0..pool.list_count()).map(list).collect::<Result<Vec<_>>>()?;
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        push!(builder.push_pool(pool.table_id(), &lists));
    }
    for id in first_keyset..view.table_count() {
        let (domains, rows) = table(&view.table(TableId(id))?)?;
        push!(builder.push_keyset_table(&domains, &rows));
    }
    Ok(Ok(()))
}

/// The domains of a table's columns, and its rows one after the other.
fn table(table: &Table<'_>) -> Result<(Vec<Domain>, Vec<u32>)> {
    let columns = (0..table.column_count()).map(|column| table.column(column)).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for row in 0..table.row_count() {
        for column in &columns {
            rows.push(table.code(row, column)?);
        }
    }
    Ok((columns.iter().map(|column| column.domain).collect(), rows))
}

fn block_meta(view: &BlockView<'_>) -> Result<BlockMeta> {
    let meta = view.meta()?;
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    Ok(BlockMeta {
        time: meta.time(),
        window: meta.window(),
        job: meta.job(),
        parents: meta.parents()?.collect(),
        ancestors: meta.ancestors()?.collect(),
        external_labels: meta.external_labels()?.map(|pair| pair.map(owned)).collect::<Result<_>>()?,
        user_pairs: meta.user_pairs()?.map(|pair| pair.map(owned)).collect::<Result<_>>()?,
        metrics: view.metric_metadata()?.iter().collect::<Result<_>>()?,
        policy: meta.policy(),
        planner_version: meta.planner_version(),
    })
}

/// The fingerprint of labelsets, by way of a plain block of them.
///
/// # Panics
/// If the labelsets do not make a sound block.
pub fn fingerprint_of(series: &BTreeSet<Labelset>) -> Fingerprint {
    let block = build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
    let block = block.expect("labelsets of a sound block make a block");
    let view = BlockView::open(&block).expect("a built block opens");
    view.verify().expect("a built block verifies").fingerprint
}
