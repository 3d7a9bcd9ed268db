//! Keysets, in pieces that fit together (spec, sections 7 to 9).

use std::ops::Range;
use std::sync::Arc;

use super::catalogue::unused;
use super::inner::Inner;
use super::keyset::SeriesCount;
use super::rows::RowReader;
use super::table::verify_leaves;
use super::uses::Marks;
use super::{ContentFingerprint, Join, expect, expect_below, refuse_if};
use crate::error::Place;
use crate::identity::Fingerprint;
use crate::layout::SectionKind;
use crate::number::length;
use crate::view::{BlockView, Column, Domain, Keyset, Table};
use crate::{KeyId, PoolId, Result, Rule, TableId};

/// The keys of a keyset, in order.
type Keys = Arc<[KeyId]>;

/// Results of consecutive keysets, and the values that the pieces before and after them must fit.
struct Piece {
    first_keyset: u32,
    /// The keys of the first keyset and of the last.
    keys: Option<(Keys, Keys)>,
    /// Place of the rows in the rows section.
    rows: Range<u64>,
    anchors: Option<Anchors>,
    content: ContentFingerprint,
    used_rows: Marks,
    used_lists: Marks,
}

/// Place of the anchors of some keysets in the members section.
struct Anchors {
    /// The first keyset that has any.
    keyset: u32,
    bytes: Range<u64>,
}

/// Checks all keysets, that no byte of the sections is unused, and that every item is used. Returns the counts and
/// fingerprint of the series.
pub(super) fn verify(view: &BlockView<'_>, inner: Inner, join: &impl Join) -> Result<ContentFingerprint> {
    let mut all = Piece::before_keysets(&inner);
    let keysets = 0..view.keyset_count();
    if !keysets.is_empty() {
        let most = length(keysets.len()).div_ceil(length(join.pieces()).max(1));
        all = all.and(verify_pieces(view, &inner, keysets, most, join)?, &inner)?;
    }
    let members_end = all.anchors.map_or(0, |anchors| anchors.bytes.end);
    verify_ends(view, all.rows.end, members_end)?;
    inner.verify_uses(view, &all.used_rows, &all.used_lists)?;
    Ok(all.content)
}

/// Returns the results of all keysets, with at most `most` keysets per piece.
fn verify_pieces(
    view: &BlockView<'_>,
    inner: &Inner,
    keysets: Range<u32>,
    most: u64,
    join: &impl Join,
) -> Result<Piece> {
    if length(keysets.len()) <= most {
        return Piece::verify(view, inner, keysets);
    }
    let middle = keysets.start + (keysets.end - keysets.start) / 2;
    let (left, right) = join.join(
        || verify_pieces(view, inner, keysets.start..middle, most, join),
        || verify_pieces(view, inner, middle..keysets.end, most, join),
    );
    left?.and(right?, inner)
}

/// Returns the sections end where the last rows and anchors do, with closing zero bytes.
fn verify_ends(view: &BlockView<'_>, rows_end: u64, members_end: u64) -> Result<()> {
    let len_of = |kind| length(view.frame().section(view.bytes(), kind).len());
    let (rows_len, members_len) = (len_of(SectionKind::Rows), len_of(SectionKind::Members));
    expect(Rule::RowsOffset, Place::Block, rows_len, rows_end + 8)?;
    view.canonical(|| unused(&view.rows, Rule::RowsPadding, rows_end * 8, rows_len * 8))?;
    let expected = if view.pool_count() == 0 { 0 } else { members_end + 8 };
    expect(Rule::MembersExtent, Place::Block, members_len, expected)?;
    view.canonical(|| unused(&view.members, Rule::MembersPadding, members_end * 8, members_len * 8))
}

impl Piece {
    /// Values that the first keyset must fit.
    fn before_keysets(inner: &Inner) -> Self {
        Self {
            anchors: Some(Anchors { keyset: 0, bytes: 0..inner.members_end }),
            ..Self::empty(inner, 0, inner.rows_end)
        }
    }

    fn empty(inner: &Inner, first_keyset: u32, rows_start: u64) -> Self {
        Self {
            first_keyset,
            keys: None,
            rows: rows_start..rows_start,
            anchors: None,
            content: ContentFingerprint { series_count: 0, label_count: 0, fingerprint: Fingerprint::ZERO },
            used_rows: inner.rows.unmarked(),
            used_lists: inner.lists.unmarked(),
        }
    }

    /// Checks keysets. There must be at least one.
    fn verify(view: &BlockView<'_>, inner: &Inner, keysets: Range<u32>) -> Result<Self> {
        let first = Table::open(view, view.frame.catalogue.inner_end() + keysets.start)?;
        let mut piece = Self::empty(inner, keysets.start, first.rows().start);
        let mut reader = RowReader::new();
        let mut columns = Vec::new();
        for id in keysets {
            piece.add(view, inner, id, &mut reader, &mut columns)?;
        }
        Ok(piece)
    }

