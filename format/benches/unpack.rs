//! Unpacking of runs against a loop over single fields.
//!
//! `cargo bench -p chronoxide-format --bench unpack`. Lengths are in fields. Each pass unpacks 16,384 fields, 256 at a
//! time, as scans of a table do: `contiguous` are fields one behind the other, `rows` are fields of 12 bits in rows of
//! this number of bits.

use std::hint::black_box;

use chronoxide_format::unpack::Run;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const FIELDS: u64 = 16_384;
const BATCH: usize = 256;

/// Unpacks a run field by field: one unaligned load, a shift and a mask each. This is how `unpack` did it before.
fn by_fields(run: Run, bytes: &[u8], out: &mut [u32]) -> Option<()> {
    let mask = u32::try_from((1_u64 << run.width) - 1).ok()?;
    let mut bit = run.start;
    for out in out {
        let word = bytes.get(usize::try_from(bit / 8).ok()?..)?.first_chunk()?;
        *out = run.base.wrapping_add((u64::from_le_bytes(*word) >> (bit % 8)) as u32 & mask);
        bit += u64::from(run.stride);
    }
    Some(())
}

fn by_groups(run: Run, bytes: &[u8], out: &mut [u32]) -> Option<()> {
    run.unpack(bytes, out)
}

/// Unpacks all fields in batches, and returns the sum of the first field of each.
fn pass(run: Run, bytes: &[u8], unpack: impl Fn(Run, &[u8], &mut [u32]) -> Option<()>) -> u64 {
    let mut out = [0; BATCH];
    let mut sum = 0;
    for first in (0..FIELDS).step_by(BATCH) {
        let run = Run { start: run.start + first * u64::from(run.stride), ..run };
        unpack(black_box(run), bytes, &mut out).expect("the bytes have all fields");
        sum += u64::from(black_box(&out)[0]);
    }
    sum
}

fn unpack(criterion: &mut Criterion) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(FIELDS as usize * 300 / 8 + 16)
    .collect();
    let contiguous = [3, 7, 12, 20].map(|width| ("contiguous", width, width));
    let rows = [40, 90, 300].map(|stride| ("rows", stride, 12));
    for (name, stride, width) in contiguous.into_iter().chain(rows) {
        let run = Run { start: 5, stride, width, base: 7 };
        let (mut expected, mut found) = (vec![0; FIELDS as usize], vec![1; FIELDS as usize]);
        by_fields(run, &bytes, &mut expected).expect("the bytes have all fields");
        by_groups(run, &bytes, &mut found).expect("the bytes have all fields");
        assert!(found == expected, "{run:?}");
        let mut group = criterion.benchmark_group(format!("unpack/{name}"));
        group.throughput(Throughput::Elements(FIELDS));
        group.bench_function(BenchmarkId::new("by groups", stride), |bencher| {
            bencher.iter(|| pass(run, &bytes, by_groups));
        });
        group.bench_function(BenchmarkId::new("by fields", stride), |bencher| {
            bencher.iter(|| pass(run, &bytes, by_fields));
        });
        group.finish();
    }
}

criterion_group!(benches, unpack);
criterion_main!(benches);
