//! The target that reads remaps.

use std::mem::offset_of;

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::layout::{REMAP_MAGIC, RemapHeader};
use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput, RemapView, Target};

use super::program::Program;
use crate::hostile::boundary_values;
use crate::remap::editor::reseal_all;

/// Series that are looked at one by one: few bytes can stand for very many.
const FIRST: u32 = 64;

/// Outputs of a compaction: their series, and the shards that they are of.
const OUTPUTS: [(u64, u32); 4] = [(40, 0), (60, 0), (200, 1), (1000, 2)];

/// Bytes that begin as a remap does: read as one. Any others are a program: a byte with how many changes and outputs
/// there are, the changes, and then what became of the series of an input, from which a remap is built and then
/// changed, with right checksums.
///
/// # Panics
/// If something that was built does not read back, or what verifies breaks a promise.
pub fn remap(bytes: &[u8]) {
    if bytes.first() == REMAP_MAGIC.first() {
        return read(bytes);
    }
    let mut program = Program(bytes);
    let choices = program.byte();
    let mut changes = Program(program.bytes(usize::from(choices % 8) * CHANGE_LEN));
    let outputs = &OUTPUTS[..1 + usize::from(choices >> 3 & 3)];
    let (mut remap, expected) = built(outputs, &mut program);
    if changes.is_at_end() {
        assert_reads_back(&remap, outputs, &expected);
    }
    while !changes.is_at_end() {
        change(&mut remap, &mut changes);
    }
    read(&remap);
}

fn built(outputs: &[(u64, u32)], program: &mut Program<'_>) -> (Vec<u8>, Vec<Option<u64>>) {
    let known: Vec<RemapOutput> =
        (0..).zip(outputs).map(|(number, &(series_count, shard))| output(number, series_count, shard)).collect();
    let all: u64 = outputs.iter().map(|(series, _)| series).sum();
    let mut builder = RemapBuilder::new(BlockId([7; 16]), [9; 16], &known).expect("outputs can be counted");
    let (mut targets, mut row, mut expected) = (KeysetTargets::default(), Vec::new(), Vec::new());
    let mut next = 0;
    loop {
        let (is_at_end, byte) = (program.is_at_end(), program.byte());
        match byte {
            _ if is_at_end => {}
            // The next ones, or some further on, and then as many as are said.
            0..128 => row.push(Some((next + u64::from(byte)) % all)),
            128..192 => row.extend((0..u64::from(byte) - 126).map(|place| Some((next + place) % all))),
            192..224 => row.extend(vec![None; usize::from(byte) - 191]),
            _ => row.push(Some(program.number(2) % all)),
        }
        let ends_row = byte % 2 == 0 || is_at_end;
        if let Some(Some(last)) = row.iter().rfind(|target| target.is_some()) {
            next = last + 1;
        }
        if ends_row && !row.is_empty() {
            expected.extend(row.iter().copied());
            targets.push_row(row.drain(..));
        }
        if (byte % 16 == 14 || is_at_end) && targets.series_count() > 0 {
            builder.push_keyset(&targets).expect("all targets are series of the outputs");
            targets.clear();
        }
        if is_at_end {
            return (builder.finish().expect("a small remap"), expected);
        }
    }
}

fn output(number: u8, series_count: u64, shard: u32) -> RemapOutput {
    RemapOutput { block_id: BlockId([number; 16]), series_count, shard }
}

/// # Panics
/// If a remap does not say what it was built of.
fn assert_reads_back(bytes: &[u8], outputs: &[(u64, u32)], expected: &[Option<u64>]) {
    let view = RemapView::open(bytes).expect("a built remap opens");
    view.verify().expect("a built remap verifies");
    assert_eq!((view.input_id(), view.job_id()), (BlockId([7; 16]), [9; 16]));
    let found: Vec<_> = (0..view.output_count()).map(|number| view.output(number)).collect();
    let known = (0..).zip(outputs).map(|(number, &(series, _))| Some((BlockId([number; 16]), series)));
    assert_eq!(found, known.collect::<Vec<_>>());
    let number = |target: Target| {
        let before: u64 = outputs[..target.output as usize].iter().map(|(series, _)| series).sum();
        before + u64::from(target.series.0)
    };
    let found: Result<Vec<Option<Target>>, _> = view.targets().expect("a built remap").collect();
    let found: Vec<Option<u64>> = found.expect("a built remap").into_iter().map(|target| target.map(number)).collect();
    assert_eq!(found, expected);
    for (series, target) in (0..).zip(expected) {
        assert_eq!(view.get(SeriesRef(series)).expect("a built remap").map(number), *target, "series {series}");
    }
}

