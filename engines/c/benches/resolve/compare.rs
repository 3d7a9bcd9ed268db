//! The two measurements: the reader here, the C ABI by a program in C.

use std::error::Error;
use std::hint::black_box;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use chronoxide_reader::{Block, Checks, Label, SeriesRef};

/// Reads of each way but the walk.
const READS: u32 = 1_000_000;

/// One way to resolve: its name, nanoseconds per series, and a sum of all labels.
struct Measured {
    name: String,
    nanoseconds: f64,
    sum: u64,
}

fn sum(label: Label<'_>) -> u64 {
    (label.name.len() + label.value.len()) as u64 + u64::from(label.value[0])
}

/// Refs at random, as resolve.c has them.
fn random(count: u32) -> impl Iterator<Item = SeriesRef> {
    let mut state = 1_u32;
    (0..READS).map(move |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        SeriesRef(state % count)
    })
}

/// Reads series one by one, and returns the time per series and the sum of what `labels` returns.
fn measure(
    name: &str,
    series: impl Iterator<Item = SeriesRef>,
    mut labels: impl FnMut(SeriesRef) -> Result<u64, chronoxide_reader::Error>,
) -> Result<Measured, chronoxide_reader::Error> {
    let (mut all, mut reads) = (0, 0_u32);
    let start = Instant::now();
    for series in series {
        all += labels(black_box(series))?;
        reads += 1;
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / f64::from(reads);
    Ok(Measured { name: name.to_owned(), nanoseconds, sum: all })
}

fn in_rust(path: &Path) -> Result<Vec<Measured>, Box<dyn Error>> {
    // SAFETY: nothing changes the block during the bench.
    let block = unsafe { Block::map(path, Checks::Eager) }?;
    block.keep_paths();
    let view = block.view();
    let count = view.series_count()?;
    let in_order = || (0..READS).map(|read| SeriesRef(read % count));
    let mut resolver = view.resolver();
    let mut cached = |series| Ok(resolver.labels(series)?.expect("a ref in range").iter().copied().map(sum).sum());
    Ok(vec![
        measure("reader, in order", in_order(), &mut cached)?,
        measure("reader, at random", random(count), &mut cached)?,
        measure("rows, in order", (0..=READS / count).flat_map(|_| (0..count).map(SeriesRef)), &mut cached)?,
    ])
}

fn in_c(path: &Path) -> Result<Vec<Measured>, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = std::env::current_exe()?;
    let libraries = bench.parent().ok_or("the bench is in no folder")?;
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("resolve");
    let name = concat!("libchronoxide.so.", env!("CARGO_PKG_VERSION_MAJOR"));
    symlink(libraries.join("libchronoxide.so"), folder.path().join(name))?;
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("benches/resolve/resolve.c"))
        .arg(libraries.join("libchronoxide.so"))
        .arg("-o")
        .arg(&program)
        .status()?;
    assert!(compiled.success(), "resolve.c does not compile");
    let output =
        Command::new(&program).arg(path).arg(READS.to_string()).env("LD_LIBRARY_PATH", folder.path()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let measured = text.lines().map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().ok_or("a line lacks a field");
        Ok(Measured { name: field()?.to_owned(), nanoseconds: field()?.parse()?, sum: field()?.parse()? })
    });
    measured.collect()
}

/// Prints a table of both.
pub fn run() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let golden = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/many-chunks.cx");
    let path = argument.map_or_else(golden, PathBuf::from);
    println!("{:<22}{:>10}{:>10}", "ns per series", "Rust", "C");
    for (rust, c) in in_rust(&path)?.into_iter().zip(in_c(&path)?) {
        assert_eq!((&rust.name, rust.sum), (&c.name, c.sum), "both read the same labels");
        println!("{:<22}{:>10.1}{:>10.1}", rust.name, rust.nanoseconds, c.nanoseconds);
    }
    Ok(())
}
