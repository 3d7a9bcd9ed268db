//! Rows and readers that own their blocks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chronoxide::{BlockId, Blocks, Damage, Error, ErrorKind, OwnedReader, OwnedRows, SeriesId};

use super::opening::damage;
use super::{Fixture, Labelset, TestResult, labelsets};

/// Reads all series.
fn read(mut rows: OwnedRows) -> Result<Vec<Labelset>, Error> {
    let mut found = Vec::new();
    while let Some(series) = rows.next()? {
        let labels = series.labels().iter().map(|label| (label.name.to_owned(), label.value.to_owned()));
        found.push(labels.collect());
    }
    assert!(rows.next()?.is_none(), "they end for good");
    Ok(found)
}

#[test]
fn rows_are_read_by_another_thread() -> TestResult {
    let fixture = Fixture::new()?;
    let sorted = OwnedRows::new(fixture.blocks()?, |blocks| blocks.query("{}")?.sorted_series())?;
    let found = std::thread::spawn(|| read(sorted)).join().expect("no panic")?;
    let pairs = |labels: &Labelset| labels.clone().into_iter().collect::<Vec<_>>();
    assert!(found.is_sorted_by_key(pairs));
    assert_eq!((found.len(), found.into_iter().collect::<BTreeSet<_>>()), (fixture.all.len(), fixture.all.clone()));

    let selection = fixture.blocks()?.query("up")?.select()?;
    let expected: Vec<_> = labelsets(0, 10).into_iter().chain(labelsets(5, 15)).collect();
    let expected: Vec<_> = expected.into_iter().filter(|labels| labels["__name__"] == "up").collect();
    let mut found = read(selection.into_series())?;
    assert_eq!(found.len(), expected.len());
    for labels in expected {
        let place = found.iter().position(|other| *other == labels).expect("each of each block");
        found.swap_remove(place);
    }
    Ok(())
}

#[test]
fn owned_rows_give_ids_and_can_be_cancelled() -> TestResult {
    let fixture = Fixture::new()?;
    let flag = Arc::new(AtomicBool::new(false));
    let ask = |flag: &Arc<AtomicBool>| {
        OwnedRows::with_flag(fixture.blocks()?, Arc::clone(flag), |blocks, flag| {
            blocks.query("{}")?.cancelled_by(flag).series()
        })
    };
    let mut ids = ask(&flag)?;
    let mut found = Vec::new();
    while let Some(series) = ids.next_ids()? {
        found.extend(series);
    }
    let blocks = fixture.blocks()?;
    assert_eq!(found.len(), 40);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), blocks.query("{}")?.select()?.ids().collect());

    let mut rows = ask(&flag)?;
    flag.store(true, Ordering::Relaxed);
    assert_eq!(rows.next().expect_err("the flag is set").kind(), ErrorKind::Cancelled);
    assert!(rows.next()?.is_none());
    Ok(())
}

#[test]
fn owned_rows_leave_out_damage() -> TestResult {
    let fixture = Fixture::new()?;
    damage(&fixture)?;
    let blocks = fixture.blocks()?;
    let whole = OwnedRows::new(blocks.clone(), |blocks| blocks.query("{}")?.series());
    assert_eq!(whole.expect_err("a block is damaged").kind(), ErrorKind::Corrupt);
    let damage = Damage::new();
    let rows = OwnedRows::new(blocks, |blocks| blocks.query("{}")?.skip_damaged(&damage).series())?;
    assert_eq!(read(rows)?.into_iter().collect::<BTreeSet<_>>(), labelsets(5, 15).into_iter().collect());
    assert_eq!(damage.len(), 1);
    Ok(())
}

#[test]
fn a_struct_keeps_a_reader() -> TestResult {
    struct Engine {
        reader: OwnedReader,
    }
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let ids: Vec<_> = blocks.query("{}")?.select()?.ids().collect();
    let mut engine = Engine { reader: blocks.into_reader() };
    let mut found = BTreeSet::new();
    for id in ids {
        let labels = engine.reader.labels(id)?.expect("a block has it");
        found.insert(labels.iter().map(|label| (label.name.to_owned(), label.value.to_owned())).collect());
    }
    assert_eq!(found, fixture.all);
    assert_eq!(engine.reader.labels(SeriesId { block: BlockId::default(), series: 0 })?, None);
    Ok(())
}

/// Blocks that were opened one by one are opened again one by one; those from bytes stay.
#[test]
fn united_blocks_are_refreshed() -> TestResult {
    let fixture = Fixture::new()?;
    let [first, second] = &fixture.paths;
    let bytes = chronoxide::OpenOptions::new().open_bytes(std::fs::read(second)?)?;
    let united: Blocks = [Blocks::open(first)?, bytes].into_iter().collect();
    let one = chronoxide::WriteOptions::new().replace(true);
    super::write(first, one, &labelsets(20, 21))?;
    let fresh = united.refresh()?;
    let expected = |sets: Vec<Labelset>| sets.into_iter().chain(labelsets(5, 15)).collect::<BTreeSet<_>>();
    assert_eq!(super::read(&united.query("{}")?)?, expected(labelsets(0, 10)));
    assert_eq!(super::read(&fresh.query("{}")?)?, expected(labelsets(20, 21)));
    assert_eq!(super::read(&fresh.refresh()?.query("{}")?)?, expected(labelsets(20, 21)));
    std::fs::remove_file(first)?;
    let error = fresh.refresh().expect_err("the file is gone");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&**first)));
    Ok(())
}
