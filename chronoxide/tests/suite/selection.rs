//! Kept selections, against sets of ids.

use std::collections::BTreeSet;

use chronoxide::{ErrorKind, Selection, SeriesId};

use super::{Fixture, TestResult};

fn ids(selection: &Selection) -> BTreeSet<SeriesId> {
    let ids: BTreeSet<_> = selection.ids().collect();
    assert_eq!((ids.len() as u64, ids.is_empty()), (selection.len(), selection.is_empty()), "each id comes once");
    assert!(selection.ids().eq((0..selection.len()).filter_map(|position| selection.nth(position))));
    assert_eq!(selection.nth(selection.len()), None);
    ids
}

#[test]
fn selections_are_sets_of_ids() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let select = |selector: &str| blocks.query(selector)?.select();
    let (all, up, team) = (select("{}")?, select("up")?, select(r#"{namespace="team-1"}"#)?);
    assert_eq!((all.len(), up.len()), (40, 20));
    assert!(ids(&up).is_subset(&ids(&all)));
    assert_eq!(ids(&up.intersection(&team)?), ids(&up).intersection(&ids(&team)).copied().collect());
    assert_eq!(ids(&up.union(&team)?), ids(&up).union(&ids(&team)).copied().collect());
    assert_eq!(ids(&up.difference(&team)?), ids(&up).difference(&ids(&team)).copied().collect());
    for id in all.ids() {
        assert_eq!(up.contains(id), ids(&up).contains(&id));
    }
    assert!(up == select("up")? && up != team && select("absent")?.is_empty());

    // Another snapshot of these blocks.
    let other = fixture.blocks()?.query("up")?.select()?;
    assert!(other == up && other.difference(&up)?.is_empty());
    let parts = up.by_block();
    assert_eq!(parts.iter().map(Selection::len).collect::<Vec<_>>(), [10, 10]);
    assert_eq!(parts.iter().flat_map(ids).collect::<BTreeSet<_>>(), ids(&up));
    let error = up.union(&parts[0]).expect_err("one block is not both");
    assert_eq!(error.kind(), ErrorKind::Usage);
    Ok(())
}

#[test]
fn a_selection_outlives_what_it_came_from() -> TestResult {
    let fixture = Fixture::new()?;
    let selection = fixture.blocks()?.query("up")?.select()?;
    std::fs::remove_file(&fixture.paths[0])?;
    let read = std::thread::spawn(move || -> Result<usize, chronoxide::Error> {
        let (mut rows, mut count) = (selection.series(), 0);
        while let Some(series) = rows.next()? {
            assert_eq!((series.get("__name__"), series.ids().count()), (Some("up"), 1));
            count += 1;
        }
        Ok(count)
    });
    assert_eq!(read.join().expect("no panic")?, 20);
    Ok(())
}

#[test]
fn each_block_is_one_alone() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let each = blocks.each();
    assert_eq!(each.len(), 2);
    for (single, info) in each.iter().zip(blocks.iter()) {
        let info = info?;
        let own = single.iter().next().expect("a block")?;
        assert_eq!((single.len(), single.is_folder(), own.id, own.path), (1, false, info.id, info.path));
        assert_eq!(own.byte_len, std::fs::metadata(own.path.expect("a file"))?.len());
        assert_eq!(single.query("{}")?.count()?, 20);
        assert_eq!(single.refresh()?.query("up")?.count()?, 10);
    }
    let meta = chronoxide::Blocks::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/meta.cx"))?;
    let external = meta.iter().next().expect("a block")?.external_labels;
    assert!(!external.is_empty() && external.is_sorted_by_key(|label| label.name), "{external:?}");
    Ok(())
}

/// Blocks of one folder have equal numbers for other series.
#[test]
fn selections_of_different_blocks_differ() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let parts = blocks.query("{}")?.select()?.by_block();
    let [left, right] = &parts[..] else { panic!("two blocks") };
    assert_eq!((left.len(), right.len()), (20, 20));
    assert!(left != right, "the refs are equal, and the blocks are not");
    assert!(*left == left.clone());
    for combined in [left.union(right), left.intersection(right), left.difference(right)] {
        assert_eq!(combined.map(|_| ()).map_err(|error| error.kind()), Err(ErrorKind::Usage));
    }
    assert!(left.ids().all(|id| left.contains(id) && !right.contains(id)));

    // Only one of the blocks has the pod.
    let alone = blocks.query(r#"{pod="web-1"}"#)?.select()?;
    assert_eq!(ids(&alone).len(), 2);
    assert!(!alone.is_empty());
    Ok(())
}

/// A reader goes from block to block and back.
#[test]
fn a_reader_reads_ids_in_any_order() -> TestResult {
    let fixture = Fixture::new()?;
    let blocks = fixture.blocks()?;
    let mut reader = blocks.reader();
    for labels in fixture.all.iter().chain(fixture.all.iter().rev()) {
        for id in blocks.find(labels)? {
            let found = reader.labels(id)?.expect("it was found");
            assert!(found.iter().map(|label| (label.name, label.value)).eq(labels.iter().map(|(n, v)| (&**n, &**v))));
            assert_eq!(reader.labels(SeriesId { series: 20, ..id })?, None, "20 series have numbers up to 19");
        }
    }
    Ok(())
}

/// A block alone is opened again as its folder was.
#[test]
fn a_block_alone_keeps_the_options_of_its_folder() -> TestResult {
    let fixture = Fixture::new()?;
    let eager = chronoxide::OpenOptions::new().checks(chronoxide::Checks::Eager);
    let each = eager.open(fixture.folder.path())?.each();
    super::opening::damage(&fixture)?;
    let kinds: Vec<_> = each.iter().map(|block| block.refresh().map(|_| ()).map_err(|error| error.kind())).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.is_ok()).count(), 1);
    assert!(kinds.contains(&Err(ErrorKind::Corrupt)), "{kinds:?}");
    Ok(())
}
