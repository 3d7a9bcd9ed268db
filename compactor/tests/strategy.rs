//! The strategy's choice of blocks to merge.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chronoxide_compactor::strategy::{
    Description, GroupReason, Length, Strategy, StrategyOptions, UnmergedReason, choose,
};
use chronoxide_format::identity::BlockId;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::TimeRange;
use chronoxide_planner::Layout;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

const HOUR: i64 = 3_600_000_000_000;
/// 1970-01-01 was a Thursday; weeks are counted from it.
const WEEK: i64 = 7 * 24;

fn hours(start: i64, end: i64) -> Option<TimeRange> {
    Some(TimeRange { start: start * HOUR, end: end * HOUR })
}

/// A block of 1,000 series and 10 MiB.
fn block(number: u8, time: Option<TimeRange>) -> Description {
    Description {
        file: PathBuf::from(format!("{number}.cx")),
        id: BlockId([number; 16]),
        bytes: 10 << 20,
        series: 1_000,
        time,
        window: None,
        job: None,
        external_labels: Vec::new(),
        policy: LabelPolicy::NONE,
        read_only: None,
        layout: Layout::Factored,
    }
}

fn blocks(times: &[Option<TimeRange>]) -> Vec<Description> {
    (0..).zip(times).map(|(number, time)| block(number, *time)).collect()
}

/// The numbers of the blocks of each group.
fn groups(strategy: &Strategy<'_>) -> Vec<Vec<u8>> {
    strategy.groups.iter().map(|group| group.blocks.iter().map(|block| block.id.0[0]).collect()).collect()
}

fn alone<'a>(strategy: &Strategy<'a>) -> Vec<(u8, UnmergedReason<'a>)> {
    strategy.unmerged.iter().map(|unmerged| (unmerged.block.id.0[0], unmerged.reason)).collect()
}

fn range(start: i64, end: i64) -> TimeRange {
    hours(start, end).unwrap()
}

#[test]
fn the_largest_complete_range_is_taken_at_once() {
    // Twelve blocks of a day, and one of the next: the day is complete, the week is not.
    let mut times: Vec<_> = (0..12).map(|number| hours(2 * number, 2 * number + 2)).collect();
    times.push(hours(24, 26));
    let blocks = blocks(&times);
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [(0..12).collect::<Vec<u8>>()]);
    assert_eq!(strategy.groups[0].reason, GroupReason::Range { range: range(0, 24), length: Length(24 * HOUR) });
    assert_eq!((strategy.groups[0].series(), strategy.groups[0].bytes()), (12_000, 120 << 20));
    assert_eq!(alone(&strategy), [(12, UnmergedReason::Open { range: range(0, WEEK), length: Length(WEEK * HOUR) })]);
    assert_eq!((strategy.blocks(), strategy.blocks_after()), (13, 2));
}

#[test]
fn ranges_that_are_not_complete_wait() {
    // 6 to 8 is complete because of 8 to 10; 8 to 10 has two blocks and nothing after it.
    let blocks = blocks(&[hours(6, 7), hours(7, 8), hours(8, 9), hours(9, 10)]);
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0, 1]]);
    let open = UnmergedReason::Open { range: range(8, 10), length: Length(2 * HOUR) };
    assert_eq!(alone(&strategy), [(2, open), (3, open)]);
}

#[test]
fn blocks_of_like_size_are_merged_while_a_range_fills() {
    let mut blocks = blocks(&[hours(0, 1); 6]);
    blocks[0].bytes = 100 << 20;
    for (block, mebibytes) in blocks[1..].iter_mut().zip([10, 12, 15, 20, 21]) {
        block.bytes = mebibytes << 20;
    }
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[1, 2, 3, 4]], "21 MiB is more than twice 10 MiB");
    assert_eq!(strategy.groups[0].reason, GroupReason::Filling { range: range(0, 2), length: Length(2 * HOUR) });
    assert_eq!(strategy.unmerged.len(), 2);
}

