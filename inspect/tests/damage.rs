//! Queries of blocks that are damaged beneath right checksums.

use chronoxide_format::ErrorKind;
use chronoxide_format::layout::SectionKind;
use chronoxide_inspect::InspectError;
use chronoxide_inspect::query::{Cardinality, Difference, Queried, each_distinct, label_names, label_values};
use chronoxide_reader::{Block, Checks};
use chronoxide_select::{IndexedBlock, Selector};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::sweep;

/// Flips bits in the bytes that queries read. Each query ends, and damage is reported for the right block.
#[test]
fn flipped_bits_end_in_an_answer_or_a_report_of_their_block() {
    let selector: Selector = r#"{pod=~".+-1"}"#.parse().unwrap();
    let (mut answered, mut reported) = (0, 0);
    for golden in goldens().iter().filter(|golden| ["lists-bitpacked", "chain-bitpacked"].contains(&golden.name)) {
        let sound = IndexedBlock::new(Block::from_vec(golden.bytes.clone(), Checks::Lazy).unwrap());
        for kind in [SectionKind::Catalogue, SectionKind::Rows, SectionKind::Members, SectionKind::Symbols] {
            let block = BlockEditor::open(&golden.bytes);
            // Each third bit, unless all are asked for.
            for bit in sweep::by_turns(0..block.clone().section(kind).len() * 8, 0, 3) {
                let mut block = block.clone();
                block.section(kind)[bit / 8] ^= 1 << (bit % 8);
                let block = block.close();
                let Ok(block) = Block::from_vec(block, Checks::Lazy).map(IndexedBlock::new) else { continue };
                // Few bytes can stand for very many series.
                if block.view().series_count().unwrap_or(u32::MAX) > 10_000 {
                    continue;
                }
                for selectors in [&[][..], std::slice::from_ref(&selector)] {
                    let Ok(damaged) = Queried::new(&block, selectors) else { continue };
                    let sound = Queried::new(&sound, selectors).unwrap();
                    let blocks = [damaged, sound];
                    let _ = label_names(&blocks);
                    let _ = label_values(&blocks, "pod", "", Some(3));
                    each_distinct(&blocks, |_| Ok(true)).unwrap();
                    let _ = Cardinality::new(&blocks, Some(2));
                    let _ = Difference::new(&blocks[..1], &blocks[1..]);
                    let [damaged, sound] = blocks;
                    assert!(sound.damage().is_none(), "{}: bit {bit} of {}", golden.name, kind.name());
                    match damaged.into_damage() {
                        None => answered += 1,
                        Some(InspectError::Block(error)) if matches!(error.kind(), ErrorKind::Corrupt(_)) => {
                            reported += 1
                        }
                        Some(InspectError::Select(_)) => reported += 1,
                        Some(other) => panic!("{}: bit {bit} of {}: {other}", golden.name, kind.name()),
                    }
                }
            }
        }
    }
    println!("{answered} answered, {reported} reported");
    let least = sweep::cases(330, 1_000);
    assert!(answered >= least && reported >= least, "{answered} answered, {reported} reported");
}
