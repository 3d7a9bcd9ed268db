//! The planner's tables for 5,000 series of the frozen workload: a change of its choices is seen, and is a change of
//! its version.

use chronoxide_format::checksum::crc;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_planner::Layout;
use chronoxide_workload::{Options, Workload};
use prost::Message;

/// Length in bytes and CRC-32 of the factored block. They change with the planner, the format or the workload: then
/// planner version, format version or figures change in the same commit.
const EXPECTED: (usize, u32) = (30_913, 20_452_419);

#[test]
fn the_planner_chooses_as_it_did() {
    let workload = Workload::new(Options { series: 5_000, ..Options::default() }).unwrap();
    let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
    for request in workload.requests() {
        assembler.otlp_proto(&request.encode_to_vec()).unwrap();
    }
    let block = assembler.store().seal(Layout::Factored, &BlockMeta::default()).unwrap().block;
    assert_eq!(BlockView::open(&block).unwrap().verify().unwrap().series_count, 5_000);
    assert_eq!((block.len(), crc(&block)), EXPECTED);
}
