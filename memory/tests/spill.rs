//! Programs whose memory exceeds the limit.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;

use chronoxide_memory::{SpillingAllocator, check, limit, spill_to, usage};

#[global_allocator]
static ALLOCATOR: SpillingAllocator = SpillingAllocator;

const LIMIT: usize = 16 << 20;

/// One test: the limit is that of the process.
#[cfg(target_os = "linux")]
#[test]
fn allocations_beyond_the_limit_are_in_the_file() {
    assert_eq!(usage().peak_spilled, 0);
    limit(LIMIT);
    // Without a file nothing spills, and the limit is found to be exceeded.
    let many = vec![1_u8; 2 * LIMIT];
    assert!(usage().spilled == 0 && usage().heap >= 2 * LIMIT);
    assert!(check().unwrap_err().to_string().contains("limit is 16777216"));
    drop(many);
    check().unwrap();

    let file = tempfile::tempfile().unwrap();
    let on_disk = || file.metadata().unwrap().blocks() * 512;
    spill_to(file.try_clone().unwrap()).unwrap();
    // Vectors that grow, shrink and are sorted have the content that they have elsewhere.
    let mut numbers: Vec<u64> = Vec::new();
    for number in 0..3_u64 << 20 {
        numbers.push(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
    }
    assert!(usage().spilled >= 24 << 20);
    check().unwrap();
    let mut all = BTreeMap::new();
    for &number in numbers.iter().step_by(1 << 10) {
        *all.entry(number).or_insert(0_u32) += 1;
    }
    numbers.sort_unstable();
    assert!(numbers.is_sorted());
    for (number, count) in all {
        assert!(numbers.binary_search(&number).is_ok() && count > 0);
    }
    let sum: u64 = numbers[..1000].iter().sum();
    numbers.truncate(1000);
    numbers.shrink_to_fit();
    assert_eq!(numbers.iter().sum::<u64>(), sum);
    drop(numbers);
    assert_eq!(usage().spilled, 0, "freed ranges are given back");
    let many = vec![1_u8; LIMIT];
    let taken = on_disk();
    drop(many);
    assert!(on_disk() + LIMIT as u64 <= taken, "the disk has the space again");

    // The larger an allocation, the more of the heap is left to smaller ones. Threads count in steps of 64 KiB.
    let mut held: Vec<Vec<u8>> = Vec::with_capacity(1 << 15);
    for (size, share) in [(4 << 20, 16), (256 << 10, 24), (1 << 10, 28), (64, 31)] {
        let share = LIMIT / 32 * share;
        while usage().spilled == 0 {
            held.push(vec![1; size]);
        }
        held.pop();
        let (heap, step) = (usage().heap, 64 << 10);
        assert!(heap <= share + step && heap + size + 2 * step >= share, "{heap} bytes of {share} before {size}");
    }
    drop(held);

    // New ranges are zeros, whatever older ones were.
    drop(vec![0xff_u8; LIMIT]);
    let zeros = vec![0_u8; LIMIT];
    assert!(usage().spilled >= LIMIT && zeros.iter().all(|&byte| byte == 0));
    drop(zeros);

    // Small allocations beyond the limit, which are freed and used again.
    for round in 0..2_usize {
        let mut texts: Vec<String> = (0..3_usize << 18).map(|at| format!("{at}{:1$}", round, at % 50)).collect();
        assert!(usage().spilled > LIMIT && usage().heap <= LIMIT, "{:?}", usage());
        for at in (0..texts.len()).step_by(2) {
            texts[at] = String::new();
        }
        let zeros: Vec<Vec<u8>> = (0..10_000).map(|at| vec![0; at % 500]).collect();
        assert!(zeros.iter().flatten().all(|&byte| byte == 0), "used again");
        for (at, text) in texts.iter().enumerate().skip(1).step_by(2) {
            assert!(text.strip_prefix(&at.to_string()).is_some_and(|rest| rest.trim() == round.to_string()), "{text}");
        }
    }
    assert_eq!(usage().spilled, 0);
    check().unwrap();

    // Threads that allocate at once.
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            scope.spawn(move || {
                for round in 0..8 {
                    let len = (round + 1) << 16;
                    let mut bytes = vec![thread; len];
                    bytes.extend((0..len).map(|at| at as u8));
                    assert!(bytes[..len].iter().all(|&byte| byte == thread));
                    assert!(bytes[len..].iter().enumerate().all(|(at, &byte)| byte == at as u8));
                }
            });
        }
    });
    assert_eq!(usage().spilled, 0);
    check().unwrap();
}