#[test]
fn blocks_without_times_are_merged_by_size() {
    let mut blocks = blocks(&[None; 9]);
    for (block, kibibytes) in blocks.iter_mut().zip([1, 100, 600, 1_000, 2_000, 9_000, 9_500, 9_900, 50_000]) {
        block.bytes = kibibytes << 10;
    }
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0, 1, 2, 3, 4]], "all up to 1 MiB are of one size");
    assert_eq!(strategy.groups[0].reason, GroupReason::LikeSize);
    assert_eq!(alone(&strategy), [5, 6, 7, 8].map(|number| (number, UnmergedReason::FewAlike)));
}

#[test]
fn only_blocks_with_equal_labels_and_policy_go_together() {
    let mut blocks = blocks(&[hours(0, 2), hours(0, 2), hours(0, 2), hours(0, 2), hours(WEEK, WEEK + 2)]);
    for (number, replica) in [(0, "a"), (1, "b"), (2, "a"), (3, "a"), (4, "a")] {
        blocks[number].external_labels = vec![("replica".to_owned(), replica.to_owned())];
    }
    blocks[3].policy = LabelPolicy::INGEST;
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0, 2]]);
    assert_eq!(alone(&strategy), [1, 3, 4].map(|number| (number, UnmergedReason::Only)));
}

#[test]
fn another_replica_does_not_complete_a_range() {
    let mut blocks = blocks(&[hours(0, 2), hours(0, 2), hours(WEEK, WEEK + 2)]);
    blocks[2].external_labels = vec![("replica".to_owned(), "b".to_owned())];
    assert_eq!(groups(&choose(&blocks, &StrategyOptions::default())), [[0_u8; 0]; 0]);
    // Another policy does: time went on all the same. But each kind of blocks stays by itself.
    blocks[2].external_labels.clear();
    blocks[2].policy = LabelPolicy::INGEST;
    assert_eq!(groups(&choose(&blocks, &StrategyOptions::default())), [[0, 1]]);
    let most = LabelPolicy::MAX_LIMIT;
    for (max_name_len, max_value_len) in [(most, 100), (100, most)] {
        blocks[1].policy = LabelPolicy::new(max_name_len, max_value_len).unwrap();
        assert_eq!(groups(&choose(&blocks, &StrategyOptions::default())), [[0_u8; 0]; 0]);
    }
}

#[test]
fn boundaries_are_never_bridged() {
    // 1 is in the first week, 2 over the boundary, 3 in the second.
    let blocks = blocks(&[
        hours(1, 2),
        hours(WEEK - 1, WEEK),
        hours(WEEK - 1, WEEK + 1),
        hours(WEEK, WEEK + 1),
        hours(2 * WEEK, 2 * WEEK + 1),
    ]);
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0, 1]]);
    assert_eq!(
        alone(&strategy),
        [(2, UnmergedReason::OverBoundary), (3, UnmergedReason::Only), (4, UnmergedReason::Only)]
    );
}

#[test]
fn a_window_counts_for_more_than_the_data() {
    let mut blocks = blocks(&[hours(0, 1), hours(1, 2), hours(WEEK, WEEK + 1)]);
    // Cut for a window over the boundary, though its data lies before it.
    blocks[1].window = hours(1, WEEK + 1);
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0_u8; 0]; 0]);
    assert_eq!(alone(&strategy)[1], (1, UnmergedReason::OverBoundary));
}

#[test]
fn times_choose_whole_blocks() {
    let mut blocks = blocks(&[hours(0, 1), hours(1, 2), hours(1, 2), hours(0, 2), None, hours(WEEK, WEEK + 1)]);
    blocks[4].bytes = 1;
    let options = StrategyOptions { min_time: Some(HOUR), max_time: Some(2 * HOUR), ..StrategyOptions::default() };
    let strategy = choose(&blocks, &options);
    assert_eq!(groups(&strategy), [[1, 2]], "the newest still says that the range is complete");
    let outside = UnmergedReason::OutsideTimes;
    assert_eq!(alone(&strategy), [(0, outside), (3, outside), (5, outside), (4, UnmergedReason::NoTimes)]);
}

#[test]
fn copies_stay() {
    let mut blocks = blocks(&[hours(0, 1), hours(0, 1), hours(1, 2), hours(WEEK, WEEK + 1)]);
    blocks[1].id = blocks[0].id;
    let strategy = choose(&blocks, &StrategyOptions::default());
    assert_eq!(groups(&strategy), [[0, 2]]);
    let copy = &strategy.unmerged[0];
    assert_eq!(copy.block.file, PathBuf::from("1.cx"));
    assert_eq!(copy.reason, UnmergedReason::Copy { of: "0.cx".as_ref() });
}

