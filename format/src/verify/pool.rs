//! Lists of pools (spec, section 8).

use super::uses::Marks;
use super::{expect, expect_below, refuse_if};
use crate::error::Place;
use crate::identity::Fingerprint;
use crate::number::{index, length};
use crate::view::Pool;
use crate::{Result, Rule};

/// Checks the lists of a pool and marks their rows as used. Returns the sum of the members' fingerprints, which are
/// `of_rows`, for each list.
pub(super) fn verify(pool: &Pool<'_, '_>, of_rows: &[Fingerprint], used_rows: &mut Marks) -> Result<Vec<Fingerprint>> {
    let id = pool.id().0;
    let row_count = pool.table()?.row_count();
    pool.view().canonical(|| match pool.view().row_form() {
        Some(form) if !pool.is_split() => {
            let expected = form.width(row_count - 1);
            expect(Rule::ColumnWidth, Place::Pool(id.into()), pool.low_width().into(), expected.into())
        }
        _ => Ok(()),
    })?;
    let (mut before, mut list): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut members: u64 = 0;
    let mut sums = Vec::new();
    for number in 0..pool.list_count() {
        let place = Place::List(id, number);
        list.clear();
        let stored = pool.list(number)?;
        if let Some(ones) = stored.upper_ones()? {
            expect(Rule::ListUpper, place, ones, stored.len().into())?;
        }
        stored.push_members(&mut list)?;
        let (mut last, mut sum) = (None, Fingerprint::ZERO);
        for &member in &list {
            expect_below(Rule::ListMembers, place, member.into(), row_count.into())?;
            refuse_if(last >= Some(member), Rule::ListMembers, place)?;
            sum = sum + of_rows.get(index(member)).copied().unwrap_or(Fingerprint::ZERO);
            last = Some(member);
        }
        used_rows.mark(pool.table_id().0, list.iter().copied());
        // A list comes after its own beginnings.
        pool.view().canonical(|| refuse_if(before >= list, Rule::ListOrder, place))?;
        members += length(list.len());
        sums.push(sum);
        std::mem::swap(&mut before, &mut list);
    }
    expect(Rule::PoolLists, Place::Pool(id.into()), pool.member_count().into(), members)?;
    Ok(sums)
}
