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
