//! The broken remaps: for each rule of the remap spec one that breaks it and, as far as that can be, nothing else.

use chronoxide_format::remap::RemapRule;
use zerocopy::byteorder::little_endian::U64;

use super::golden::golden_remaps;
use super::surgeon::{RemapSurgeon, reseal};

/// A remap that breaks a rule.
#[derive(Clone, Debug)]
pub struct BrokenRemap {
    /// The rule; the file is named after its id.
    pub rule: RemapRule,
    /// The remap.
    pub bytes: Vec<u8>,
}

/// A broken remap for each rule, in the order of the spec.
pub fn broken_remaps() -> Vec<BrokenRemap> {
    RemapRule::ALL.iter().map(|&rule| BrokenRemap { rule, bytes: break_rule(rule) }).collect()
}

fn golden(name: &str) -> Vec<u8> {
    golden_remaps().into_iter().find(|golden| golden.name == name).expect("there is such a golden remap").bytes
}

/// Changes a golden remap in place.
fn in_place(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = golden("small");
    change(&mut file);
    file
}

/// Changes a golden remap and puts it together with right checksums.
fn operate(name: &str, change: impl FnOnce(&mut RemapSurgeon)) -> Vec<u8> {
    let mut surgeon = RemapSurgeon::open(&golden(name));
    change(&mut surgeon);
    surgeon.close()
}

const SMALL: &str = "small";

fn break_rule(rule: RemapRule) -> Vec<u8> {
    match rule {
        RemapRule::Magic => in_place(|file| file[0] = 0x88),
        RemapRule::Version => in_place(|file| file[10] += 1),
        RemapRule::HeaderChecksum => in_place(|file| file[104] ^= 1),
        RemapRule::FileLen => in_place(|file| file.truncate(file.len() - 1)),
        RemapRule::Header => in_place(|file| {
            file[98] = 1;
            reseal(file);
        }),
        RemapRule::Length => in_place(|file| {
            file.extend_from_slice(&[0; 4]);
            file[48] += 4;
            reseal(file);
        }),
        RemapRule::ChecksChecksum => in_place(|file| {
            file[100] ^= 1;
            reseal(file);
        }),
        RemapRule::ChunkChecksum => in_place(|file| file[108] ^= 1),
        // The second of three outputs has fewer series than the first.
        RemapRule::Outputs => operate("shards", |surgeon| surgeon.outputs.swap(0, 1)),
        RemapRule::RecordWidths => operate(SMALL, |surgeon| surgeon.wider = 1),
        RemapRule::Padding => operate(SMALL, |surgeon| *last(&mut surgeon.rows) = 1),
        RemapRule::Groups => operate("many-keysets", |surgeon| surgeon.groups[1][0] += 1),
        RemapRule::Keysets => operate(SMALL, |surgeon| last(&mut surgeon.keysets)[4] += 1),
        RemapRule::KeysetRows => operate("many-keysets", |surgeon| surgeon.groups[1][1] += 1),
        // The only keyset's rows begin with their number, and then the anchor of the first of them.
        RemapRule::RowLengths => operate("row-lengths", |surgeon| {
            let number_width = 64 - surgeon.keysets[0][0].leading_zeros() as usize;
            surgeon.rows[number_width / 8] ^= 1 << (number_width % 8);
        }),
        // The steps of rows without any bits.
        RemapRule::RowFields => operate(SMALL, |surgeon| surgeon.parts[0][3] = 1),
        RemapRule::Patterns => operate(SMALL, |surgeon| surgeon.keysets[0][2] = 1),
        RemapRule::Runs => operate(SMALL, |surgeon| last(&mut surgeon.runs)[2] = 1),
        RemapRule::Targets => operate(SMALL, |surgeon| surgeon.outputs[0].output_series_end = U64::new(7)),
        _ => unreachable!("{rule:?} has no broken remap"),
    }
}

fn last<T>(items: &mut [T]) -> &mut T {
    items.last_mut().expect("there is one")
}
