//! Damage of every kind is refused by `verify`, and harmless to readers that do not verify.
//!
//! Each harness counts its cases and fails when they become fewer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use chronoxide_format::KeyId;
use chronoxide_format::layout::SectionKind;
use chronoxide_format::verify::Join;
use chronoxide_format::view::BlockView;
use chronoxide_testkit::allocation::{Counting, measure};
use chronoxide_testkit::archive::archives;
use chronoxide_testkit::broken::broken;
use chronoxide_testkit::exercise::read_everything;
use chronoxide_testkit::golden::{Golden, goldens};
use chronoxide_testkit::hostile::{Field, boundary_values, fields, with_fields};
use chronoxide_testkit::parallel::map;
use chronoxide_testkit::sweep;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn is_sound(bytes: &[u8]) -> bool {
    BlockView::open_unpacked(bytes, &mut Vec::new()).and_then(|view| view.verify()).is_ok()
}

/// Reads what can be read; that it comes back is the claim.
fn read_unverified(bytes: &[u8]) {
    let _ = read_everything(bytes);
}

/// Goldens whose every bit can be tried within seconds.
fn small_goldens() -> Vec<Golden> {
    goldens().into_iter().filter(|golden| golden.bytes.len() < 1000).collect()
}

/// Tries some bits of a block; returns how many.
fn try_flips(golden: &Golden, step: usize, check: impl Fn(&[u8], usize) + Sync) -> u64 {
    let bits: Vec<usize> = (0..golden.bytes.len() * 8).step_by(step).collect();
    map(&bits.chunks(4096).collect::<Vec<_>>(), |bits| {
        let mut bytes = golden.bytes.clone();
        for &bit in *bits {
            bytes[bit / 8] ^= 1 << (bit % 8);
            check(&bytes, bit);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    });
    bits.len() as u64
}

#[test]
fn flipped_bits_of_every_golden_are_refused() {
    let cases: u64 = archives()
        .iter()
        .chain(&goldens())
        .map(|golden| {
            // A step of 7 bits meets each byte.
            let step = if golden.bytes.len() < 10_000 { 1 } else { sweep::cases(7, 1) };
            try_flips(golden, step, |bytes, bit| assert!(!is_sound(bytes), "{}: bit {bit}", golden.name))
        })
        .sum();
    println!("{cases} flips");
    assert!(cases >= sweep::cases(400_000, 1_825_000), "{cases} flips");
}

/// Checks that each value of each series, as far as it is read without an error, is in the dictionary of its key.
fn check_values(bytes: &[u8], what: &str) {
    let Ok(view) = BlockView::open(bytes) else { return };
    // `None` if a value of the dictionary cannot be read.
    let dictionary = |key| -> Option<BTreeSet<&[u8]>> {
        let values = view.label_values(KeyId(key)).unwrap().expect("a key of the block");
        values.collect::<Result<_, _>>().ok()
    };
    let dictionaries: Vec<Option<BTreeSet<&[u8]>>> = (0..view.key_count()).map(dictionary).collect();
    for series in view.series_iter().map_while(Result::ok) {
        for label in series.labels().map_while(Result::ok) {
            let key = view.key(label.name).unwrap().expect("a name of the block");
            let name = String::from_utf8_lossy(label.name);
            let values = dictionaries[key.0 as usize].as_ref();
            assert!(values.is_none_or(|values| values.contains(label.value)), "{what}: {name} has a foreign value");
        }
    }
}

/// A code out of range must not reach the bits of another table: readers that do not verify would get wrong labels.
#[test]
fn values_come_from_the_dictionary_of_their_key() {
    let mut cases = 0;
    for golden in small_goldens() {
        let view = BlockView::open(&golden.bytes).unwrap();
        let rows = view.sections().find(|section| section.known() == Some(SectionKind::Rows));
        let bits = rows.map_or(0..0, |rows| rows.offset * 8..(rows.offset + rows.length) * 8);
        for bit in bits {
            let mut bytes = golden.bytes.clone();
            bytes[bit as usize / 8] ^= 1 << (bit % 8);
            check_values(&bytes, &format!("{}, bit {bit}", golden.name));
            cases += 1;
        }
    }
    println!("{cases} flips");
    assert!(cases >= 4_000, "{cases} flips");
}

#[test]
fn flipped_bits_do_no_harm_to_who_does_not_verify() {
    let archives = archives();
    let small = small_goldens();
    let small = small.iter().chain(archives.iter().filter(|golden| golden.bytes.len() < 1000));
    // A step of 7 bits meets each byte.
    let step = sweep::cases(7, 1);
    let small: u64 = small.map(|golden| try_flips(golden, step, |bytes, _| read_unverified(bytes))).sum();
    let large = archives.iter().cloned().chain(goldens()).filter(|golden| golden.bytes.len() >= 1000);
    let step = sweep::cases(2003, 1009);
    let large: u64 = large.map(|golden| try_flips(&golden, step, |bytes, _| read_unverified(bytes))).sum();
    println!("{small} flips in small goldens, {large} in large ones");
    let [least_small, least_large] = sweep::cases([9_500, 850], [66_900, 1_700]);
    assert!(small >= least_small && large >= least_large, "{small} and {large} flips");
}

#[test]
fn every_truncation_and_extension_is_refused_and_does_no_harm() {
    let mut cases = 0;
    for golden in archives().into_iter().chain(goldens()) {
        let bytes = &golden.bytes;
        let step = if bytes.len() < 10_000 { 1 } else { 7 };
        for len in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            assert!(!is_sound(&bytes[..len]), "{} cut to {len}", golden.name);
            read_unverified(&bytes[..len]);
            cases += 1;
        }
        for extra in [1, 4, 8, 8192] {
            let longer = [&bytes[..], &vec![0; extra]].concat();
            assert!(!is_sound(&longer), "{} with {extra} more", golden.name);
            cases += 1;
        }
    }
    println!("{cases} truncations and extensions");
    assert!(cases >= 45_900, "{cases} truncations and extensions");
}

