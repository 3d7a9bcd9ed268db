//! Holds the workload to its bytes.
//!
//! Figures that were measured on the workload can be compared only while it stays the same. These numbers change when
//! it does, and are then changed in a commit of their own, which measures all figures again.

use chronoxide_workload::{Format, Options, Set};

use crate::oracle::bytes;

fn length_and_crc(bytes: &[u8]) -> (usize, u32) {
    (bytes.len(), crc32fast::hash(bytes))
}

#[test]
fn the_workload_is_frozen() {
    let options = Options { series: 5_000, windows: 0..3, scrapes: 2, ..Options::default() };
    let frozen = [
        (Format::OtlpProto, (6_136_022, 2_229_315_324)),
        (Format::OtlpJson, (11_846_635, 428_683_578)),
        (Format::SeriesJson, (13_758_117, 204_027_896)),
    ];
    let found = frozen.map(|(format, _)| (format, length_and_crc(&bytes(&options, format))));
    assert_eq!(found, frozen);
}

#[test]
fn the_adversaries_are_frozen() {
    let frozen = [
        (Set::UniqueLabel, (203_592, 3_937_736_697)),
        (Set::TinyKeysets, (138_224, 2_338_711_598)),
        (Set::Wide, (14_699_400, 3_904_843_875)),
        (Set::Independent, (1_010_616, 2_519_836_231)),
    ];
    let found = frozen.map(|(set, _)| {
        let options = Options { series: 1_000, set, windows: 0..2, ..Options::default() };
        (set, length_and_crc(&bytes(&options, Format::OtlpProto)))
    });
    assert_eq!(found, frozen);
}

#[test]
fn another_seed_gives_other_bytes() {
    let options = Options { series: 1_000, ..Options::default() };
    let other = Options { seed: 2, ..options.clone() };
    for set in Set::ALL {
        let (options, other) = (Options { set, ..options.clone() }, Options { set, ..other.clone() });
        let first = bytes(&options, Format::SeriesJson);
        assert_eq!(first, bytes(&options, Format::SeriesJson), "{}", set.name());
        assert_ne!(first, bytes(&other, Format::SeriesJson), "{}", set.name());
    }
}
