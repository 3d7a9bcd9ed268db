//! Remaps compared with the targets they were built from, and damage to them.

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::{
    KeysetTargets, RemapBuildError, RemapBuilder, RemapError, RemapErrorKind, RemapOutput, RemapRule, RemapView, Target,
};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::remap::editor::reseal_all;
use proptest::prelude::*;

/// Targets of an input's series: for each keyset, row and series a target or none.
#[derive(Clone, Debug)]
struct Model {
    outputs: Vec<RemapOutput>,
    keysets: Vec<Vec<Vec<Option<Target>>>>,
}

impl Model {
    fn build(&self) -> Vec<u8> {
        let mut builder = RemapBuilder::new(BlockId([7; 16]), [9; 16], &self.outputs).unwrap();
        let mut targets = KeysetTargets::default();
        for keyset in &self.keysets {
            targets.clear();
            for row in keyset {
                targets.push_row(row.iter().map(|target| target.map(|target| self.number(target))));
            }
            builder.push_keyset(&targets).unwrap();
        }
        builder.finish().unwrap()
    }

    fn number(&self, target: Target) -> u64 {
        let before: u64 = self.outputs[..target.output as usize].iter().map(|output| output.series_count).sum();
        before + u64::from(target.series.0)
    }

    fn all(&self) -> Vec<Option<Target>> {
        self.keysets.iter().flatten().flatten().copied().collect()
    }
}

/// Keysets that were merged in order, spread over shards, mixed up or dropped.
fn random_model(seed: u64, size: usize) -> Model {
    let mut random = Random::new(seed);
    let shards = [1, 1, 1, 3][random.below(4)];
    let mut next = vec![0_u32; shards];
    let mut keysets = Vec::new();
    for _ in 0..random.below(6) {
        let rows = 1 + random.below(size);
        let (has_lists, is_mixed) = (random.percent(60), random.percent(20));
        let gone = [0, 0, 10, 60, 100][random.below(5)];
        let skipped = [0, 0, 10, 70][random.below(4)];
        let lists: Vec<Vec<Option<u32>>> = (0..3)
            .map(|_| {
                let len = if has_lists { 1 + random.below(9) } else { 1 };
                (0..len).map(|_| (!random.percent(gone)).then(|| random.below(shards) as u32)).collect()
            })
            .collect();
        let mut keyset = Vec::new();
        for _ in 0..rows {
            let list = &lists[random.below(3)];
            let row: Vec<Option<Target>> = list
                .iter()
                .map(|shard| {
                    let shard = (*shard)?;
                    let series = &mut next[shard as usize];
                    *series += 1 + u32::from(random.percent(skipped)) * random.below(40) as u32;
                    let behind = if is_mixed { random.below(*series as usize) as u32 } else { 1 };
                    Some(Target { output: shard, series: SeriesRef(*series - behind.max(1)) })
                })
                .collect();
            keyset.push(row);
        }
        keysets.push(keyset);
    }
    // A shard that was cut in two is two outputs.
    let is_cut = random.percent(50);
    let mut outputs = Vec::new();
    let mut cuts = Vec::new();
    for (shard, &series) in (0..).zip(&next) {
        let cut = if is_cut { series / 2 } else { 0 };
        if is_cut {
            outputs.push(RemapOutput { block_id: BlockId([shard as u8; 16]), series_count: cut.into(), shard });
        }
        cuts.push((outputs.len() as u32, cut));
        let rest = (series - cut).into();
        outputs.push(RemapOutput { block_id: BlockId([100 + shard as u8; 16]), series_count: rest, shard });
    }
    for target in keysets.iter_mut().flatten().flatten().flatten() {
        let (output, cut) = cuts[target.output as usize];
        *target = match target.series.0.checked_sub(cut) {
            Some(series) => Target { output, series: SeriesRef(series) },
            None => Target { output: output - 1, ..*target },
        };
    }
    Model { outputs, keysets }
}