#[test]
fn every_two_flipped_bits_in_header_and_directory_are_refused() {
    let golden = goldens().into_iter().find(|golden| golden.name == "one-series").expect("a golden block");
    let bits = (64 + 7 * 24) * 8;
    let cases = map(&(0..bits).collect::<Vec<usize>>(), |&first| {
        let mut bytes = golden.bytes.clone();
        bytes[first / 8] ^= 1 << (first % 8);
        for second in first + 1..bits {
            bytes[second / 8] ^= 1 << (second % 8);
            assert!(!is_sound(&bytes), "bits {first} and {second}");
            bytes[second / 8] ^= 1 << (second % 8);
        }
        bits - first - 1
    });
    let cases: usize = cases.into_iter().sum();
    println!("{cases} pairs of bits");
    assert!(cases >= 1_700_000, "{cases} pairs of bits");
}

#[test]
fn pages_that_are_swapped_zeroed_or_foreign_are_refused() {
    const PAGE: usize = 4096;
    let block = |name| goldens().into_iter().find(|golden| golden.name == name).expect("a golden block").bytes;
    let (bytes, foreign) = (block("many-chunks"), block("limit-symbols"));
    let pages = bytes.len() / PAGE;
    let mut cases = 0;
    let mut refuse = |damaged: Vec<u8>| {
        if damaged != bytes {
            assert!(!is_sound(&damaged));
            read_unverified(&damaged);
            cases += 1;
        }
    };
    for a in 0..pages {
        let page = a * PAGE..(a + 1) * PAGE;
        let mut zeroed = bytes.clone();
        zeroed[page.clone()].fill(0);
        refuse(zeroed);
        let mut replaced = bytes.clone();
        replaced[page.clone()].copy_from_slice(&foreign[page.clone()]);
        refuse(replaced);
        for b in a + 1..pages {
            let mut swapped = bytes.clone();
            let (low, high) = swapped.split_at_mut(b * PAGE);
            low[page.clone()].swap_with_slice(&mut high[..PAGE]);
            refuse(swapped);
        }
    }
    println!("{cases} pages");
    assert!(cases >= 200, "{cases} pages");
}

