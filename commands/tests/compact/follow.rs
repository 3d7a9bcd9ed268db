//! Series followed through a chain of compactions, against their labels in the last block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use chronoxide_compactor::REMAP_EXTENSION;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{Block, BlockId, Checks, FollowError, Followed, OpenError, RemapFolder, SeriesRef};
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};

struct Scene {
    folder: tempfile::TempDir,
    inputs: Vec<Vec<u8>>,
}

impl Scene {
    fn new() -> Self {
        let inputs = (0..4).map(|seed| {
            let mut random = Random::new(seed);
            let series = random_series(50, &mut random);
            build(&series, &random_plan(&series, &mut random), RowForm::BitPacked, &BlockMeta::default()).unwrap()
        });
        let scene = Self { inputs: inputs.collect(), folder: tempfile::tempdir().unwrap() };
        for (number, input) in scene.inputs.iter().enumerate() {
            std::fs::write(scene.path(&format!("{number}.cx")), input).unwrap();
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compact(&self, inputs: &[&str], output: &str, more: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.args(inputs.iter().map(|name| self.path(name))).arg("-o").arg(self.path(output));
        let done = command.arg("--remap").arg(self.path("remaps")).arg("--delete-inputs").args(more).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn remaps(&self) -> RemapFolder {
        RemapFolder::new(self.path("remaps"), Checks::Lazy)
    }
}

fn labels(view: &BlockView<'_>, series: SeriesRef) -> Labelset {
    let text = view.text().unwrap();
    let series = view.series(series).unwrap().unwrap();
    text.labels(&series).map(Result::unwrap).map(|label| (label.name.to_owned(), label.value.to_owned())).collect()
}

fn id_of(path: &Path) -> BlockId {
    Block::read(path, Checks::Never).unwrap().view().block_id()
}

#[test]
fn a_series_is_followed_to_the_block_that_is_there() {
    let scene = Scene::new();
    // 0 and 1 to 5; 5 and 2 to parts; one part and 3 to 6, where a pod is left out.
    scene.compact(&["0.cx", "1.cx"], "5.cx", &[]);
    scene.compact(&["5.cx", "2.cx"], "parts/", &["--max-series-per-block", "60"]);
    let parts: Vec<PathBuf> =
        std::fs::read_dir(scene.path("parts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(parts.len() > 1);
    std::fs::rename(&parts[0], scene.path("part.cx")).unwrap();
    scene.compact(&["part.cx", "3.cx"], "6.cx", &["--drop", r#"{pod="pod-3"}"#]);

    let mut blocks: BTreeMap<BlockId, Block> = BTreeMap::new();
    for path in parts[1..].iter().cloned().chain([scene.path("6.cx")]) {
        blocks.insert(id_of(&path), Block::read(&path, Checks::Never).unwrap());
    }
    let mut remaps = scene.remaps();
    let (mut found, mut dropped) = (0, 0);
    for input in &scene.inputs {
        let view = BlockView::open(input).unwrap();
        for series in (0..view.series_count().unwrap()).map(SeriesRef) {
            let own = labels(&view, series);
            match remaps.follow(view.block_id(), series, |block| blocks.contains_key(&block)).unwrap() {
                Followed::Found { block, series } => {
                    assert_eq!(labels(&blocks[&block].view(), series), own);
                    found += 1;
                }
                Followed::Dropped { .. } => {
                    assert_eq!(own["pod"], "pod-3");
                    dropped += 1;
                }
                Followed::Lost { block, series } => panic!("{own:?} was lost in {block}, {series:?}"),
            }
        }
    }
    println!("{found} found, {dropped} dropped");
    assert!(found > 100 && dropped > 0);

    // A block that is there itself needs no remap.
    let first = BlockView::open(&scene.inputs[0]).unwrap().block_id();
    let here = Followed::Found { block: first, series: SeriesRef(3) };
    assert_eq!(scene.remaps().follow(first, SeriesRef(3), |block| block == first).unwrap(), here);
    let error = scene.remaps().follow(first, SeriesRef(1_000), |_| false).unwrap_err();
    let expected = u64::from(BlockView::open(&scene.inputs[0]).unwrap().series_count().unwrap());
    assert!(matches!(error, FollowError::NoSeries { count, .. } if count == expected), "{error}");
}

#[test]
fn a_chain_that_ends_and_remaps_that_are_wrong_are_told() {
    let scene = Scene::new();
    let first = BlockView::open(&scene.inputs[0]).unwrap().block_id();
    scene.compact(&["0.cx", "1.cx"], "5.cx", &[]);
    let merged = id_of(&scene.path("5.cx"));
    let lost = scene.remaps().follow(first, SeriesRef(0), |_| false).unwrap();
    assert!(matches!(lost, Followed::Lost { block, .. } if block == merged), "{lost:?}");

    // The remap of another block under this name.
    let (own, second) = (scene.remaps().path_for(first), BlockView::open(&scene.inputs[1]).unwrap().block_id());
    assert_eq!(own.extension().unwrap(), REMAP_EXTENSION);
    std::fs::copy(scene.remaps().path_for(second), &own).unwrap();
    let error = scene.remaps().follow(first, SeriesRef(0), |_| false).unwrap_err();
    assert!(matches!(error, FollowError::OtherBlock { found, .. } if found == second), "{error}");

    // One that leads to itself.
    let bytes = {
        use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput};
        let outputs = [RemapOutput { block_id: first, series_count: 1, shard: 0 }];
        let mut builder = RemapBuilder::new(first, [7; 16], &outputs).unwrap();
        let mut targets = KeysetTargets::default();
        targets.push_row([Some(0)]);
        builder.push_keyset(&targets).unwrap();
        builder.finish().unwrap()
    };
    std::fs::write(&own, bytes).unwrap();
    let error = scene.remaps().follow(first, SeriesRef(0), |_| false).unwrap_err();
    assert!(matches!(error, FollowError::Cycle { block } if block == first), "{error}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_remaps_place_is_refused_and_not_waited_for() {
    let scene = Scene::new();
    let first = BlockView::open(&scene.inputs[0]).unwrap().block_id();
    std::fs::create_dir(scene.path("remaps")).unwrap();
    let pipe = scene.remaps().path_for(first);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = scene.remaps().follow(first, SeriesRef(0), |_| false).unwrap_err();
    assert!(matches!(&error, FollowError::Open(OpenError::Io { path, .. }) if *path == pipe), "{error}");
}
