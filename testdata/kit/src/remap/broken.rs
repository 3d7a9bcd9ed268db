//! The broken remaps: for each rule of the remap spec one that breaks it and, as far as that can be, nothing else.

use chronoxide_format::remap::RemapRule;
use zerocopy::byteorder::little_endian::U64;

use super::editor::{RemapEditor, reseal};
use super::golden::golden_remaps;

/// A remap that breaks a rule.
#[derive(Clone, Debug)]
pub struct BrokenRemap {
    /// The rule; the file is named after its id.
    pub rule: RemapRule,
    /// The remap.
    pub bytes: Vec<u8>,
}

/// A broken remap for each rule, in the order of the spec.
#[must_use]
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
fn edit(name: &str, change: impl FnOnce(&mut RemapEditor)) -> Vec<u8> {
    let mut editor = RemapEditor::open(&golden(name));
    change(&mut editor);
    editor.close()
}

const SMALL: &str = "small";

fn break_rule(rule: RemapRule) -> Vec<u8> {
    match rule {
        RemapRule::Magic => in_place(|file| file[0] = 0x88),
        RemapRule::Version => in_place(|file| {
            file[10] += 1;
            reseal(file);
        }),
        RemapRule::IncompatFeatures => in_place(|file| {
            file[12] = 1;
            reseal(file);
        }),
        RemapRule::HeaderChecksum => in_place(|file| file[108] ^= 1),
        RemapRule::FileLen => in_place(|file| file.truncate(file.len() - 1)),
        RemapRule::Header => in_place(|file| {
            file[102] = 1;
            reseal(file);
        }),
        RemapRule::Length => in_place(|file| {
            file.extend_from_slice(&[0; 4]);
            file[48] += 4;
            reseal(file);
        }),
        RemapRule::ChecksChecksum => in_place(|file| {
            file[104] ^= 1;
            reseal(file);
        }),
        RemapRule::ChunkChecksum => in_place(|file| file[112] ^= 1),
        // The second of three outputs has fewer series than the first.
        RemapRule::Outputs => edit("shards", |editor| editor.outputs.swap(0, 1)),
        RemapRule::RecordWidths => edit(SMALL, |editor| editor.wider = 1),
        RemapRule::Padding => edit(SMALL, |editor| *last(&mut editor.rows) = 1),
        RemapRule::Groups => edit("many-keysets", |editor| editor.groups[1][0] += 1),
        RemapRule::Keysets => edit(SMALL, |editor| last(&mut editor.keysets)[4] += 1),
        RemapRule::KeysetRows => edit("many-keysets", |editor| editor.groups[1][1] += 1),
        // The only keyset's rows begin with their number, and then the anchor of the first of them.
        RemapRule::RowLengths => edit("row-lengths", |editor| {
            let number_width = 64 - editor.keysets[0][0].leading_zeros() as usize;
            editor.rows[number_width / 8] ^= 1 << (number_width % 8);
        }),
        // The steps of rows without any bits.
        RemapRule::RowFields => edit(SMALL, |editor| editor.parts[0][3] = 1),
        RemapRule::Patterns => edit(SMALL, |editor| editor.keysets[0][2] = 1),
        RemapRule::Runs => edit(SMALL, |editor| last(&mut editor.runs)[2] = 1),
        RemapRule::Targets => edit(SMALL, |editor| editor.outputs[0].output_series_end = U64::new(7)),
        _ => unreachable!("{rule:?} has no broken remap"),
    }
}

fn last<T>(items: &mut [T]) -> &mut T {
    items.last_mut().expect("there is one")
}