/// Bytes that reading and verifying a small block may hold at once, whatever its fields say: buffers of fixed size, and
/// a few bits or bytes for each byte of the block.
const MAX_HEAP: u64 = 1 << 20;

#[test]
fn hostile_fields_with_right_checksums_do_no_harm() {
    let mut cases: Vec<(usize, Vec<(Field, usize)>)> = Vec::new();
    let blocks = small_goldens();
    for (block, golden) in blocks.iter().enumerate() {
        let fields = fields(&golden.bytes);
        let values = boundary_values(0).len();
        // Each fourth value, by turns, unless all are asked for.
        let some = |place: usize| sweep::by_turns(0..values, place + block, 4);
        let alone = fields.iter().enumerate();
        cases.extend(alone.flat_map(|(place, &field)| some(place).map(move |value| (block, vec![(field, value)]))));
        // Pairs of fields, spread by steps that share no factor with their number.
        let mut place = 0;
        for pair in 0..sweep::cases(500, 11_000) {
            let first = fields[place % fields.len()];
            let second = fields[(place / 7 + pair) % fields.len()];
            cases.push((block, vec![(first, pair % values), (second, (pair / values) % values)]));
            place += 7919;
        }
    }
    let (labels, most) = (AtomicU64::new(0), AtomicU64::new(0));
    map(&cases, |(block, changes)| {
        let bytes = with_fields(&blocks[*block].bytes, changes);
        let (tally, usage) = measure(|| {
            let _ = is_sound(&bytes);
            read_everything(&bytes)
        });
        labels.fetch_add(tally.labels, Ordering::Relaxed);
        most.fetch_max(usage.peak, Ordering::Relaxed);
        assert!(usage.peak <= MAX_HEAP, "{} bytes at once: {} {changes:?}", usage.peak, blocks[*block].name);
        let (is_open, open) = measure(|| BlockView::open(&bytes).is_ok());
        // An error is boxed.
        assert_eq!(open.calls, u64::from(!is_open), "opening allocates");
    });
    println!("{} hostile blocks, {} bytes held at most", cases.len(), most.into_inner());
    assert!(cases.len() >= sweep::cases(16_000, 229_900), "{} cases", cases.len());
    assert!(
        labels.into_inner() > sweep::cases(150_000, 1_000_000),
        "most blocks were read no further than their header"
    );
}

/// Pieces in the wrong order, on one thread.
struct Backwards(usize);

impl Join for Backwards {
    fn join<A: Send, B: Send>(&self, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        let second = second();
        (first(), second)
    }

    fn pieces(&self) -> usize {
        self.0
    }
}

#[test]
fn blocks_are_verified_alike_in_any_number_of_pieces() {
    let (mut sound, mut refused) = (0, 0);
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).expect("a golden block");
        let whole = view.verify().expect("a golden block");
        for pieces in 1..=9 {
            assert_eq!(view.verify_on(&Backwards(pieces)), Ok(whole), "{}, {pieces} pieces", golden.name);
            sound += 1;
        }
    }
    for broken in broken() {
        let Ok(view) = BlockView::open(&broken.bytes) else { continue };
        for pieces in sweep::by_turns(2..=9, 0, 3) {
            assert_eq!(view.verify_on(&Backwards(pieces)), view.verify(), "{:?}, {pieces} pieces", broken.rule);
            refused += 1;
        }
    }
    // Blocks in which more than one thing may be wrong.
    for golden in small_goldens() {
        for (place, field) in sweep::by_turns(fields(&golden.bytes).into_iter().enumerate(), 0, 3) {
            let bytes = with_fields(&golden.bytes, &[(field, place % boundary_values(0).len())]);
            let Ok(view) = BlockView::open(&bytes) else { continue };
            let whole = view.verify();
            assert_eq!(view.verify_on(&Backwards(3)), whole, "{}: {field:?}", golden.name);
            *if whole.is_ok() { &mut sound } else { &mut refused } += 1;
        }
    }
    println!("{sound} sound and {refused} broken blocks in pieces");
    assert!(sound >= 150 && refused >= sweep::cases(500, 1_000), "{sound} sound, {refused} refused");
}
