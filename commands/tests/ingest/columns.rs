//! The command with Parquet and Arrow inputs: names, folders, standard input, exit codes, memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use arrow_ipc::writer::IpcWriteOptions;
use chronoxide_testkit::random::Random;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use crate::tables::{self, Shape, batch, distinct};

fn run(folder: &Path, arguments: &[&str], stdin: Option<&Path>) -> Output {
    let stdin = stdin.map_or_else(Stdio::null, |path| fs::File::open(path).unwrap().into());
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.current_dir(folder).args(arguments).env("NO_COLOR", "1").stdin(stdin).output().unwrap()
}

fn summary(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn the_extension_does_not_matter_and_folders_may_be_mixed() {
    let rows = tables::rows(&mut Random::new(41), 400);
    let folder = tempfile::tempdir().unwrap();
    let part = |from: usize, shape| [batch(&rows[from..from + 100].to_vec(), shape)];
    let path = |name: &str| folder.path().join("in").join(name);
    fs::create_dir(folder.path().join("in")).unwrap();
    let options = IpcWriteOptions::default;
    fs::write(path("a.json"), tables::parquet(&part(0, Shape::SmallDictionary), WriterProperties::default())).unwrap();
    fs::write(path("b.parquet"), tables::stream(&part(100, Shape::Utf8View), options())).unwrap();
    fs::write(path("c"), tables::file(&part(200, Shape::Map), options())).unwrap();
    let lines: String = rows[300..].iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
    fs::write(path("d.arrow"), lines).unwrap();
    fs::write(path("e.txt"), "not a capture\n").unwrap();
    let output = run(folder.path(), &["in", "-o", "out.cx", "--json"], None);
    let summary = summary(&output);
    assert_eq!(output.status.code(), Some(0), "{summary}");
    assert_eq!(summary["series"], distinct(&rows).len() as u64);
    assert_eq!((&summary["input"]["inputs"], &summary["input"]["rows"]), (&4.into(), &300.into()));
    let text = run(folder.path(), &["in", "-o", "again.cx", "--report", "report.md"], None);
    let text = String::from_utf8(text.stderr).unwrap();
    assert!(text.contains("300 rows"), "{text}");
    let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(report.contains("| rows of Parquet and Arrow inputs | 300 |"), "{report}");
    // A stream, a file and a Parquet file from standard input.
    for name in ["a.json", "b.parquet", "c"] {
        let output = run(folder.path(), &["-", "-o", "piped.cx", "--json", "--force"], Some(&path(name)));
        assert_eq!(self::summary(&output)["input"]["rows"], 100, "{name}");
    }
}

#[test]
fn exit_codes_tell_what_is_wrong() {
    let rows = tables::rows(&mut Random::new(42), 100);
    let batches = [batch(&rows, Shape::Utf8), batch(&rows, Shape::Utf8)];
    let folder = tempfile::tempdir().unwrap();
    let stream = tables::stream(&batches, IpcWriteOptions::default());
    let parquet = tables::parquet(&batches, WriterProperties::default());
    let mut damaged = stream.clone();
    damaged[stream.len() / 2..][..1_000].fill(0xff);
    let mut invalid = parquet.clone();
    let at = invalid.windows(5).position(|bytes| bytes == b"a-pod").unwrap();
    invalid[at] = 0xff;
    let numbers = batches[0].project(&[0]).unwrap();
    for (name, content, code, message) in [
        ("cut.arrows", stream[..stream.len() - 600].to_vec(), 6, "record 3 at byte"),
        ("cut.parquet", parquet[..parquet.len() - 600].to_vec(), 3, "cut.parquet: the file has no footer at its end"),
        ("damaged.arrows", damaged, 3, "damaged.arrows: record "),
        ("invalid.parquet", invalid, 3, "invalid.parquet: row group 1 cannot be read after 0 of its rows: "),
        (
            "numbers.arrows",
            tables::stream(std::slice::from_ref(&numbers), IpcWriteOptions::default()),
            4,
            "found series_ref (UInt64)",
        ),
        ("numbers.parquet", tables::parquet(&[numbers], WriterProperties::default()), 4, "no column holds labels"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
        let output = run(folder.path(), &[name, "-o", "out.cx", "--force"], None);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {stderr}");
        assert!(stderr.contains(message), "{name}: {stderr}");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
    }
}

#[test]
fn a_bad_value_costs_its_row_with_skip_bad_records() {
    let rows = tables::rows(&mut Random::new(43), 50);
    let folder = tempfile::tempdir().unwrap();
    let batches = [batch(&rows, Shape::Utf8)];
    let count = |content: &[u8]| content.windows(9).filter(|bytes| bytes == b"long-name").count();
    for (name, mut content) in [
        ("bad.parquet", tables::parquet(&batches, WriterProperties::builder().set_dictionary_enabled(false).build())),
        ("bad.arrow", tables::file(&batches, IpcWriteOptions::default())),
    ] {
        assert!(count(&content) >= 50);
        let at = content.windows(9).position(|bytes| bytes == b"long-name").unwrap();
        content[at] = 0xff;
        fs::write(folder.path().join(name), content).unwrap();
        let output = run(folder.path(), &[name, "-o", "out.cx", "--force"], None);
        assert_eq!(output.status.code(), Some(3), "{name}");
        let output = run(folder.path(), &[name, "-o", "out.cx", "--force", "--json", "--skip-bad-records"], None);
        assert_eq!(output.status.code(), Some(6), "{name}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("skipped row 1: the value in column \"pod\" is not valid UTF-8"), "{stderr}");
        let summary = summary(&output);
        assert_eq!(summary["input"]["skipped"]["broken_rows"], 1, "{name}");
        assert_eq!(summary["series"], distinct(&rows[1..].to_vec()).len() as u64, "{name}");
    }
}

#[test]
fn a_block_of_parquet_common_has_the_series_of_its_labels_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("block")).unwrap();
    let text = |cells: [Option<&str>; 2]| tables::column(&cells, Shape::Utf8);
    let bytes =
        || -> arrow_array::ArrayRef { std::sync::Arc::new(arrow_array::BinaryArray::from(vec![&b"\0"[..]; 2])) };
    let labels = vec![
        ("l___name__", text([Some("up"), Some("down")])),
        ("l_job", text([Some("a"), None])),
        ("s_col_indexes", bytes()),
    ];
    let chunks = vec![("s_data_0", bytes()), ("s_data_1", bytes())];
    for (name, columns) in [("0.labels.parquet", labels), ("0.chunks.parquet", chunks)] {
        let table = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
        let content = tables::parquet(&[table], WriterProperties::default());
        fs::write(folder.path().join("block").join(name), content).unwrap();
    }
    let output = run(folder.path(), &["block", "-o", "out.cx"], None);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches("warning").count(), 1, "{stderr}");
    assert!(stderr.contains("0.chunks.parquet: no series"), "{stderr}");
    let block = fs::read(folder.path().join("out.cx")).unwrap();
    let series = crate::canonical::block_series(&block);
    let expected = tables::Rows::from([
        [("__name__", "up"), ("job", "a")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        [("__name__".to_owned(), "down".to_owned())].into(),
    ]);
    assert_eq!(distinct(&series), distinct(&expected));
}
