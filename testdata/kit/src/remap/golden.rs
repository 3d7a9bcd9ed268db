//! The golden remaps: small, and together everything that a remap can say. Their texts come from what was put in, and
//! from no reader.

use std::fmt::Write as _;

use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::layout::{REMAP_MAJOR, REMAP_MINOR};
use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput};

use crate::random::Random;

/// A remap and the name of its files.
#[derive(Clone, Debug)]
pub struct GoldenRemap {
    /// File name without ending.
    pub name: &'static str,
    /// The remap.
    pub bytes: Vec<u8>,
    /// Its dump (remap spec, section 9).
    pub text: String,
}

/// A row of a keyset: the number of each series among those of all outputs, or nothing if it was dropped.
pub type Row = Vec<Option<u64>>;

/// Result of a compaction for one input.
#[derive(Clone, Debug)]
pub struct Model {
    /// The job; zero for none.
    pub job: [u8; 16],
    /// For each output its series and its shard. Its id repeats 1 + its number.
    pub outputs: Vec<(u64, u32)>,
    /// The rows of each keyset.
    pub keysets: Vec<Vec<Row>>,
}

/// The id of the input of all golden remaps.
const INPUT: BlockId = BlockId([0xAA; 16]);

impl Model {
    /// The remap.
    ///
    /// # Panics
    /// If the model is none of a compaction.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        let outputs: Vec<RemapOutput> = (0..)
            .zip(&self.outputs)
            .map(|(number, &(series_count, shard))| RemapOutput { block_id: output_id(number), series_count, shard })
            .collect();
        let mut builder = RemapBuilder::new(INPUT, self.job, &outputs).expect("outputs can be numbered");
        let mut targets = KeysetTargets::default();
        for keyset in &self.keysets {
            targets.clear();
            keyset.iter().for_each(|row| targets.push_row(row.iter().copied()));
            builder.push_keyset(&targets).expect("all targets are series of outputs");
        }
        builder.finish().expect("there are few patterns")
    }

    /// The dump of a remap of `file_len` bytes that says this.
    #[must_use]
    pub fn dump(&self, file_len: usize) -> String {
        let hex: String = self.job.iter().map(|byte| format!("{byte:02x}")).collect();
        let job = if self.job == [0; 16] { "none".to_owned() } else { hex };
        let mut text = format!("remap {INPUT}\nformat {REMAP_MAJOR}.{REMAP_MINOR}\nfile {file_len} bytes\njob {job}\n");
        let mut line = |line: String| writeln!(text, "{line}").expect("strings can be written");
        line(format!("outputs {}", self.outputs.len()));
        for (number, (series, _)) in (0..).zip(&self.outputs) {
            line(format!("  {number} {} series {series}", output_id(number)));
        }
        let all: Vec<Option<u64>> = self.keysets.iter().flatten().flatten().copied().collect();
        line(format!("series {}", all.len()));
        for (series, target) in all.into_iter().enumerate() {
            let Some(mut number) = target else {
                line(format!("  {series} gone"));
                continue;
            };
            let mut output = 0;
            while number >= self.outputs[output].0 {
                number -= self.outputs[output].0;
                output += 1;
            }
            line(format!("  {series} {output} {number}"));
        }
        text
    }

    fn golden(self, name: &'static str) -> GoldenRemap {
        let bytes = self.build();
        GoldenRemap { name, text: self.dump(bytes.len()), bytes }
    }
}

/// The id of an output.
fn output_id(number: u8) -> BlockId {
    BlockId([number + 1; 16])
}

/// All golden remaps, in the order of their names.
#[must_use]
pub fn golden_remaps() -> Vec<GoldenRemap> {
    vec![
        model(vec![(0, 0)], vec![]).golden("empty"),
        model(vec![(7, 0)], vec![vec![vec![None]; 3], vec![vec![None, None]; 20]]).golden("gone"),
        many_chunks().golden("many-chunks"),
        many_keysets().golden("many-keysets"),
        rows_of_many_lengths().golden("row-lengths"),
        shards().golden("shards"),
        small().golden("small"),
        unordered().golden("unordered"),
    ]
}

fn model(outputs: Vec<(u64, u32)>, keysets: Vec<Vec<Row>>) -> Model {
    Model { job: [0xCC; 16], outputs, keysets }
}

/// The remap of the spec's section 8, but for ids.
fn small() -> Model {
    let moved = (0..3).map(|series| vec![Some(series)]).collect();
    let rows = vec![vec![Some(4), Some(5), None], vec![Some(6), Some(7), None]];
    model(vec![(10, 0)], vec![moved, rows])
}

/// Three groups of keysets, which moved as a whole, lost members, or had series come between.
fn many_keysets() -> Model {
    let mut next = 0;
    let keysets = (0..20_u64).map(|keyset| {
        let rows = (0..1 + keyset * 7 % 40).map(|row| {
            let members = 1 + keyset % 3;
            let row_of: Row =
                (0..members).map(|member| (member != 1 || keyset % 2 == 0).then_some(next + member)).collect();
            next += members + u64::from(row % 5 == keyset % 7);
            row_of
        });
        rows.collect()
    });
    let keysets = keysets.collect();
    model(vec![(next, 0)], keysets)
}

/// Rows with six, nine and fourteen members, some dropped.
fn rows_of_many_lengths() -> Model {
    let mut next = 0;
    let rows = (0..50_u64).map(|row| {
        let members = [6, 9, 9, 14][row as usize % 4];
        next += members + row / 10;
        (0..members).map(|member| (row % 7 != 0 || member > 0).then_some(next - members + member)).collect()
    });
    let keyset: Vec<Row> = rows.collect();
    model(vec![(next, 0)], vec![keyset.clone(), keyset])
}

/// Rows spread alike over two shards; the second shard was cut in two.
fn shards() -> Model {
    let rows = (0..40_u64).map(|row| {
        let first = [row * 4, 200 + row * 3];
        vec![Some(first[0]), Some(first[1]), Some(first[0] + 1), None, Some(first[1] + 1)]
    });
    model(vec![(200, 0), (50, 1), (120, 1)], vec![rows.collect(), vec![vec![Some(360)]]])
}

/// Rows whose order is not that of their series, as when keys are rewritten: over all rows, and among neighbours only.
fn unordered() -> Model {
    let over_all = (0..60).map(|series| vec![Some(series * 37 % 60)]).collect();
    let among_neighbours = (0..64).map(|series| vec![Some(series / 16 * 500 + series * 5 % 16)]).collect();
    Model { job: [0; 16], ..model(vec![(2_000, 0)], vec![over_all, among_neighbours]) }
}

/// Three chunks: targets without order take the most bits.
fn many_chunks() -> Model {
    let mut random = Random::new(1);
    let rows = (0..12_000).map(|_| vec![random.percent(95).then(|| random.below(6_000) as u64)]);
    let rows = rows.collect();
    model(vec![(6_000, 0)], vec![rows])
}