fn read_all(bytes: &[u8]) -> Result<Vec<Option<Target>>, RemapError> {
    RemapView::open(bytes)?.targets()?.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_series_is_found_where_it_was_put(seed: u64, size in 1_usize..80) {
        let model = random_model(seed, size);
        let bytes = model.build();
        let view = RemapView::open(&bytes).unwrap();
        view.verify().unwrap();
        let expected = model.all();
        prop_assert_eq!(view.series_count().unwrap(), expected.len() as u64);
        prop_assert_eq!(view.output_count() as usize, model.outputs.len());
        for (number, output) in (0..).zip(&model.outputs) {
            prop_assert_eq!(view.output(number), Some((output.block_id, output.series_count)));
        }
        prop_assert_eq!((view.input_id(), view.job_id()), (BlockId([7; 16]), [9; 16]));
        for (series, target) in (0..).zip(&expected) {
            prop_assert_eq!(view.get(SeriesRef(series)).unwrap(), *target, "{}", series);
        }
        prop_assert_eq!(view.get(SeriesRef(expected.len() as u32)).unwrap(), None);
        prop_assert_eq!(view.get(SeriesRef(u32::MAX)).unwrap(), None);
        prop_assert_eq!(read_all(&bytes).unwrap(), expected);
    }

    #[test]
    fn damage_with_right_checksums_does_no_harm(seed: u64, flips in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let mut bytes = random_model(seed, 20).build();
        for flip in flips {
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        reseal_all(&mut bytes);
        if let Ok(view) = RemapView::open(&bytes) {
            let _ = view.verify();
            for series in 0..500 {
                let _ = view.get(SeriesRef(series));
            }
            let _ = view.targets().map(|targets| targets.take(1000).count());
        }
    }
}

#[test]
fn every_flipped_bit_and_every_wrong_length_is_refused() {
    let mut flips = 0;
    for seed in 0..12 {
        let mut bytes = random_model(seed, 30).build();
        RemapView::open(&bytes).unwrap().verify().unwrap();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let refused = RemapView::open(&bytes).and_then(|view| view.verify());
            assert!(refused.is_err(), "seed {seed}: bit {bit}");
            let _ = read_all(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
            flips += 1;
        }
        for len in 0..bytes.len() {
            assert!(RemapView::open(&bytes[..len]).is_err(), "seed {seed}: {len} bytes");
        }
        bytes.push(0);
        assert_eq!(RemapView::open(&bytes).unwrap_err().rule(), RemapRule::FileLen);
    }
    assert!(flips > 20_000, "{flips} flips");
}

fn one_output(series_count: u64) -> RemapBuilder {
    let output = RemapOutput { block_id: BlockId([1; 16]), series_count, shard: 0 };
    RemapBuilder::new(BlockId([0; 16]), [0; 16], &[output]).unwrap()
}

fn keyset(rows: impl IntoIterator<Item = Vec<Option<u64>>>) -> KeysetTargets {
    let mut targets = KeysetTargets::default();
    rows.into_iter().for_each(|row| targets.push_row(row));
    targets
}

#[test]
fn rows_that_move_as_a_whole_take_no_bits() {
    let with = |series: u64| {
        let mut builder = one_output(2_000_000);
        builder.push_keyset(&keyset((0..series).map(|number| vec![Some(number + 1000)]))).unwrap();
        let bytes = builder.finish().unwrap();
        RemapView::open(&bytes).unwrap().verify().unwrap();
        bytes.len()
    };
    assert!(with(1_000_000) <= with(1000) + 8, "{} and {} bytes", with(1_000_000), with(1000));
}

#[test]
fn rows_whose_lists_agree_take_a_number_each() {
    // 10,000 pods with 100 series each; every tenth pod of the output is not of the input.
    let mut builder = one_output(2_000_000);
    let row = |row: u64| (0..100).map(|member| Some((row + row / 9) * 100 + member)).collect();
    builder.push_keyset(&keyset((0..10_000).map(row))).unwrap();
    let bytes = builder.finish().unwrap();
    RemapView::open(&bytes).unwrap().verify().unwrap();
    assert!(bytes.len() < 15_000, "{} bytes for a million series", bytes.len());
}

#[test]
fn targets_out_of_range_are_refused() {
    let mut builder = one_output(10);
    assert_eq!(builder.push_keyset(&keyset([])), Err(RemapBuildError::Empty));
    assert_eq!(builder.push_keyset(&keyset([vec![Some(1)], vec![]])), Err(RemapBuildError::Empty));
    let outside = builder.push_keyset(&keyset([vec![Some(10)]]));
    assert_eq!(outside, Err(RemapBuildError::NoSuchSeries { number: 10, count: 10 }));
    let output = RemapOutput { block_id: BlockId([1; 16]), series_count: 1 << 32, shard: 0 };
    let too_many = RemapBuilder::new(BlockId([0; 16]), [0; 16], &[output]).unwrap_err();
    assert_eq!(too_many, RemapBuildError::TooMany { what: "series of the outputs" });
}

#[test]
fn bytes_that_are_not_a_remap_are_reported_as_such() {
    assert_eq!(RemapView::open(b"\x89CXB\r\n\x1a\n").unwrap_err().kind(), &RemapErrorKind::NotARemap);
    let mut bytes = one_output(1).finish().unwrap();
    bytes[10] = 99;
    reseal_all(&mut bytes);
    let newer = RemapView::open(&bytes).unwrap_err();
    assert_eq!(newer.kind(), &RemapErrorKind::UnsupportedVersion { major: 0, minor: 99 });
    let mut bytes = one_output(1).finish().unwrap();
    bytes[12] = 4;
    reseal_all(&mut bytes);
    let newer = RemapView::open(&bytes).unwrap_err();
    assert_eq!(newer.kind(), &RemapErrorKind::UnsupportedFeatures { bits: 4 });
}
