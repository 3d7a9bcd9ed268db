//! List pools and the members section (spec, section 8).

use super::catalogue::unused;
use super::{Uses, expect, expect_below};
use crate::error::{Place, corrupt};
use crate::layout::SectionKind;
use crate::number::length;
use crate::view::{BlockView, Pool};
use crate::{PoolId, Result, Rule};

pub(super) fn verify(view: &BlockView<'_>, uses: &mut Uses) -> Result<()> {
    let mut end_byte = 0;
    let mut before = None;
    for id in 0..view.pool_count() {
        let pool = view.pool(PoolId(id))?;
        let place = Place::Pool(id.into());
        if before >= Some(pool.table_id()) {
            return Err(corrupt(Rule::PoolTable, place, pool.table_id().0.into(), id.into()));
        }
        before = Some(pool.table_id());
        expect(Rule::MembersExtent, place, pool.offset(), end_byte)?;
        for (from, to) in pool.slack() {
            unused(&view.members, Rule::MembersPadding, from, to)?;
            end_byte = to / 8;
        }
        verify_lists(&pool, uses)?;
        uses.add_pool(pool.list_count());
    }
    for id in 0..view.keyset_count() {
        let keyset = view.keyset(id)?;
        let place = Place::Keyset(id.into());
        if keyset.pool().is_none() {
            expect(Rule::MembersExtent, place, keyset.anchors_offset(), 0)?;
            continue;
        }
        expect(Rule::MembersExtent, place, keyset.anchors_offset(), end_byte)?;
        let (from, to) = keyset.slack();
        // The anchors were not placed before; they must lie in the section too.
        expect_below(Rule::MembersExtent, place, to, view.members.field_bits() + 1)?;
        unused(&view.members, Rule::MembersPadding, from, to)?;
        end_byte = to / 8;
        let column = keyset.table().column(keyset.table().column_count() - 1)?;
        let pool = keyset.pool().map_or(0, |pool| pool.id().0);
        for row in 0..keyset.table().row_count() {
            uses.list(pool, keyset.table().code(row, &column)?);
        }
    }
    let section_len = length(view.frame().section(view.bytes(), SectionKind::Members).len());
    let expected = if view.pool_count() == 0 { 0 } else { end_byte + 8 };
    expect(Rule::MembersExtent, Place::Block, section_len, expected)?;
    unused(&view.members, Rule::MembersPadding, end_byte * 8, section_len * 8)
}

/// Each pool begins where the one before it ends.
pub(super) fn verify_extents(view: &BlockView<'_>) -> Result<()> {
    let mut end_byte = 0;
    for id in 0..view.pool_count() {
        let pool = view.pool(PoolId(id))?;
        expect(Rule::MembersExtent, Place::Pool(id.into()), pool.offset(), end_byte)?;
        end_byte += pool.len();
    }
    Ok(())
}

fn verify_lists(pool: &Pool<'_>, uses: &mut Uses) -> Result<()> {
    let id = pool.id().0;
    let row_count = pool.table()?.row_count();
    let (mut before, mut list): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut members: u64 = 0;
    expect_below(Rule::PoolLists, Place::Pool(id.into()), 0, pool.list_count().into())?;
    for number in 0..pool.list_count() {
        let place = Place::List(id, number);
        list.clear();
        pool.list(number)?.push_members(&mut list)?;
        let mut last = None;
        for &member in &list {
            expect_below(Rule::ListMembers, place, member.into(), row_count.into())?;
            if last >= Some(member) {
                return Err(corrupt(Rule::ListMembers, place, member.into(), row_count.into()));
            }
            uses.row(pool.table_id().0, member);
            last = Some(member);
        }
        // A list comes after its own beginnings.
        if before >= list {
            return Err(corrupt(Rule::ListOrder, place, number.into(), number.into()));
        }
        members += length(list.len());
        std::mem::swap(&mut before, &mut list);
    }
    expect(Rule::PoolLists, Place::Pool(id.into()), pool.member_count().into(), members)
}