/// Bytes of a program for each change.
const CHANGE_LEN: usize = 5;

/// Changes bytes, and makes length and checksums right.
fn change(remap: &mut Vec<u8>, program: &mut Program<'_>) {
    let (kind, at, value) = (program.byte(), program.number(2) as usize, program.number(2));
    let header = size_of::<RemapHeader>();
    let mut tells_length = true;
    match kind % 8 {
        0 | 1 => {
            let bit = at % (remap.len() * 8);
            remap[bit / 8] ^= 1 << (bit % 8);
        }
        2 => {
            let at = at % remap.len();
            remap[at] = value as u8;
        }
        // A number of the header, of any size, or of what is behind it.
        3..=5 => {
            let at = at % if kind % 8 == 5 { remap.len() - 8 } else { header - 8 };
            let size = [1, 2, 4, 8][usize::from(kind >> 3) % 4];
            let mut was = [0; 8];
            was[..size].copy_from_slice(&remap[at..at + size]);
            let is = boundary_values(u64::from_le_bytes(was))[value as usize % 32];
            remap[at..at + size].copy_from_slice(&is.to_le_bytes()[..size]);
            let in_length = offset_of!(RemapHeader, file_len)..offset_of!(RemapHeader, file_len) + 8;
            tells_length = !in_length.contains(&at);
        }
        6 => {
            let at = header + at % (remap.len() - header + 1);
            remap.splice(at..at, value.to_le_bytes()[..usize::from(kind >> 3) % 8].iter().copied());
        }
        _ => {
            let at = header + at % (remap.len() - header + 1);
            let end = (at + value as usize % 64).min(remap.len());
            remap.drain(at..end);
        }
    }
    if tells_length {
        let len = remap.len() as u64;
        remap[offset_of!(RemapHeader, file_len)..][..8].copy_from_slice(&len.to_le_bytes());
    }
    reseal_all(remap);
}

/// Asks for all that a remap can be asked.
fn read(bytes: &[u8]) {
    let Ok(view) = RemapView::open(bytes) else { return };
    let (checked, verified) = (view.check(), view.verify());
    assert!(verified.is_err() || checked.is_ok(), "a wrong checksum was not reported");
    let _ = (view.input_id(), view.job_id());
    let output_count = view.output_count();
    assert_eq!(view.output(output_count), None);
    let _ = (0..output_count.min(FIRST)).filter_map(|number| view.output(number)).count();
    let count = view.series_count();
    let last = count.unwrap_or(0).min(u32::MAX.into()) as u32;
    let scattered = (0..FIRST).map(|place| (u64::from(place) * 2_654_435_761 % (u64::from(last) + 1)) as u32);
    let some = (0..FIRST).chain(scattered).chain([last.saturating_sub(1), last, u32::MAX]);
    let is_sound = verified.is_ok();
    for series in some {
        let target = view.get(SeriesRef(series));
        if is_sound {
            let target = target.expect("a sound remap knows all series");
            assert!(series < last || target.is_none(), "series {series} of {last}");
            assert_inside(&view, target);
        }
    }
    let in_order = view.targets().map(|targets| targets.take(256).collect::<Vec<_>>());
    if is_sound {
        for (series, target) in (0..).zip(in_order.expect("a sound remap")) {
            assert_eq!(target, view.get(SeriesRef(series)), "series {series}");
            assert_inside(&view, target.expect("a sound remap knows all series"));
        }
    }
}

fn assert_inside(view: &RemapView<'_>, target: Option<Target>) {
    let Some(Target { output, series }) = target else { return };
    let known = view.output(output);
    assert!(known.is_some_and(|(_, count)| u64::from(series.0) < count), "{output}, {series:?}: {known:?}");
}