    /// Checks the next keyset.
    fn add<'a>(
        &mut self,
        view: &BlockView<'_>,
        inner: &'a Inner,
        id: u32,
        reader: &mut RowReader<'a>,
        columns: &mut Vec<Column>,
    ) -> Result<()> {
        let table = Table::open(view, view.frame.catalogue.inner_end() + id)?;
        self.verify_rows_start(inner, id, table.rows().start)?;
        self.rows.end = table.rows().end;
        columns.clear();
        for column in table.columns() {
            columns.push(column?);
        }
        let keys = verify_leaves(view, &table, columns, &inner.known)?.keys;
        let keyset = Keyset::with_table(id, table)?;
        let anchors = keyset.anchors_offset();
        match (keyset.pool(), &mut self.anchors) {
            (None, _) => expect(Rule::MembersExtent, Place::Keyset(id.into()), anchors, 0)?,
            (Some(_), Some(before)) => {
                expect(Rule::MembersExtent, Place::Keyset(id.into()), anchors, before.bytes.end)?;
            }
            (Some(_), none) => *none = Some(Anchors { keyset: id, bytes: anchors..anchors }),
        }
        let mut series = keyset.pool().map(|pool| SeriesCount::new(keyset, pool));
        let mut sum = Fingerprint::ZERO;
        let (used_rows, used_lists) = (&mut self.used_rows, &mut self.used_lists);
        let mark = |domain, codes: &[u32]| match domain {
            Domain::Arena => {}
            Domain::Table(TableId(behind)) => used_rows.mark(behind, codes.iter().copied()),
            Domain::Pool(PoolId(pool)) => used_lists.mark(pool, codes.iter().copied()),
        };
        reader.read(
            &table,
            columns,
            |domain| inner.factors(domain),
            mark,
            |block| {
                if let Some(series) = &mut series {
                    series.add(block.first(), block.last_codes())?;
                }
                block.for_each_product(|product| sum = sum + product)
            },
        )?;
        let (from, to) = table.slack();
        view.canonical(|| unused(&view.rows, Rule::RowsPadding, from, to))?;
        if let Some(series) = series {
            series.verify()?;
            let (from, to) = keyset.slack();
            // The place of the anchors was not checked before: they must be in the section too.
            expect_below(Rule::MembersExtent, Place::Keyset(id.into()), to, view.members.field_bits() + 1)?;
            view.canonical(|| unused(&view.members, Rule::MembersPadding, from, to))?;
            if let Some(anchors) = &mut self.anchors {
                anchors.bytes.end = to / 8;
            }
        }
        let series_count = u64::from(keyset.series_count());
        self.content.series_count += series_count;
        self.content.label_count += series_count * length(keys.len());
        self.content.fingerprint = self.content.fingerprint + sum;
        match &mut self.keys {
            None => self.keys = Some((Arc::clone(&keys), keys)),
            Some((_, before)) => {
                verify_order(before, &keys, id)?;
                *before = keys;
            }
        }
        Ok(())
    }

    /// This piece and the next.
    fn and(mut self, next: Self, inner: &Inner) -> Result<Self> {
        self.verify_rows_start(inner, next.first_keyset, next.rows.start)?;
        self.rows.end = next.rows.end;
        match (&mut self.anchors, next.anchors) {
            (Some(before), Some(next)) => {
                expect(Rule::MembersExtent, Place::Keyset(next.keyset.into()), next.bytes.start, before.bytes.end)?;
                before.bytes.end = next.bytes.end;
            }
            (Some(_), None) => {}
            (none, next) => *none = next,
        }
        match (&mut self.keys, next.keys) {
            (Some((_, before)), Some((first, last))) => {
                verify_order(before, &first, next.first_keyset)?;
                *before = last;
            }
            (Some(_), None) => {}
            (none, next) => *none = next,
        }
        self.content.series_count += next.content.series_count;
        self.content.label_count += next.content.label_count;
        self.content.fingerprint = self.content.fingerprint + next.content.fingerprint;
        self.used_rows.unite(&next.used_rows);
        self.used_lists.unite(&next.used_lists);
        Ok(self)
    }

    /// Checks that the rows of keyset `id` begin at the end of the rows before.
    fn verify_rows_start(&self, inner: &Inner, id: u32, start: u64) -> Result<()> {
        expect(Rule::RowsOffset, Place::Table(length(inner.known.len()) + u64::from(id)), start, self.rows.end)
    }
}

fn verify_order(before: &[KeyId], keys: &[KeyId], id: u32) -> Result<()> {
    refuse_if(before >= keys, Rule::KeysetOrder, Place::Keyset(id.into()))
}
