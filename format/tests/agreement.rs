//! Readers judge the same blocks: this one, the decoder in Python, and the readers in Go and C, the latter also on a
//! big-endian machine. The others were written from the spec alone. Needs `python3`, `go`, `cc`, `s390x-linux-gnu-gcc`,
//! `qemu-s390x` and `file`; see `requirement`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use chronoxide_dump::dump;
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{Error, ErrorKind};
use chronoxide_testkit::archive::archives;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::fuzzing::mutated_block;
use chronoxide_testkit::parallel::map;
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

/// Mutants that are judged: goldens and small blocks that were changed in a few places, with right checksums and ids.
fn mutants() -> u64 {
    sweep::cases(6_000, 20_000)
}

/// Archives with changed frames that are judged.
fn archive_mutants() -> u64 {
    sweep::cases(100, 1_000)
}

/// Sound mutants whose dumps are compared.
const DUMPS: usize = 40;

fn spec() -> PathBuf {
    crate::root().join("spec")
}

/// Runs a command, or returns nothing if its program is missing.
fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip_or_fail(&command.get_program().to_string_lossy(), error);
            None
        }
    }
}

/// The reader in Go, built once; nothing if there is no Go.
fn go_reader() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let program = crate::empty_folder("go").join("reader");
        let output =
            run(Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(spec().join("go")))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    });
    built.as_deref()
}

/// The reader in C, as a command: for this machine, and for a big-endian one.
fn c_readers() -> &'static [Vec<String>] {
    static BUILT: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    BUILT.get_or_init(build_c_readers)
}

fn build_c_readers() -> Vec<Vec<String>> {
    let folder = crate::empty_folder("c");
    let reader = |target: &[&str], emulator: &[&str]| {
        let program = folder.join(if target.is_empty() { "reader" } else { target[0] });
        // Exit code 127: the script did not find the compiler.
        let built = run(Command::new("sh").arg(spec().join("c/build.sh")).arg(&program).args(target))?;
        if built.status.code() == Some(127) {
            skip_or_fail("a C compiler", String::from_utf8_lossy(&built.stderr));
            return None;
        }
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let command = emulator.iter().copied().chain(program.to_str());
        let command: Vec<String> = command.map(str::to_owned).collect();
        // An emulator that is missing is found here.
        run(Command::new(&command[0]).args(&command[1..])).map(|_| command)
    };
    [reader(&[], &[]), reader(&["s390x"], &["qemu-s390x"])].into_iter().flatten().collect()
}

/// The kind of error by which this reader refuses a block.
fn verdict(block: &[u8]) -> &'static str {
    let verified = BlockView::open_unpacked(block, &mut Vec::new()).and_then(|view| view.verify().map(|_| ()));
    verified.as_ref().map_or_else(error_name, |()| "sound")
}

/// The name of an error in the manifest.
pub(crate) fn error_name(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotABlock => "not-a-block",
        ErrorKind::Corrupt(_) => "corrupt",
        _ => "unsupported",
    }
}

/// The verdicts of another reader on numbered files: a line `FILE: RULE: REASON` for each file that it refuses.
fn verdicts(output: &Output, rules: &BTreeMap<String, String>) -> BTreeMap<u64, String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let refused = text.lines().filter_map(|line| {
        let mut parts = line.split(": ");
        let number = Path::new(parts.next()?).file_name()?.to_str()?.parse().ok()?;
        match parts.next()? {
            "note" => None,
            rule => Some((number, rules.get(rule).cloned().unwrap_or_else(|| format!("no rule: {line}")))),
        }
    });
    refused.collect()
}

/// The kind of error of each rule, from the list in the spec.
fn errors_of_rules() -> BTreeMap<String, String> {
    let texts = ["FORMAT.md", "ARCHIVE.md", "METRICS.md"].map(|name| fs::read_to_string(spec().join(name)).unwrap());
    let lists = texts.iter().filter_map(|text| text.split("| rule | class | error |").nth(1));
    let rows = lists.flat_map(str::lines).filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect());
    cells.filter_map(|cells: Vec<String>| Some((cells.first()?.clone(), cells.get(2)?.clone()))).collect()
}

