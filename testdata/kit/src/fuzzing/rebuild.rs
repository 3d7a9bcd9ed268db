//! Blocks built anew from what is read from them.

use std::collections::BTreeSet;

use chronoxide_format::bits::BitWriter;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Domain, Keyset, Table};
use chronoxide_format::write::{
    BlockBuilder, BlockMeta, BuildError, KeysetOutline, PackedColumn, PackedRows, SectionBytes,
};
use chronoxide_format::{KeyId, Result, SymbolId, TableId};

use crate::editor::BlockEditor;
use crate::plan::{Labelset, Plan, build};

/// The block that the builder makes of a sound block's symbols, tables, lists and meta: the same bytes, since a content
/// and a plan have one encoding.
///
/// # Panics
/// If something cannot be read, or the builder refuses it.
#[must_use]
pub fn rebuilt(view: &BlockView<'_>) -> Vec<u8> {
    let mut builder = BlockBuilder::new(view.row_form().unwrap_or_default());
    push_inner(view, &mut builder).expect("a sound block can be read").expect("a sound block can be built");
    for number in 0..view.keyset_count() {
        let (domains, rows) = table(&keyset(view, number as usize).table()).expect("a sound block can be read");
        builder.push_keyset_table(&domains, &rows).expect("a sound block can be built");
    }
    let meta = block_meta(view).expect("a sound block");
    with_optional_sections(view, builder.finish(&meta).expect("the meta of a sound block can be written"))
}

/// Like `rebuilt`, but writes the rows of keysets last, a few at a time.
///
/// # Panics
/// If something cannot be read, or the builder refuses it.
#[must_use]
pub fn rebuilt_with_rows_written_later(view: &BlockView<'_>) -> Vec<u8> {
    let mut builder = BlockBuilder::new(view.row_form().unwrap_or_default());
    push_inner(view, &mut builder).expect("a sound block can be read").expect("a sound block can be built");
    let mut packers = Vec::new();
    let keysets: Vec<(Vec<Domain>, Vec<u32>)> =
        view.keysets().map(|keyset| table(&keyset?.table())).collect::<Result<_>>().expect("a sound block");
    for (number, (domains, rows)) in keysets.iter().enumerate() {
        let column = |column| rows.iter().skip(column).step_by(domains.len()).copied();
        let range = |number| (column(number).min().expect("it has rows"), column(number).max().expect("it has rows"));
        let outline = KeysetOutline {
            domains,
            row_count: (rows.len() / domains.len()) as u32,
            ranges: &(0..domains.len()).map(range).collect::<Vec<_>>(),
            series_count: keyset(view, number).series_count().into(),
            // That of the block is the sum over its keysets, however it is spread.
            fingerprint: if number == 0 { fingerprint(view) } else { Fingerprint::ZERO },
        };
        packers.push(builder.push_keyset_outline(&outline).expect("a sound block can be built").1);
    }
    let meta = block_meta(view).expect("a sound block");
    let prepared = builder.prepare(&meta).expect("the meta of a sound block can be written");
    let byte_len = prepared.byte_len();
    let mut out = std::io::Cursor::new(Vec::new());
    let written = prepared.write_to(&mut out, |sink| {
        for (number, ((domains, rows), packer)) in keysets.iter().zip(&packers).enumerate() {
            sink.next_table()?;
            for some in rows.chunks(domains.len() * 7) {
                let mut writer = BitWriter::new();
                packer.pack(some, &mut writer).expect("codes are those of the outline");
                sink.push(&PackedRows::from_writer(writer))?;
            }
            let keyset = keyset(view, number);
            if keyset.pool().is_some() {
                let anchors = keyset.anchors().map(|anchor| anchor.expect("a sound block"));
                sink.anchors(anchors.collect())?;
            }
        }
        Ok(())
    });
    let block_id = written.expect("the rows are those of the outlines");
    let block = out.into_inner();
    assert_eq!(block.len() as u64, byte_len);
    assert_eq!(BlockView::open(&block).expect("a built block opens").block_id(), block_id);
    with_optional_sections(view, block)
}

fn fingerprint(view: &BlockView<'_>) -> Fingerprint {
    Fingerprint::from_parts(view.meta().expect("a sound block").fingerprint()).expect("a sound block")
}

/// The block with features and sections that only a later version would write.
fn with_optional_sections(view: &BlockView<'_>, block: Vec<u8>) -> Vec<u8> {
    let optional = view.unknown_sections();
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
    let mut editor = BlockEditor::open(&block);
    editor.features = view.features();
    editor.sections.extend(optional);
    // A kind that is not known may stand before one that is.
    editor.sections.sort_by_key(|section| (section.kind, section.id));
    editor.close()
}

/// Pushes all but keysets.
fn push_inner(view: &BlockView<'_>, builder: &mut BlockBuilder) -> Result<Result<(), BuildError>> {
    macro_rules! push {
        ($result:expr) => {
            if let Err(error) = $result {
                return Ok(Err(error));
            }
        };
    }
    let text = view.text()?;
    for id in 0..view.symbols().count() {
        push!(builder.push_symbol(text.symbol(SymbolId(id))?));
    }
    for key in (0..view.key_count()).map(KeyId) {
        let (_, values) = table(&view.dictionary(key)?.expect("a key of the block"))?;
        let values: Vec<SymbolId> = values.into_iter().map(SymbolId).collect();
        push!(builder.push_key(view.key_symbol(key)?, &values));
    }
    let first_keyset = view.table_count() - view.keyset_count();
    for id in view.key_count()..first_keyset {
        let (domains, rows) = table(&view.table(TableId(id))?.expect("a table of the block"))?;
        push!(builder.push_table(&domains, &rows));
    }
    for pool in view.pools() {
        let pool = pool?;
        let lists = pool.lists().map(|list| list?.members().collect()).collect::<Result<Vec<Vec<u32>>>>()?;
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        push!(builder.push_pool(pool.table_id(), &lists));
    }
    Ok(Ok(()))
}

fn keyset<'data, 'view>(view: &'view BlockView<'data>, number: usize) -> Keyset<'data, 'view> {
    view.keyset(number as u32).expect("a sound block").expect("a keyset of the block")
}

/// The domains of a table's columns, and its rows one after the other.
fn table(table: &Table<'_, '_>) -> Result<(Vec<Domain>, Vec<u32>)> {
    let columns = table.columns().collect::<Result<Vec<_>>>()?;
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
        annotations: meta.annotations()?.map(|pair| pair.map(owned)).collect::<Result<_>>()?,
        metrics: view.metric_metadata()?.iter().collect::<Result<_>>()?,
        columns: PackedColumn::copies(view)?,
        policy: meta.policy(),
        planner_version: meta.planner_version(),
        archive: view.packed()?.is_some(),
        carried: None,
    })
}

/// The fingerprint of labelsets, by way of a plain block of them.
///
/// # Panics
/// If the labelsets do not make a sound block.
#[must_use]
pub fn fingerprint_of(series: &BTreeSet<Labelset>) -> Fingerprint {
    let block = build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
    let block = block.expect("labelsets of a sound block make a block");
    let view = BlockView::open(&block).expect("a built block opens");
    view.verify().expect("a built block verifies").fingerprint
}