#[test]
fn a_range_with_too_many_series_is_taken_apart() {
    // Two blocks in 0 to 2, two in 2 to 4: together 4,000.
    let times = [hours(0, 1), hours(1, 2), hours(2, 3), hours(3, 4), hours(WEEK, WEEK + 1)];
    let blocks = blocks(&times);
    let with = |most| StrategyOptions { max_series: Some(most), ..StrategyOptions::default() };
    assert_eq!(groups(&choose(&blocks, &with(4_000))), [[0, 1, 2, 3]]);
    assert_eq!(groups(&choose(&blocks, &with(3_999))), [vec![0, 1], vec![2, 3]]);
    let nothing = choose(&blocks, &with(1_999));
    assert_eq!(groups(&nothing), [[0_u8; 0]; 0]);
    let too_many = |start, end| UnmergedReason::TooManySeries { range: range(start, end), length: Length(2 * HOUR) };
    assert_eq!(alone(&nothing)[..2], [(0, too_many(0, 2)), (1, too_many(0, 2))]);
    assert_eq!(alone(&nothing)[2..4], [(2, too_many(2, 4)), (3, too_many(2, 4))]);
}

#[test]
fn neighbours_are_merged_as_far_as_the_limit_allows() {
    let mut times = vec![hours(0, 1); 5];
    times.push(hours(WEEK, WEEK + 1));
    let mut blocks = blocks(&times);
    blocks[2].series = 5_000;
    let options = StrategyOptions { max_series: Some(2_500), ..StrategyOptions::default() };
    assert_eq!(groups(&choose(&blocks, &options)), [[0, 1], [3, 4]]);
}

/// A merge that was split is not done again, until there are other blocks to merge with.
#[test]
fn outputs_of_one_job_are_merged_only_with_others() {
    let mut blocks = blocks(&[hours(0, 2), hours(0, 2), hours(0, 2), hours(0, 2), hours(2, 4)]);
    for block in &mut blocks[..4] {
        block.job = Some([7; 16]);
    }
    let ranges = |ranges: &str| StrategyOptions { ranges: ranges.parse().unwrap(), ..StrategyOptions::default() };
    let short = ranges("2h");
    let strategy = choose(&blocks, &short);
    assert!(strategy.groups.is_empty(), "{strategy:?}");
    assert_eq!(alone(&strategy)[..4], [0, 1, 2, 3].map(|number| (number, UnmergedReason::Siblings)));
    let two_hours = ranges("2h,4h");
    assert!(choose(&blocks, &two_hours).groups.is_empty(), "the longer range is not complete");
    // Neither in a range that is not complete, nor without times.
    for time in [None, hours(2, 4)] {
        let mut alike = blocks.clone();
        alike.iter_mut().for_each(|block| block.time = time);
        alike.pop();
        assert!(choose(&alike, &two_hours).groups.is_empty(), "{time:?}");
    }
    blocks[3].job = Some([8; 16]);
    assert_eq!(groups(&choose(&blocks, &two_hours)), [[0, 1, 2, 3]]);
    blocks[3].job = blocks[2].job;
    blocks.push(block(5, hours(4, 6)));
    assert_eq!(groups(&choose(&blocks, &two_hours)), [[0, 1, 2, 3, 4]]);
}