/// Fails if another reader judges one of the numbered files in another way than this one did. Returns false if Python
/// is missing.
fn assert_that_readers_agree(own: &[&str], path: &(impl Fn(u64) -> PathBuf + Sync), go: &Path) -> bool {
    let count = own.len() as u64;
    let rules = errors_of_rules();
    let by_go = run(Command::new(go).arg("verify").args((0..count).map(path))).unwrap();
    // Two halves at once: a file takes a few milliseconds.
    let by_python = map(&[0..count / 2, count / 2..count], |half| {
        let half = half.clone().map(path);
        run(Command::new("python3").arg("-B").arg(spec().join("decoder.py")).arg("verify").args(half))
    });
    let Some(by_python) = by_python.into_iter().collect::<Option<Vec<Output>>>() else { return false };
    let mut python = BTreeMap::new();
    by_python.iter().for_each(|output| python.extend(verdicts(output, &rules)));
    for (reader, others) in [("go", verdicts(&by_go, &rules)), ("python", python)] {
        let differ: Vec<String> = (0..)
            .zip(own)
            .filter_map(|(number, own): (u64, &&str)| {
                let other = others.get(&number).map_or("sound", String::as_str);
                (other != *own).then(|| format!("{number}: {own} here, {other} there"))
            })
            .collect();
        assert!(differ.is_empty(), "{reader}: {} verdicts differ: {:?}", differ.len(), &differ[..differ.len().min(20)]);
    }
    true
}

#[test]
fn three_readers_agree_on_every_mutant() {
    let Some(go) = go_reader() else { return };
    let folder = crate::empty_folder("mutants");
    let path = |number: u64| folder.join(number.to_string());
    let own = map(&(0..mutants()).collect::<Vec<u64>>(), |&seed| {
        let mut random = Random::new(seed);
        let program: Vec<u8> = (0..3 + random.below(24)).map(|_| random.below(256) as u8).collect();
        let block = mutated_block(&program);
        fs::write(path(seed), &block).unwrap();
        verdict(&block)
    });
    let count = |wanted: &str| own.iter().filter(|found| **found == wanted).count();
    println!("{} sound, {} corrupt, {} unsupported", count("sound"), count("corrupt"), count("unsupported"));
    let [sound, corrupt, unsupported] = sweep::cases([300, 3_000, 30], [1_000, 10_000, 100]);
    assert!(count("sound") >= sound && count("corrupt") >= corrupt && count("unsupported") >= unsupported);

    if !assert_that_readers_agree(&own, &path, go) {
        return;
    }

    let sound = (0..).zip(&own).filter(|(_, verdict)| **verdict == "sound").map(|(number, _): (u64, _)| number);
    for number in sound.step_by(count("sound") / DUMPS).take(DUMPS) {
        let block = fs::read(path(number)).unwrap();
        let mut text = Vec::new();
        dump(&BlockView::open(&block).unwrap(), None, &mut text).unwrap();
        let other = run(Command::new(go).arg("dump").arg(path(number))).unwrap();
        assert!(other.stdout == text, "mutant {number}: the dumps differ");
    }
}

/// Archives whose packed arenas were changed in a few places, with right checksums and ids.
#[test]
fn three_readers_agree_on_changed_frames() {
    let Some(go) = go_reader() else { return };
    let folder = crate::empty_folder("changed-frames");
    let path = |number: u64| folder.join(number.to_string());
    let archives: Vec<BlockEditor> = archives().iter().map(|golden| BlockEditor::open(&golden.bytes)).collect();
    let own = map(&(0..archive_mutants()).collect::<Vec<u64>>(), |&seed| {
        let mut random = Random::new(seed);
        let mut editor = archives[seed as usize % archives.len()].clone();
        let section = editor.section(SectionKind::PackedArena);
        for _ in 0..random.below(3) {
            // The front, which says the most, as often as the rest.
            let range = if random.percent(50) { section.len().min(32) } else { section.len() };
            let at = random.below(range);
            match random.below(8) {
                0 => section.truncate(at),
                1 => section.insert(at, random.below(256) as u8),
                2 => section[at] = random.below(256) as u8,
                _ => section[at] ^= 1 << random.below(8),
            }
            if section.is_empty() {
                break;
            }
        }
        let block = editor.close();
        fs::write(path(seed), &block).unwrap();
        verdict(&block)
    });
    let count = |wanted: &str| own.iter().filter(|found| **found == wanted).count();
    println!("{} sound, {} corrupt", count("sound"), count("corrupt"));
    assert!(count("sound") >= sweep::cases(30, 300) && count("corrupt") >= sweep::cases(50, 600));
    assert_that_readers_agree(&own, &path, go);
}

/// No golden file has fields of 32 bits, which FixedWidth takes from 17 on: it would be too long.
#[test]
fn readers_agree_on_fields_of_32_bits() {
    let path = crate::empty_folder("wide-fields").join("wide.cx");
    let series = (0..70_000_u32).map(|number| [("id".to_owned(), format!("{number:05}"))].into()).collect();
    let block = build(&series, &Plan::default(), RowForm::FixedWidth, &BlockMeta::default()).unwrap();
    let view = BlockView::open(&block).unwrap();
    assert_eq!(view.tables().map(|table| table.unwrap().row_bits()).max(), Some(32));
    assert_eq!(view.verify().unwrap().series_count, 70_000);
    fs::write(&path, &block).unwrap();
    let python = ["python3", "-B", "decoder.py"].map(str::to_owned).to_vec();
    let go = go_reader().and_then(Path::to_str).map(|go| vec![go.to_owned()]);
    for reader in [python].into_iter().chain(go).chain(c_readers().iter().cloned()) {
        let mut command = Command::new(&reader[0]);
        let Some(output) = run(command.args(&reader[1..]).arg("verify").arg(&path).current_dir(spec())) else { return };
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.is_empty(), "{reader:?}: {text}");
    }
}

