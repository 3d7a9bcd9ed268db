//! Queries of blocks that are damaged beneath right checksums.

use std::path::Path;

use chronoxide::{BlockId, Blocks, Damage, Error, ErrorKind};
use chronoxide_format::layout::SectionKind;
use chronoxide_inspect::query::{Cardinality, Difference};
use chronoxide_reader::{Block, Checks};
use chronoxide_select::BlockSet;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::sweep;

/// Runs all queries of the commands.
fn ask(both: &Blocks, [damaged, sound]: [&Blocks; 2], selector: &str, errors: &Damage) -> Result<(), Error> {
    let query = both.query(selector)?.skip_damaged(errors).max_strings(3);
    query.label_names()?;
    query.label_values("pod")?;
    let mut rows = query.distinct_series()?;
    while rows.next()?.is_some() {}
    Cardinality::new(&query, Some(2))?;
    Difference::new(&damaged.query(selector)?.skip_damaged(errors), &sound.query(selector)?.skip_damaged(errors))?;
    Ok(())
}

/// Flips bits in the bytes that queries read. Each query ends, and damage is reported for the right block.
#[test]
fn flipped_bits_end_in_an_answer_or_a_report_of_their_block() {
    let opened = |bytes: Vec<u8>, name: &str| {
        let block = Block::from_vec(bytes, Checks::Lazy).ok()?.with_path(name);
        // Few bytes can stand for very many series.
        let is_small = block.view().series_count().is_ok_and(|count| count <= 10_000);
        is_small.then(|| Blocks::from(BlockSet::from_blocks([block])))
    };
    let (mut answered, mut reported) = (0, 0);
    for golden in goldens().iter().filter(|golden| ["lists-bitpacked", "chain-bitpacked"].contains(&golden.name)) {
        let other_id = BlockEditor::open(&golden.bytes).with_id(BlockId([0xFF; 16])).close();
        let sound = opened(other_id, "sound.cx").unwrap();
        for kind in [SectionKind::Catalogue, SectionKind::Rows, SectionKind::Members, SectionKind::Symbols] {
            let block = BlockEditor::open(&golden.bytes);
            // Each third bit, unless all are asked for.
            for bit in sweep::by_turns(0..block.clone().section(kind).len() * 8, 0, 3) {
                let mut block = block.clone();
                block.section(kind)[bit / 8] ^= 1 << (bit % 8);
                let Some(damaged) = opened(block.close(), "damaged.cx") else { continue };
                let both: Blocks = [damaged.clone(), sound.clone()].into_iter().collect();
                assert_eq!(both.len(), 2);
                for selector in ["{}", r#"{pod=~".+-1"}"#] {
                    let errors = Damage::new();
                    let case = format!("{}: bit {bit} of {}", golden.name, kind.name());
                    ask(&both, [&damaged, &sound], selector, &errors).unwrap_or_else(|error| panic!("{case}: {error}"));
                    match &*errors.errors() {
                        [] => answered += 1,
                        [error] => {
                            assert_eq!(error.kind(), ErrorKind::Corrupt, "{case}: {error}");
                            assert_eq!(error.path(), Some(Path::new("damaged.cx")), "{case}: {error}");
                            reported += 1;
                        }
                        errors => panic!("{case}: {errors:?}"),
                    }
                }
            }
        }
    }
    println!("{answered} answered, {reported} reported");
    let least = sweep::cases(330, 1_000);
    assert!(answered >= least && reported >= least, "{answered} answered, {reported} reported");
}
