//! The target that queries blocks.

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{KeyId, SeriesRef};
use chronoxide_select::{CodeColumn, CodeCounts, ColumnReader, Index, Labels, Limits, Matcher, Searcher, Selection};
use chronoxide_testkit::fuzzing::mutation::mutated;
use chronoxide_testkit::fuzzing::program::Program;
use chronoxide_testkit::fuzzing::sound;
use chronoxide_testkit::plan::build;
use chronoxide_testkit::random::{Random, random_plan, random_series};

use crate::model::{check_answers, random_matchers};

/// Series of a mutated golden that are compared with the model; a golden with more would take too long.
const MAX_SERIES: usize = 2_000;

/// A seed of matchers, and either a seed of a random block with a random plan, or a program that changes a golden.
///
/// If the block verifies, every answer is that of a filter over its labelsets. If not, answers may be wrong, but
/// nothing panics.
///
/// # Panics
/// If an answer is wrong.
pub fn select(bytes: &[u8]) {
    let mut program = Program(bytes);
    let choice = program.byte();
    let mut random = Random::new(program.number(4));
    let block = if choice & 1 == 0 {
        let mut contents = Random::new(program.number(4));
        let series = random_series(1 + usize::from(choice), &mut contents);
        let form = if choice & 2 == 0 { RowForm::BitPacked } else { RowForm::FixedWidth };
        let plan = if choice & 4 == 0 { random_plan(&series, &mut contents) } else { Default::default() };
        build(&series, &plan, form, &BlockMeta::default()).expect("the plan is valid")
    } else {
        mutated(&mut program)
    };
    let Ok(view) = BlockView::open(&block) else { return };
    if view.verify().is_err() {
        ask_damaged(&view, &random_matchers(&[], &mut random));
        return;
    }
    let series = sound::series_in_order(&view);
    if series.len() > MAX_SERIES {
        return;
    }
    for _ in 0..4 {
        check_answers(&view, &series, &random_matchers(&series, &mut random));
    }
}

/// Asks a damaged block everything. Answers may be wrong.
fn ask_damaged(view: &BlockView<'_>, matchers: &[Matcher]) {
    let Ok(index) = Index::new(view) else { return };
    let searcher = Searcher::new(view, &index).with_limits(Limits::default().with_max_series(100_000));
    let _ = (searcher.count(matchers), searcher.tally(matchers), searcher.label_names(matchers));
    for matchers in [matchers, &[]] {
        let Ok(selection) = searcher.select(matchers) else { continue };
        let names: Vec<&str> = ["pod", "job", "__name__"].to_vec();
        let refs: Vec<SeriesRef> = selection.iter().chain([SeriesRef(u32::MAX)]).collect();
        let _ = searcher.project(&refs, &names);
        let keys: Vec<KeyId> = (0..view.key_count().min(5)).map(KeyId).collect();
        let mut reader = ColumnReader::default();
        for range in selection.ranges() {
            let _ = reader.read(&searcher, range.clone(), &keys, &mut vec![CodeColumn::default(); keys.len()]);
            let _ = reader.count(&searcher, range, &keys, &mut vec![CodeCounts::new(5); keys.len()]);
        }
        for labels in [Labels::All, Labels::By(&names), Labels::Without(&names)] {
            let _ = (searcher.group(&selection, labels), searcher.fingerprints(&selection, labels));
        }
        // A part of them, as an engine asks for.
        let part: Selection = selection.iter().skip(selection.count() as usize / 3).collect();
        let _ = (searcher.group(&part, Labels::By(&names)), searcher.fingerprints(&part, Labels::All));
        if let Ok(order) = searcher.in_label_order(&selection) {
            let _ = order.last();
        }
    }
}
