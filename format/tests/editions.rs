//! The edition that a block needs, and versions that are refused.

use chronoxide_format::edition::Edition;
use chronoxide_format::layout::{EXPERIMENT, LOSS_MATTERS, MAY_BE_COPIED, OPTIONAL, PRIVATE};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::SectionBytes;
use chronoxide_format::{ErrorKind, Rule};
use chronoxide_testkit::archive::archives;
use chronoxide_testkit::editor::{BlockEditor, reseal};
use chronoxide_testkit::golden::goldens;

fn golden(name: &str) -> Vec<u8> {
    goldens().into_iter().find(|golden| golden.name == name).expect("a golden block").bytes
}

fn edition_of(block: &[u8]) -> Option<Edition> {
    let view = BlockView::open(block).expect("it opens");
    assert_eq!(view.version(), (1, 0));
    Edition::needed_by(&view)
}

#[test]
fn private_sections_and_experiments_are_not_counted_and_others_are() {
    let edited = |change: &dyn Fn(&mut BlockEditor)| {
        let mut editor = BlockEditor::open(&golden("columns"));
        change(&mut editor);
        edition_of(&editor.close())
    };
    let with_section = |kind: u32| {
        edited(&|editor| {
            editor.sections.push(SectionBytes { kind, id: 0, bytes: vec![7; 20] });
            editor.sections.sort_by_key(|section| (section.kind, section.id));
        })
    };
    let first = Some(Edition::V1_0);
    assert_eq!(edited(&|_| {}), first);
    for bits in [PRIVATE, EXPERIMENT, PRIVATE | LOSS_MATTERS, EXPERIMENT | MAY_BE_COPIED] {
        assert_eq!(with_section(OPTIONAL | bits | 99), first, "{bits:#x}");
    }
    for bits in [0, LOSS_MATTERS, MAY_BE_COPIED] {
        assert_eq!(with_section(OPTIONAL | bits | 99), None, "{bits:#x}");
    }
    for word in [1, 2] {
        for bit in [0, 1, 27] {
            assert_eq!(edited(&|editor| editor.features[word] = 1 << bit), None, "bit {bit} of word {word}");
        }
        for bit in 28..32 {
            assert_eq!(edited(&|editor| editor.features[word] = 1 << bit), first, "bit {bit} of word {word}");
        }
    }
    for archive in archives() {
        assert_eq!(edition_of(&archive.bytes), first, "{}", archive.name);
    }
}

#[test]
fn drafts_and_later_versions_are_unsupported() {
    for (major, minor) in [(0, 6), (0, 0), (2, 0), (0xFFFF, 0)] {
        let mut block = golden("one-series");
        block[8..12].copy_from_slice(&[u16::to_le_bytes(major), u16::to_le_bytes(minor)].concat());
        reseal(&mut block);
        let refused = BlockView::open(&block).expect_err("another version");
        assert_eq!(refused.rule(), Rule::Version);
        assert_eq!(refused.kind(), &ErrorKind::UnsupportedVersion { major, minor });
    }
}
