//! Two jobs, the second of what the first has made, and a judge of the folder that they leave.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chronoxide_compactor::engine::{Planned, WriteBlock};
use chronoxide_compactor::{CompactionError, verify_block};
use chronoxide_format::identity::job_id;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_publish::FileSystem;
use chronoxide_reader::lineage::{Lineage, ancestors};
use chronoxide_reader::{BlockId, Checks, Folder, Job};
use chronoxide_testkit::plan::{Labelset, Plan, build};

use super::support::{Done, Here, empty_folder};

/// A block's id and its bytes.
pub type Block = (BlockId, Vec<u8>);

/// A job, with all that it makes.
#[derive(Clone)]
pub struct Step {
    pub inputs: Vec<BlockId>,
    pub outputs: Vec<Block>,
    pub delete: bool,
}

/// Three blocks become the outputs of the first job, these and a fourth those of the second.
pub struct Chain {
    pub originals: Vec<Block>,
    pub steps: [Step; 2],
}

/// Series of the four.
pub const ENDS: [u32; 5] = [0, 5, 9, 14, 17];
const STALE: &str = ".chronoxide-stalestalest";

fn labels(number: u32) -> Labelset {
    Labelset::from([("__name__".to_owned(), "up".to_owned()), ("pod".to_owned(), format!("pod-{number}"))])
}

pub fn block(series: impl IntoIterator<Item = u32>, meta: &BlockMeta) -> Block {
    let series: BTreeSet<Labelset> = series.into_iter().map(labels).collect();
    let bytes = build(&series, &Plan::default(), RowForm::BitPacked, meta).unwrap();
    (BlockView::open(&bytes).unwrap().block_id(), bytes)
}

/// All outputs of the job that makes `count` of these blocks, with the series below `end`.
pub fn outputs(inputs: &[Block], count: u32, end: u32) -> Vec<Block> {
    let lineages: Vec<Lineage> =
        inputs.iter().map(|(_, bytes)| Lineage::from_view(&BlockView::open(bytes).unwrap()).unwrap()).collect();
    let parents: Vec<BlockId> =
        lineages.iter().map(|lineage| lineage.id).collect::<BTreeSet<_>>().into_iter().collect();
    let time = Some(TimeRange { start: 1, end: 2 });
    let id = job_id(&parents, &format!("{count} outputs"));
    let meta = |output| BlockMeta {
        time,
        job: Some(Job { id, output, output_count: count }),
        parents: parents.clone(),
        ancestors: ancestors(&lineages).into_iter().collect(),
        ..BlockMeta::default()
    };
    (0..count).map(|output| block((0..end).filter(|number| number % count == output), &meta(output))).collect()
}

impl Chain {
    pub fn new([first, second]: [u32; 2], first_deletes: bool) -> Self {
        let original = |number: usize| {
            let start = number as i64 * 3_600_000_000_000;
            let time = Some(TimeRange { start, end: start + 3_600_000_000_000 });
            block(ENDS[number]..ENDS[number + 1], &BlockMeta { time, ..BlockMeta::default() })
        };
        let originals: Vec<Block> = (0..4).map(original).collect();
        let ids = |blocks: &[Block]| blocks.iter().map(|(id, _)| *id).collect();
        let middle = outputs(&originals[..3], first, ENDS[3]);
        let inputs = [&middle[..], &originals[3..]].concat();
        let last = outputs(&inputs, second, ENDS[4]);
        let steps = [
            Step { inputs: ids(&originals[..3]), outputs: middle, delete: first_deletes },
            Step { inputs: ids(&inputs), outputs: last, delete: true },
        ];
        Self { originals, steps }
    }

    /// The folder before the first job, with what a dead writer left.
    pub fn folder(&self) -> tempfile::TempDir {
        let folder = empty_folder();
        for original in &self.originals {
            put(folder.path(), original);
        }
        fs::write(folder.path().join(STALE), "half a block").unwrap();
        folder
    }

    /// Recovery and both jobs, up to the first error.
    pub fn run(&self, system: &(impl FileSystem + Clone + 'static), folder: &Path) -> Result<(), String> {
        let here = Here::new(system, folder);
        let _lock = here.place().lock().unwrap();
        for step in &self.steps {
            run_step(&here, step).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Readers see each series exactly once, and no job has deleted what its outputs do not hold yet.
    pub fn judge(&self, folder: &Path, case: &dyn Fn() -> String) {
        let opened = Folder::read(folder, Checks::Eager).unwrap();
        assert!(opened.unreadable().is_empty(), "{:?}: {}", opened.unreadable(), case());
        let expected: Vec<Labelset> = (0..ENDS[4]).map(labels).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(series(&opened), expected, "{}", case());
        let is_there = |id: &BlockId| path_of(folder, *id).exists();
        let complete = |step: &Step| step.outputs.iter().all(|(id, _)| is_there(id));
        let [first, second] = &self.steps;
        let kept = first.inputs.iter().all(is_there);
        assert!(kept || complete(first) || complete(second), "inputs are gone: {}", case());
        let kept = is_there(&self.originals[3].0);
        assert!(kept || complete(second), "the fourth is gone: {}", case());
    }

    /// Checks the folder after both jobs ran to their ends.
    pub fn judge_end(&self, folder: &Path, case: &dyn Fn() -> String) {
        self.judge(folder, case);
        let kept = if self.steps[0].delete { &[][..] } else { &self.originals[..3] };
        let expected: BTreeSet<String> =
            kept.iter().chain(&self.steps[1].outputs).map(|(id, _)| format!("{id}.cx")).collect();
        assert_eq!(names(folder), expected, "{}", case());
    }
}

pub fn run_step(here: &Here, step: &Step) -> Result<Done, CompactionError> {
    here.publish(&verify_block, step.outputs.iter().map(planned), step.delete.then_some(&step.inputs[..]))
}

/// Writes the header last, as one who streams does.
pub fn planned((id, bytes): &Block) -> Planned<'_> {
    let (header, rest) = bytes.split_at(64);
    let write: WriteBlock<'_> = Box::new(|out| {
        out.write_all(&[0; 64])?;
        out.write_all(rest)?;
        out.rewind()?;
        out.write_all(header).map(|()| *id)
    });
    Planned { byte_len: Some(bytes.len() as u64), write }
}

pub fn key_of(id: BlockId) -> String {
    format!("{id}.cx")
}

pub fn path_of(folder: &Path, id: BlockId) -> std::path::PathBuf {
    folder.join(key_of(id))
}

pub fn put(folder: &Path, (id, bytes): &Block) {
    fs::write(path_of(folder, *id), bytes).unwrap();
}

pub fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The series that count, as often as they are there.
fn series(folder: &Folder) -> Vec<Labelset> {
    let mut found = Vec::new();
    for entry in folder.live() {
        let view = entry.block().view();
        let text = view.text().unwrap();
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        for series in view.series_iter() {
            found.push(text.labels(&series.unwrap()).map(|label| owned(label.unwrap().into())).collect());
        }
    }
    found.sort();
    found
}
