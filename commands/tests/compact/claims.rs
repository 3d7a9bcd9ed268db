//! Blocks that claim to hold others: a claim hides little, and deletes nothing without proof.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::PLAN_KEY;
use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::{MetricMetadata, MetricType};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::lineage::REWRITTEN_KEY;
use chronoxide_reader::{BlockId, Checks, Folder};
use chronoxide_testkit::plan::{Labelset, Plan, build};

use crate::support::{assert_exit, content};

fn series(numbers: Range<u32>) -> BTreeSet<Labelset> {
    numbers.map(|number| [("__name__", "up".to_owned()), ("host", number.to_string())]).map(owned).collect()
}

fn owned(labels: [(&str, String); 2]) -> Labelset {
    labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

struct Blocks {
    folder: tempfile::TempDir,
    ids: Vec<BlockId>,
}

impl Blocks {
    /// Six blocks with 117 series.
    fn six() -> Self {
        let mut blocks = Self { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
        for number in 0..6 {
            let end = if number == 5 { 117 } else { number * 20 + 20 };
            let id = blocks.add(&format!("{number}.cx"), number * 20..end, &BlockMeta::default());
            blocks.ids.push(id);
        }
        blocks
    }

    fn add(&self, name: &str, numbers: Range<u32>, meta: &BlockMeta) -> BlockId {
        let bytes = build(&series(numbers), &Plan::default(), RowForm::BitPacked, meta).unwrap();
        fs::write(self.path(name), &bytes).unwrap();
        BlockView::open(&bytes).unwrap().block_id()
    }

    /// Meta of the only output of a job that was made of these.
    fn claiming(parents: &[BlockId], ancestors: &[BlockId]) -> BlockMeta {
        let sorted = |ids: &[BlockId]| ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let job = Some(Job { id: [7; 16], output: 0, output_count: 1 });
        BlockMeta { job, parents: sorted(parents), ancestors: sorted(ancestors), ..BlockMeta::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// Series of the blocks that count, and those of all blocks of the folder.
    fn seen(&self) -> (BTreeSet<Labelset>, BTreeSet<Labelset>) {
        let folder = Folder::read(self.folder.path(), Checks::Eager).unwrap();
        let live = folder.live().iter().flat_map(|entry| content(entry.block().bytes())).collect();
        let all = folder.lineages().iter().flat_map(|(path, _)| content(&fs::read(path).unwrap()));
        (live, all.collect())
    }

    fn compact(&self) -> Output {
        run(&[self.folder.path().to_str().unwrap(), "--delete-inputs"])
    }
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).args(arguments).output().unwrap()
}

#[test]
fn an_empty_block_that_claims_all_others_hides_and_deletes_none_of_them() {
    let claims: [fn(&Blocks) -> BlockMeta; 3] = [
        |blocks| Blocks::claiming(&blocks.ids, &[]),
        |blocks| Blocks::claiming(&[], &blocks.ids),
        |blocks| Blocks::claiming(&blocks.ids[..3], &blocks.ids[3..]),
    ];
    for claim in claims {
        let blocks = Blocks::six();
        blocks.add("claim.cx", 0..0, &claim(&blocks));
        assert_eq!(blocks.seen().0, series(0..117), "readers see all series");
        let stderr = assert_exit(&blocks.compact(), 5);
        assert!(stderr.contains("claim.cx: claims to hold block"), "{stderr}");
        assert_eq!(blocks.seen(), (series(0..117), series(0..117)));
        assert!(blocks.path("claim.cx").exists());
        // The others have been merged, and what claimed them claims nothing through their merge.
        assert_eq!(blocks.names().len(), 2, "{:?}", blocks.names());
        assert_exit(&blocks.compact(), 0);
        assert_eq!(blocks.seen().0, series(0..117));
    }
}

/// The block has enough series for readers to believe its claim, but not the series of the claimed blocks.
#[test]
fn a_block_with_other_series_deletes_nothing_that_it_claims() {
    for held in [0..0, 0..100] {
        let blocks = Blocks::six();
        let bytes = build(
            &series(500..600).into_iter().chain(series(held.clone())).collect(),
            &Plan::default(),
            RowForm::BitPacked,
            &Blocks::claiming(&blocks.ids, &[]),
        );
        fs::write(blocks.path("claim.cx"), bytes.unwrap()).unwrap();
        let before = blocks.names();
        let stderr = assert_exit(&blocks.compact(), 5);
        assert_eq!(blocks.names(), before);
        for number in 0..6 {
            assert!(stderr.contains(&format!("{number}.cx: kept; ")), "{stderr}");
        }
        let missing = 117 - held.len();
        assert!(stderr.contains(&format!("{missing} series are missing")), "{stderr}");
    }
}

/// Two empty outputs of a job with the id of the block's own job: the block must not count among the outputs that hold
/// it.
#[test]
fn a_claim_under_the_id_of_the_blocks_own_job_deletes_nothing() {
    for rewritten in [false, true] {
        let blocks = Blocks::six();
        let job = |output, output_count| Some(Job { id: [3; 16], output, output_count });
        let own = BlockMeta { job: job(0, 1), ..BlockMeta::default() };
        let merged = blocks.add("merged.cx", 200..300, &own);
        for output in 0..2 {
            let annotations = if rewritten { vec![(REWRITTEN_KEY.to_owned(), "x".to_owned())] } else { Vec::new() };
            let claim = BlockMeta { job: job(output, 2), parents: vec![merged], annotations, ..BlockMeta::default() };
            let numbers = if rewritten || output == 1 { 0..0 } else { 400..600 };
            blocks.add(&format!("claim-{output}.cx"), numbers, &claim);
        }
        let stderr = assert_exit(&blocks.compact(), 5);
        assert!(stderr.contains("merged.cx: kept; "), "{stderr}");
        assert!(stderr.contains("100 series are missing"), "{stderr}");
        assert!(blocks.path("merged.cx").exists());
        assert!(series(200..300).is_subset(&blocks.seen().1));
    }
}

/// The series live on, and what the block says of itself does not.
#[test]
fn times_pairs_and_metrics_must_live_on_too() {
    let time = Some(TimeRange { start: 10, end: 20 });
    let metric = MetricMetadata { name: "up", metric_type: MetricType::Gauge, ..MetricMetadata::default() };
    let cases: [(&str, BlockMeta); 4] = [
        ("time range", BlockMeta { time, ..BlockMeta::default() }),
        ("window", BlockMeta { window: time, ..BlockMeta::default() }),
        (
            "annotation key",
            BlockMeta { annotations: vec![("ticket".to_owned(), "1".to_owned())], ..BlockMeta::default() },
        ),
        ("metric metadata", BlockMeta { metrics: [metric].into_iter().collect(), ..BlockMeta::default() }),
    ];
    for (what, meta) in cases {
        let blocks = Blocks { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
        let id = blocks.add("real.cx", 0..50, &meta);
        blocks.add("claim.cx", 0..50, &Blocks::claiming(&[id], &[]));
        let stderr = assert_exit(&blocks.compact(), 5);
        assert!(stderr.contains(&format!("real.cx: its {what} is missing from the outputs")), "{stderr}");
        assert!(blocks.path("real.cx").exists(), "{what}");
        // With it, the block is proved to live on.
        let whole = BlockMeta { job: Some(Job { id: [7; 16], output: 0, output_count: 1 }), parents: vec![id], ..meta };
        fs::remove_file(blocks.path("claim.cx")).unwrap();
        blocks.add("whole.cx", 0..50, &whole);
        assert_exit(&blocks.compact(), 0);
        assert!(!blocks.path("real.cx").exists(), "{what}");
    }
}

#[test]
fn a_claim_that_covers_a_part_of_a_time_range_deletes_nothing() {
    let range = |start, end| Some(TimeRange { start, end });
    for part in [range(10, 15), range(15, 20), range(5, 19), range(11, 25)] {
        for is_window in [false, true] {
            let with = |range, meta: BlockMeta| match is_window {
                true => BlockMeta { window: range, ..meta },
                false => BlockMeta { time: range, ..meta },
            };
            let blocks = Blocks { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
            let id = blocks.add("real.cx", 0..50, &with(range(10, 20), BlockMeta::default()));
            blocks.add("claim.cx", 0..50, &with(part, Blocks::claiming(&[id], &[])));
            let stderr = assert_exit(&blocks.compact(), 5);
            assert!(stderr.contains("is missing from the outputs"), "{stderr}");
            assert!(blocks.path("real.cx").exists(), "{part:?}");
        }
    }
}

/// An output of an unfinished job under the same job id holds the series, but is hidden by its own inputs.
#[test]
fn a_hidden_output_proves_nothing() {
    let blocks = Blocks { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
    let id = blocks.add("real.cx", 0..50, &BlockMeta::default());
    let claim = Blocks::claiming(&[id], &[]);
    blocks.add("claim.cx", 100..150, &claim);
    let job = claim.job.map(|job| Job { output_count: 2, ..job });
    blocks.add("half.cx", 0..50, &BlockMeta { job, parents: vec![id], ..BlockMeta::default() });
    let stderr = assert_exit(&blocks.compact(), 5);
    assert!(stderr.contains("real.cx: kept; "), "{stderr}");
    assert!(blocks.path("real.cx").exists());
}

#[test]
fn a_claim_under_another_label_policy_deletes_nothing() {
    let blocks = Blocks { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
    let policy = LabelPolicy::new(100, 200).unwrap();
    let id = blocks.add("real.cx", 0..50, &BlockMeta { policy, ..BlockMeta::default() });
    blocks.add("claim.cx", 0..50, &Blocks::claiming(&[id], &[]));
    let stderr = assert_exit(&blocks.compact(), 5);
    assert!(stderr.contains("label policy"), "{stderr}");
    assert!(blocks.path("real.cx").exists());
}

#[test]
fn what_an_earlier_run_has_merged_is_deleted_once_it_is_proved() {
    for name in ["whole.cx", "parts"] {
        let blocks = Blocks::six();
        let inputs: Vec<String> = (0..6).map(|number| blocks.path(&format!("{number}.cx"))).map(text).collect();
        let here = text(blocks.folder.path());
        let whole = text(blocks.path(name));
        let output: &[&str] =
            if name == "parts" { &["-o", &here, "--max-series-per-block", "50"] } else { &["-o", &whole] };
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        assert_exit(&run(&[&inputs[..], output].concat()), 0);
        let stderr = assert_exit(&blocks.compact(), 0);
        assert_eq!(stderr.matches("deleted; an earlier run merged it").count(), 6, "{stderr}");
        assert_eq!(blocks.seen(), (series(0..117), series(0..117)));
        assert_eq!(blocks.names().len(), if name == "parts" { 3 } else { 1 });
    }
}

#[test]
fn inputs_stay_when_an_output_or_one_of_them_was_damaged_meanwhile() {
    for damaged in ["whole.cx", "3.cx"] {
        let blocks = Blocks::six();
        let inputs: Vec<String> = (0..6).map(|number| blocks.path(&format!("{number}.cx"))).map(text).collect();
        let whole = text(blocks.path("whole.cx"));
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        assert_exit(&run(&[&inputs[..], &["-o", &whole]].concat()), 0);
        let path = blocks.path(damaged);
        let mut bytes = fs::read(&path).unwrap();
        // In the arena, which is not looked at when a block is opened.
        let at = bytes.windows(4).position(|text| text == b"host").unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        let before = blocks.names();
        let stderr = assert_exit(&blocks.compact(), 3);
        assert_eq!(blocks.names(), before);
        assert!(stderr.contains(&format!("holds its series: {}: ", path.display())), "{stderr}");
    }
}

#[test]
fn inputs_of_a_run_that_left_series_out_are_hidden_but_kept() {
    let blocks = Blocks::six();
    let inputs: Vec<String> = (0..6).map(|number| blocks.path(&format!("{number}.cx"))).map(text).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (small, elsewhere) = (text(blocks.path("small.cx")), tempfile::tempdir().unwrap());
    // Restores the inputs, as a run leaves them that was killed before it deleted them.
    for number in 0..6 {
        fs::copy(blocks.path(&format!("{number}.cx")), elsewhere.path().join(format!("{number}.cx"))).unwrap();
    }
    let drop = [r#"{host=~".."}"#, "-o", &small, "--delete-inputs"];
    assert_exit(&run(&[&inputs[..], &["--drop"], &drop[..]].concat()), 0);
    for number in 0..6 {
        fs::copy(elsewhere.path().join(format!("{number}.cx")), blocks.path(&format!("{number}.cx"))).unwrap();
    }
    let left = 10 + 17;
    assert_eq!(blocks.seen().0.len(), left, "the block says that series were left out, and is believed");
    let stderr = assert_exit(&blocks.compact(), 5);
    assert!(stderr.contains("90 series are missing"), "{stderr}");
    assert_eq!(blocks.names().len(), 7);
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

/// A forecast is about the plan of its own block.
#[test]
fn a_forecast_need_not_live_on() {
    let blocks = Blocks { folder: tempfile::tempdir().unwrap(), ids: Vec::new() };
    let annotations = vec![(PLAN_KEY.to_owned(), "sampled_series=1 bytes_per_series=1.000".to_owned())];
    let id = blocks.add("real.cx", 0..50, &BlockMeta { annotations, ..BlockMeta::default() });
    blocks.add("claim.cx", 0..50, &Blocks::claiming(&[id], &[]));
    assert_exit(&blocks.compact(), 0);
    assert!(!blocks.path("real.cx").exists());
    assert!(series(0..50).is_subset(&blocks.seen().1));
}
