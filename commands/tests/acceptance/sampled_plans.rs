//! Plans from samples of the workload, against the plans of the inputs: small samples show less than the inputs knew.

use chronoxide_compactor::{CompactOptions, Compaction, Rewrite};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_planner::Layout;
use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Workload};
use prost::Message;

/// Keys that name pods, and what runs in them.
const OF_PODS: [&str; 6] =
    ["k8s.pod.name", "k8s.pod.uid", "k8s.pod.ip", "service.instance.id", "host.name", "container.id"];

/// Returns a factored block of each of two windows whose pods are all different.
fn windows(series: u64) -> Vec<Vec<u8>> {
    let window = |window| {
        let options = Options { series, windows: window..window + 1, churn: 1.0, ..Options::default() };
        let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
        for request in Workload::new(options).unwrap().requests() {
            assembler.otlp_proto(&request.encode_to_vec()).unwrap();
        }
        assembler.store().seal(Layout::Factored, &BlockMeta::default()).unwrap().block
    };
    (0..2).map(window).collect()
}

#[test]
fn a_plan_from_a_sample_is_not_worse_than_that_of_the_inputs() {
    let blocks = windows(40_000);
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    // Every second set of labels, unless all are asked for.
    for dropped in sweep::by_turns([&[][..], &OF_PODS[1..2], &OF_PODS, &["service.name"]], 0, 2) {
        let drop_labels = dropped.iter().map(|&name| name.to_owned()).collect();
        let rewrite = Rewrite { drop_labels, ..Rewrite::default() };
        let merged = |replan| {
            let options = CompactOptions { replan, rewrite: rewrite.clone(), ..CompactOptions::default() };
            let compaction = Compaction { planned_series: 20_000, ..Compaction::new(&views, &options) };
            let block = compaction.merge_to_memory().unwrap().block;
            let verified = BlockView::open(&block).unwrap().verify().unwrap();
            (verified.fingerprint, block.len())
        };
        let (adopted, sampled) = (merged(false), merged(true));
        println!("without {dropped:?}: {} bytes adopted, {} sampled", adopted.1, sampled.1);
        assert_eq!(adopted.0, sampled.0);
        assert!(sampled.1 * 20 <= adopted.1 * 21, "without {dropped:?}: {} and {}", adopted.1, sampled.1);
    }
}
