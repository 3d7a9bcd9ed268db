//! The two classes of rules (spec, section 1): reading does not depend on rules of class C, and a verifier that does
//! not know a block's canonical form judges class R only.

use chronoxide_format::view::BlockView;
use chronoxide_format::write::Records;
use chronoxide_format::{Rule, RuleClass};
use chronoxide_testkit::broken::{Broken, broken};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::fuzzing::sound;
use chronoxide_testkit::golden::goldens;

/// The block with a bit in `ro_compat` that no reader knows.
fn with_unknown_feature(block: &[u8]) -> Vec<u8> {
    let mut editor = BlockEditor::open(block);
    editor.features[1] = 1 << 29;
    editor.close()
}

fn of_class(class: RuleClass) -> impl Iterator<Item = Broken> {
    broken().into_iter().filter(move |broken| broken.rule.class() == class)
}

#[test]
fn blocks_that_break_class_c_are_read_as_they_stand() {
    let mut blocks = 0;
    for Broken { name, rule, bytes } in of_class(RuleClass::Canonical) {
        assert_eq!(BlockView::open(&bytes).unwrap().verify().map_err(|error| error.rule()), Err(rule), "{name}");
        let bytes = with_unknown_feature(&bytes);
        let view = BlockView::open(&bytes).unwrap();
        // The fingerprint and the counts are those of the series that the reader yields: `verify` computes them.
        let content = view.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        // Each series is resolved in every way, and found at its own ref.
        let series = sound::series(&view).map_or(content.series_count, |series| series.len() as u64);
        assert_eq!(series, content.series_count, "{name}");
        assert_eq!(view.metric_metadata().unwrap().iter().filter(Result::is_err).count(), 0, "{name}");
        blocks += 1;
    }
    assert!(blocks >= 24, "{blocks} blocks");
}

#[test]
fn class_r_is_judged_whatever_the_features() {
    let mut blocks = 0;
    for Broken { name, rule, bytes } in of_class(RuleClass::Reading) {
        // A block that cannot be read cannot be put together with other features. A block with another id or a wrong
        // checksum becomes sound when it is.
        let by_content = !matches!(rule, Rule::BlockId | Rule::ChecksChecksum | Rule::ChunkChecksum);
        let can_be_read = BlockView::open(&bytes)
            .is_ok_and(|view| Records::from_view(&view).is_ok() && view.metric_metadata().is_ok());
        if can_be_read && by_content {
            let damaged = with_unknown_feature(&bytes);
            let mut arena = Vec::new();
            let verdict = BlockView::open_unpacked(&damaged, &mut arena).and_then(|view| view.verify().map(|_| ()));
            assert_eq!(verdict.map_err(|error| error.rule()), Err(rule), "{name}");
            blocks += 1;
        }
    }
    assert!(blocks >= 40, "{blocks} blocks");
}

#[test]
fn the_read_only_golden_breaks_class_c() {
    let golden = goldens().into_iter().find(|golden| golden.name == "read-only").unwrap();
    let view = BlockView::open(&golden.bytes).unwrap();
    assert_eq!(view.unknown_ro_compat(), 1 << 28);
    view.verify().unwrap();
    assert_eq!(sound::series(&view), Some(golden.series));
    let mut editor = BlockEditor::open(&golden.bytes);
    editor.features = [0; 3];
    let canonical = editor.close();
    let error = BlockView::open(&canonical).unwrap().verify().unwrap_err();
    assert_eq!((error.rule(), error.rule().class()), (Rule::RowsPadding, RuleClass::Canonical));
}