/// Runs the runner of the kit, from an unpacked copy of it.
fn conformance(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("python3");
    run(command.arg("-B").arg(crate::frozen::kit().join("spec/conformance.py")).args(arguments).current_dir(spec()))
}

fn assert_that_none_differs(arguments: &[&str]) {
    let Some(output) = conformance(arguments) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.ends_with(" files judged, 0 differ\n"), "{arguments:?}: {text}");
}

#[test]
fn the_readers_in_go_and_python_pass_the_conformance_kit() {
    let Some(go) = go_reader().and_then(Path::to_str) else { return };
    assert_that_none_differs(&[go]);
    assert_that_none_differs(&["--mutants", "300", "--seed", "1", go]);
    assert_that_none_differs(&["python3", "-B", "decoder.py"]);
    assert_that_none_differs(&["--testdata", "../testdata", "--remaps", "python3", "-B", "remap.py"]);
}

#[test]
fn the_reader_in_c_passes_the_conformance_kit_on_both_machines() {
    for reader in c_readers() {
        for options in [&["--level", "core"][..], &["--level", "core", "--mutants", "150", "--seed", "2"]] {
            let reader: Vec<&str> = reader.iter().map(String::as_str).collect();
            assert_that_none_differs(&[options, &reader].concat());
        }
    }
}

/// Readers that are wrong in one thing each: a rule, words about a sound file, a note, verdicts on changed files, all.
#[test]
fn the_runner_finds_what_a_reader_does_wrong() {
    let Some(go) = go_reader().and_then(Path::to_str) else { return };
    let folder = crate::empty_folder("wrong-readers");
    let wrong = |name: &str, script: &str| {
        let path = folder.join(name);
        fs::write(&path, format!("[ $1 = verify ] || exec {go} \"$@\"\n{script}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let other_rule = "sed 's/: [a-z0-9-]*: /: other-rule: /'";
    let other_rule = wrong("rule", &format!("{go} \"$@\" 2>&1 | {other_rule} >&2; {go} \"$@\" 2>/dev/null"));
    let talking = wrong("words", &format!("{go} \"$@\" && echo sound"));
    let quiet = wrong("note", &format!("{go} \"$@\" 2>/dev/null"));
    for (arguments, complaint) in [
        (&["sh", &other_rule][..], "verify does not name the rule "),
        (&["sh", &talking], "verify prints something for a sound file"),
        (&["sh", &quiet], "verify does not say that class C was not checked"),
        (&["--mutants", "50", "true"], "verify exits with 0, not "),
    ] {
        let output = conformance(arguments).expect("python3 is there");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.code() == Some(5) && text.contains(complaint), "{arguments:?}: {text}");
    }
    for (arguments, complaint) in [
        (&["--mutants", "0", "true"][..], "--mutants needs a number from 1 on"),
        (&["--remaps", "--testdata", "../testdata/frozen/1", "true"], "no file can be judged"),
    ] {
        let output = conformance(arguments).expect("python3 is there");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(complaint), "{arguments:?}: {text}");
    }
    // A reader that accepts everything differs on each broken file, and on each dump.
    let output = conformance(&["true"]).expect("python3 is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let judged = text.lines().last().and_then(|line| line.split(' ').next()).expect("a count").to_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.ends_with(&format!("{judged} files judged, {judged} differ\n")), "{text}");
}

#[test]
fn the_reader_in_go_passes_its_own_tests() {
    let mut command = Command::new("go");
    if let Some(output) = run(command.args(["test", "./..."]).current_dir(spec().join("go"))) {
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn file_recognizes_blocks_and_remaps() {
    let testdata = crate::root().join("testdata");
    for (file, mime, described) in [
        ("golden/one-series.cx", "application/vnd.chronoxide.block", "Chronoxide block version 1.0, 431 bytes"),
        ("remaps/golden/small.cxr", "application/vnd.chronoxide.remap", "Chronoxide remap version 0.2, 156 bytes"),
    ] {
        for (options, expected) in [(&["-b", "--mime-type"][..], mime), (&["-b"], described)] {
            let mut command = Command::new("file");
            command.args(options).arg("-m").arg(spec().join("chronoxide.magic")).arg(testdata.join(file));
            let Some(output) = run(&mut command) else { return };
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{file}");
        }
    }
}