/// Returns a description of the merged group: times as the compactor merges them, arbitrary values for the rest.
fn merged(blocks: &[&Description], number: usize, share: u64) -> Description {
    let union = |times: Vec<Option<TimeRange>>| {
        let times = times.into_iter().collect::<Option<Vec<TimeRange>>>()?;
        let (start, end) = (times.iter().map(|time| time.start).min()?, times.iter().map(|time| time.end).max()?);
        Some(TimeRange { start, end })
    };
    let between = |sizes: Vec<u64>| {
        let (least, most) = (sizes.iter().max().unwrap(), sizes.iter().sum::<u64>());
        least + (most - least) * share / 100
    };
    let mut id = [0xff; 16];
    id[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Description {
        file: PathBuf::from(format!("merged-{number}.cx")),
        id: BlockId(id),
        bytes: between(blocks.iter().map(|block| block.bytes).collect()),
        series: between(blocks.iter().map(|block| block.series).collect()),
        time: union(blocks.iter().map(|block| block.time).collect()),
        window: union(blocks.iter().map(|block| block.window).collect()),
        job: None,
        ..blocks[0].clone()
    }
}

/// In half hours, so that blocks lie in ranges of 1 hour, of 4 and of 8, or over their boundaries.
fn half_hours() -> impl proptest::strategy::Strategy<Value = Option<TimeRange>> {
    let time = (-40_i64..40, 1_i64..6)
        .prop_map(|(start, length)| Some(TimeRange { start: start * HOUR / 2, end: (start + length) * HOUR / 2 }));
    prop_oneof![1 => Just(None), 6 => time]
}

prop_compose! {
    fn description()(
        time in half_hours(),
        window in prop_oneof![4 => Just(None), 1 => half_hours()],
        bytes in prop_oneof![0_u64..1 << 20, 0_u64..20 << 20],
        series in 0_u64..100,
        replica in 0_usize..2,
        is_cut in prop::bool::weighted(0.1),
        job in prop::option::weighted(0.4, 0_u8..4),
    ) -> Description {
        Description {
            time,
            window,
            bytes,
            series,
            job: job.map(|job| [job; 16]),
            external_labels: vec![("replica".to_owned(), ["a", "b"][replica].to_owned())],
            policy: if is_cut { LabelPolicy::INGEST } else { LabelPolicy::NONE },
            ..block(0, None)
        }
    }
}

prop_compose! {
    fn many()(mut blocks in prop::collection::vec(description(), 0..60), copies in prop::collection::vec(0_usize..60, 0..3)) -> Vec<Description> {
        for (number, block) in blocks.iter_mut().enumerate() {
            block.file = PathBuf::from(format!("{number}.cx"));
            block.id.0[..8].copy_from_slice(&(number as u64).to_be_bytes());
        }
        for of in copies.into_iter().filter(|of| *of < blocks.len()).collect::<Vec<_>>() {
            let copy = Description { file: PathBuf::from(format!("copy-{}.cx", blocks.len())), ..blocks[of].clone() };
            blocks.push(copy);
        }
        blocks
    }
}

prop_compose! {
    fn options()(
        max_series in prop::option::of(0_u64..1_000),
        min_time in prop::option::weighted(0.2, -30_i64..0),
        max_time in prop::option::weighted(0.2, 0_i64..30),
    ) -> StrategyOptions {
        StrategyOptions {
            ranges: "1h,4h,8h".parse().unwrap(),
            min_time: min_time.map(|time| time * HOUR),
            max_time: max_time.map(|time| time * HOUR),
            max_series,
            ..StrategyOptions::default()
        }
    }
}

/// Returns true if both ends lie in one multiple of a length.
fn is_within(extent: TimeRange, length: i64) -> bool {
    (extent.start as i128).div_euclid(length.into()) == (i128::from(extent.end) - 1).div_euclid(length.into())
}

fn hull(blocks: &[&Description]) -> TimeRange {
    let extents: Vec<TimeRange> = blocks.iter().map(|block| block.extent().unwrap()).collect();
    let start = extents.iter().map(|extent| extent.start).min().unwrap();
    TimeRange { start, end: extents.iter().map(|extent| extent.end).max().unwrap() }
}

fn goes_with(a: &Description, b: &Description) -> bool {
    a.external_labels == b.external_labels && a.policy == b.policy
}

fn check_groups(
    strategy: &Strategy<'_>,
    blocks: &[Description],
    options: &StrategyOptions,
) -> Result<(), TestCaseError> {
    let mut files: Vec<_> = strategy.groups.iter().flat_map(|group| &group.blocks).map(|block| &block.file).collect();
    files.extend(strategy.unmerged.iter().map(|unmerged| &unmerged.block.file));
    files.sort();
    let mut expected: Vec<_> = blocks.iter().map(|block| &block.file).collect();
    expected.sort();
    prop_assert_eq!(files, expected, "each block is in one place");
    for group in &strategy.groups {
        prop_assert!(group.blocks.len() >= 2);
        let jobs: BTreeSet<_> = group.blocks.iter().map(|block| block.job).collect();
        prop_assert!(jobs.len() > 1 || jobs.contains(&None), "outputs of one job");
        let first = group.blocks[0];
        prop_assert!(group.blocks.iter().all(|block| goes_with(first, block)));
        let series = group.blocks.iter().map(|block| block.series).sum::<u64>();
        prop_assert!(options.max_series.is_none_or(|most| series <= most));
        match group.reason {
            GroupReason::Range { length: Length(length), .. } => {
                let hull = hull(&group.blocks);
                prop_assert!(is_within(hull, length));
                let end = (hull.start.div_euclid(length) + 1) * length;
                let is_newer = |block: &Description| block.extent().is_some_and(|extent| extent.start >= end);
                prop_assert!(
                    blocks.iter().any(|block| block.external_labels == first.external_labels && is_newer(block))
                );
            }
            GroupReason::Filling { length, .. } => {
                prop_assert_eq!(length, Length(HOUR));
                prop_assert!(is_within(hull(&group.blocks), HOUR));
                prop_assert!(group.blocks.len() >= 4);
            }
            GroupReason::LikeSize => {
                prop_assert!(group.blocks.iter().all(|block| block.extent().is_none()));
                prop_assert!(group.blocks.len() >= 4);
            }
        }
        for block in group.blocks.iter().filter(|_| options.min_time.or(options.max_time).is_some()) {
            let extent = block.extent().unwrap();
            prop_assert!(options.min_time.is_none_or(|min| extent.start >= min));
            prop_assert!(options.max_time.is_none_or(|max| extent.end <= max));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn plans_do_not_depend_on_the_order_of_blocks(blocks in many(), options in options(), seed: u64) {
        let mut other = blocks.clone();
        for at in (1..other.len()).rev() {
            let with = (seed.wrapping_mul(at as u64 * 2 + 1) >> 33) as usize % (at + 1);
            other.swap(at, with);
        }
        prop_assert_eq!(choose(&blocks, &options), choose(&other, &options));
    }

    #[test]
    fn merging_what_is_planned_comes_to_an_end(blocks in many(), options in options(), share in 0_u64..=100) {
        let mut blocks = blocks;
        let mut number = 0;
        let most_rounds = blocks.len() + 1;
        for round in 0.. {
            prop_assert!(round < most_rounds, "each round makes the number of blocks smaller");
            let strategy = choose(&blocks, &options);
            check_groups(&strategy, &blocks, &options)?;
            if strategy.groups.is_empty() {
                break;
            }
            let mut next: Vec<Description> = strategy.unmerged.iter().map(|unmerged| unmerged.block.clone()).collect();
            for group in &strategy.groups {
                number += 1;
                next.push(merged(&group.blocks, number, share));
            }
            prop_assert_eq!(next.len(), strategy.blocks_after());
            blocks = next;
        }
        if options.max_series.is_some() || options.min_time.or(options.max_time).is_some() {
            return Ok(());
        }
        // Nothing that could be merged is left: a complete range has one block of a kind, besides copies, or outputs of
        // one job.
        for length in [HOUR, 4 * HOUR, 8 * HOUR] {
            for (at, block) in blocks.iter().enumerate() {
                let Some(extent) = block.extent().filter(|extent| is_within(*extent, length)) else { continue };
                let end = (extent.start.div_euclid(length) + 1) * length;
                let is_complete = blocks.iter().any(|other| {
                    other.external_labels == block.external_labels && other.extent().is_some_and(|other| other.start >= end)
                });
                let together = blocks[at + 1..].iter().filter(|other| {
                    let is_copy = other.file.starts_with("copy") || other.id == block.id;
                    let are_siblings = block.job.is_some() && block.job == other.job;
                    goes_with(block, other) && !is_copy && !are_siblings && other.extent().is_some_and(|other| {
                        is_within(TimeRange { start: other.start.min(extent.start), end: other.end.max(extent.end) }, length)
                    })
                });
                prop_assert!(!is_complete || together.count() == 0, "{:?}", block);
            }
        }
    }
}
