//! Exports, read by other readers, beside the labelsets of the block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::{Ingest, IngestOptions};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::Labelset;
use chronoxide_testkit::requirement::skip_or_fail;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

use crate::support::{
    self, Folder, assert_exit, broken, command, golden, labelsets, plain_block, random_block, run, stdout,
};

/// Labels of exported series by ref.
type Series = BTreeMap<u64, Labelset>;

const FORMATS: [&str; 4] = ["parquet", "arrow", "csv", "jsonl"];

fn series_of_block(block: &[u8]) -> Series {
    let view = BlockView::open(block).unwrap();
    let text = view.text().unwrap();
    let labels = |series| {
        let labels = text.labels(&series).map(|label| label.unwrap());
        labels.map(|label| (label.name.to_owned(), label.value.to_owned())).collect()
    };
    view.series_iter()
        .map(|series| series.unwrap())
        .map(|series| (series.series_ref().0.into(), labels(series)))
        .collect()
}

/// Returns the refs and labels of batches with a column per label, or with a map.
fn series_of_batches(batches: impl RecordBatchReader) -> Series {
    batches.flat_map(|batch| series_of_batch(&batch.unwrap())).collect()
}

fn series_of_batch(batch: &RecordBatch) -> Series {
    let mut series: Vec<(u64, Labelset)> = (0..batch.num_rows()).map(|row| (row as u64, Labelset::new())).collect();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.metadata().contains_key("chronoxide.merge") {
            continue;
        }
        if let Some(refs) = column.as_primitive_opt::<UInt64Type>() {
            series.iter_mut().zip(refs.values()).for_each(|((series_ref, _), &value)| *series_ref = value);
        } else if let Some(map) = column.as_map_opt() {
            let (names, values) = (strings(map.keys()), strings(map.values()));
            for ((_, labels), range) in series.iter_mut().zip(map.value_offsets().windows(2)) {
                let entries = range[0] as usize..range[1] as usize;
                let text = |text: &Option<&str>| text.unwrap().to_owned();
                labels.extend(entries.map(|entry| (text(&names[entry]), text(&values[entry]))));
            }
        } else {
            for ((_, labels), value) in series.iter_mut().zip(strings(column)) {
                labels.extend(value.map(|value| (field.name().clone(), value.to_owned())));
            }
        }
    }
    series.into_iter().collect()
}

/// Returns the strings of a column of a file: plain, or of a dictionary.
fn strings(array: &dyn Array) -> Vec<Option<&str>> {
    match array.as_dictionary_opt::<UInt32Type>() {
        Some(array) => array.downcast_dict::<StringArray>().unwrap().into_iter().collect(),
        None => array.as_string::<i32>().iter().collect(),
    }
}

fn parquet(path: &Path) -> Series {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    series_of_batches(builder.build().unwrap())
}

fn arrow(path: &Path) -> Series {
    series_of_batches(FileReader::try_new(File::open(path).unwrap(), None).unwrap())
}

/// Returns the records of CSV text (RFC 4180).
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' => loop {
                match chars.next().unwrap() {
                    '"' if chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
                    '"' => break,
                    char => field.push(char),
                }
            },
            ',' => record.push(std::mem::take(&mut field)),
            '\n' => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            char => field.push(char),
        }
    }
    assert!(record.is_empty() && field.is_empty(), "the last record ends with a line feed");
    records
}

fn csv(text: &str) -> Series {
    let mut records = csv_records(text).into_iter();
    let names = records.next().unwrap();
    assert_eq!(names[0], "series_ref");
    let labels = |record: Vec<String>| {
        assert_eq!(record.len(), names.len());
        let series_ref = record[0].parse().unwrap();
        let labels = names.iter().cloned().zip(record).skip(1).filter(|(_, value)| !value.is_empty());
        (series_ref, labels.collect())
    };
    records.map(labels).collect()
}

fn labelset(object: &Map<String, Value>) -> Labelset {
    object.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn jsonl(text: &str) -> Series {
    let series = |line: &str| {
        assert!(line.starts_with("{\"series_ref\":"), "{line}");
        let mut object: Map<String, Value> = serde_json::from_str(line).unwrap();
        let series_ref = object.remove("series_ref").unwrap().as_u64().unwrap();
        let labels = match object.get("labels") {
            Some(Value::Object(labels)) => labelset(labels),
            _ => labelset(&object),
        };
        (series_ref, labels)
    };
    text.lines().map(series).collect()
}

/// Exports to a file, and returns its content as read by another reader.
#[track_caller]
fn exported(folder: &Folder, block: &str, format: &str, options: &[&str]) -> Series {
    let file = folder.file(&format!("out.{format}"));
    let arguments = [&["export", "-q", block, "--force", "-o", file.to_str().unwrap()], options].concat();
    assert_eq!(stdout(&arguments), "");
    let text = || fs::read_to_string(&file).unwrap();
    match format {
        "parquet" => parquet(&file),
        "arrow" => arrow(&file),
        "csv" => csv(&text()),
        _ => jsonl(&text()),
    }
}

/// Returns a block with labels that each format must quote or escape, and the refs of its series.
fn awkward() -> (Vec<u8>, Series) {
    let block = plain_block(&labelsets(&[
        &[("__name__", "up"), ("a,b", "1,2"), ("quote\"", "\"")],
        &[("__name__", "naïve"), ("line\nfeed", "x\ny\r\n"), ("\u{1f980}", "\u{202e}\u{0}\u{1b}[2J")],
        &[("__name__", " spaces "), ("back\\slash", "\\n"), ("comma", ",")],
        &[("__name__", "null"), ("a,b", "NULL"), ("comma", "\"\"")],
    ]));
    let series = series_of_block(&block);
    assert_eq!(series.len(), 4);
    (block, series)
}

#[test]
fn every_format_has_the_labels_of_the_block() {
    let folder = Folder::new();
    for golden in goldens() {
        let block = folder.write("block.cx", &golden.bytes);
        let expected = series_of_block(&golden.bytes);
        for format in FORMATS {
            assert_eq!(exported(&folder, &block, format, &[]), expected, "{} as {format}", golden.name);
        }
    }
    for seed in 0..10 {
        let (_, bytes) = random_block(seed);
        let block = folder.write("block.cx", &bytes);
        for format in FORMATS {
            assert_eq!(exported(&folder, &block, format, &[]), series_of_block(&bytes), "seed {seed} as {format}");
        }
    }
}

#[test]
fn unicode_quotes_and_line_feeds_survive() {
    let folder = Folder::new();
    let (bytes, expected) = awkward();
    let block = folder.write("block.cx", &bytes);
    for format in FORMATS {
        assert_eq!(exported(&folder, &block, format, &[]), expected, "{format}");
    }
    for format in ["parquet", "arrow", "jsonl"] {
        assert_eq!(exported(&folder, &block, format, &["--map"]), expected, "{format}");
    }
}

/// Text formats to the byte: RFC 4180 with line feeds, and RFC 8259 with the escapes that it requires.
#[test]
fn text_is_quoted_and_escaped_where_it_must_be() {
    let folder = Folder::new();
    let block = plain_block(&labelsets(&[
        &[("__name__", " spaces "), ("a", "\u{0}\t\u{7}\u{8}\u{c}\u{1b}\u{7f}\u{85}\u{2028}\\/"), ("n", "\r")],
        &[("__name__", "a,b"), ("a", "say \"hi\""), ("n", "2")],
        &[("__name__", "naïve \u{1f980}"), ("a", "x\ny\r\nz"), ("n", "007")],
        &[("__name__", "up"), ("a", "null"), ("n", "1e5")],
        &[("q\"u,o\nte", "#'")],
    ]));
    let block = folder.write("block.cx", block);
    let export = |options: &[&str]| stdout(&[&["export", &block, "--format"], options].concat());

    let records = [
        "series_ref,__name__,a,n,\"q\"\"u,o\nte\"\n",
        "0, spaces ,\u{0}\t\u{7}\u{8}\u{c}\u{1b}\u{7f}\u{85}\u{2028}\\/,\"\r\",\n",
        "1,\"a,b\",\"say \"\"hi\"\"\",2,\n",
        "2,naïve \u{1f980},\"x\ny\r\nz\",007,\n",
        "3,up,null,1e5,\n",
        "4,,,,#'\n",
    ];
    assert_eq!(export(&["csv"]), records.concat());
    // An empty line is not a record: a record of one empty field has quotes.
    assert_eq!(export(&["csv", "--columns", "n"]), "n\n\"\r\"\n2\n007\n1e5\n\"\"\n");

    let labels = [
        "\"__name__\":\" spaces \",\"a\":\"\\u0000\\t\\u0007\\b\\f\\u001b\u{7f}\u{85}\u{2028}\\\\/\",\"n\":\"\\r\"",
        r#""__name__":"a,b","a":"say \"hi\"","n":"2""#,
        "\"__name__\":\"naïve \u{1f980}\",\"a\":\"x\\ny\\r\\nz\",\"n\":\"007\"",
        r#""__name__":"up","a":"null","n":"1e5""#,
        r##""q\"u,o\nte":"#'""##,
    ];
    let lines = |line: &dyn Fn(usize, &str) -> String| -> String {
        labels.iter().enumerate().map(|(number, labels)| line(number, labels)).collect()
    };
    assert_eq!(export(&["jsonl"]), lines(&|number, labels| format!("{{\"series_ref\":{number},{labels}}}\n")));
    let maps = lines(&|number, labels| format!("{{\"series_ref\":{number},\"labels\":{{{labels}}}}}\n"));
    assert_eq!(export(&["jsonl", "--map"]), maps);
    let numbers = "{\"n\":\"\\r\"}\n{\"n\":\"2\"}\n{\"n\":\"007\"}\n{\"n\":\"1e5\"}\n{}\n";
    assert_eq!(export(&["jsonl", "--columns", "n"]), numbers);
}

#[test]
fn standard_output_has_text_and_arrow_streams() {
    let folder = Folder::new();
    let (bytes, expected) = awkward();
    let block = folder.write("block.cx", &bytes);
    assert_eq!(csv(&stdout(&["export", &block, "--format", "csv"])), expected);
    assert_eq!(jsonl(&stdout(&["export", &block, "--format", "jsonl", "-o", "-"])), expected);
    for options in [&[][..], &["--map"]] {
        let output = run(&[&["export", &block, "--format", "arrow"], options].concat());
        assert_exit(&output, 0, "");
        assert_eq!(series_of_batches(StreamReader::try_new(Cursor::new(output.stdout), None).unwrap()), expected);
    }
}

#[test]
fn selectors_choose_series() {
    let folder = Folder::new();
    let block = golden("plain-bitpacked.cx");
    let all = series_of_block(&fs::read(&block).unwrap());
    let is_wanted = |labels: &Labelset| {
        labels.get("__name__").is_some_and(|name| name == "up") || labels.get("pod").is_some_and(|pod| pod == "db-1")
    };
    let expected: Series = all.iter().filter(|(_, labels)| is_wanted(labels)).map(|(r, l)| (*r, l.clone())).collect();
    for format in FORMATS {
        let found = exported(&folder, &block, format, &["--match", "up", "--match", r#"{pod="db-1"}"#]);
        assert_eq!(found, expected, "{format}");
    }
    let output = run(&["export", &block, "--format", "csv", "--match", r#"{nope="x"}"#]);
    assert_exit(&output, 0, "note: the block has no label \"nope\"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(csv_records(&text).len(), 1, "an empty export has the header: {text}");
}

#[test]
fn columns_are_chosen_and_ordered() {
    let folder = Folder::new();
    let (bytes, _) = awkward();
    let block = folder.write("block.cx", &bytes);
    let text = stdout(&["export", &block, "--format", "csv", "--columns", "comma,series_ref", "--columns", "__name__"]);
    let records = csv_records(&text);
    assert_eq!(records[0], ["comma", "series_ref", "__name__"]);
    let all = series_of_block(&bytes);
    for (record, (series_ref, labels)) in records[1..].iter().zip(&all) {
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        assert_eq!(*record, [label("comma"), series_ref.to_string(), label("__name__")]);
    }
    assert_eq!(records.len(), all.len() + 1);

    let output = run(&["export", &block, "--format", "jsonl", "--columns", "__name__,nope"]);
    assert_exit(&output, 0, "note: the block has no label \"nope\"");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), all.len());
    let quiet = run(&["export", &block, "--format", "csv", "--columns", "nope", "-q"]);
    assert_exit(&quiet, 0, "");
    assert_eq!(quiet.stderr, b"");
}

#[test]
fn a_label_named_series_ref_keeps_its_name() {
    let folder = Folder::new();
    let series = labelsets(&[&[("__name__", "up"), ("series_ref", "a")], &[("__name__", "up"), ("series_ref", "b")]]);
    let block = folder.write("block.cx", plain_block(&series));
    let text = stdout(&["export", &block, "--format", "csv", "--columns", "series_ref,_series_ref"]);
    assert_eq!(text, "series_ref,_series_ref\na,0\nb,1\n");
}

#[test]
fn sorted_exports_are_in_the_order_of_labels() {
    let (_, bytes) = random_block(3);
    let folder = Folder::new();
    let block = folder.write("block.cx", &bytes);
    let text = stdout(&["export", &block, "--format", "jsonl", "--sort", "--map"]);
    let labels = |line: &str| {
        let object: Map<String, Value> = serde_json::from_str(line).unwrap();
        labelset(object["labels"].as_object().unwrap())
    };
    let found: Vec<Labelset> = text.lines().map(labels).collect();
    let mut expected: Vec<Labelset> = series_of_block(&bytes).into_values().collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn objects_without_refs_can_be_ingested() {
    let (series, bytes) = random_block(5);
    let folder = Folder::new();
    let block = folder.write("block.cx", &bytes);
    let names = stdout(&["labels", &block, "--json"]);
    let names: Vec<String> = names.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines = stdout(&["export", &block, "--format", "jsonl", "--columns", &names.join(",")]);
    assert_eq!(support::series_of(&lines), series);
}

/// Ingest reads exports: refs are no labels.
#[test]
fn an_export_is_a_capture() {
    let folder = Folder::new();
    let (awkward, _) = awkward();
    for (name, bytes) in [("random", random_block(7).1), ("awkward", awkward)] {
        let block = folder.write("block.cx", &bytes);
        let expected: BTreeSet<Labelset> = series_of_block(&bytes).into_values().collect();
        for (format, options) in
            [("parquet", &[][..]), ("parquet", &["--map"]), ("arrow", &[]), ("arrow", &["--map", "--sort"])]
        {
            let file = folder.file(&format!("out.{format}"));
            stdout(&[&["export", "-q", &block, "--force", "-o", file.to_str().unwrap()], options].concat());
            let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
            let source = ingest.open(&file, 1 << 20).unwrap();
            ingest.read(source).unwrap();
            let (report, blocks) = ingest.finish().unwrap();
            let found: BTreeSet<Labelset> = series_of_block(&blocks[0]).into_values().collect();
            assert_eq!(found, expected, "{name} as {format} {options:?}");
            assert_eq!((report.rows, blocks.len()), (expected.len() as u64, 1));
        }
    }
}

/// Each dictionary is in the file once, and has the values of its key only.
#[test]
fn arrow_files_do_not_repeat_the_block() {
    let folder = Folder::new();
    let value = |label: u32, series: u32| format!("value of label {label} in series {:>8}", series % 1000);
    let labels = |series: u32| -> Labelset {
        let labels = (0..8).map(|label| (format!("label_{label}"), value(label, series)));
        labels.chain([("number".to_owned(), format!("{series:08}"))]).collect()
    };
    let series = (0..70_000).map(labels).collect();
    let bytes = plain_block(&series);
    let block = folder.write("block.cx", &bytes);
    for options in [&[][..], &["--columns", "label_0,label_1,label_2,label_3,label_4"]] {
        let file = folder.file("out.arrow");
        stdout(&[&["export", "-q", &block, "--force", "-o", file.to_str().unwrap()], options].concat());
        let len = fs::metadata(&file).unwrap().len();
        // Numbers of 8 bytes and offsets of 4, and codes of up to 4 bytes for each cell.
        assert!(len < 3_000_000, "{len} bytes");
        let reader = FileReader::try_new(File::open(&file).unwrap(), None).unwrap();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, ArrowError>>().unwrap();
        assert!(batches.len() > 1, "70,000 series are more than a batch");
        let column = batches[1].column_by_name("label_0").unwrap().as_dictionary::<UInt32Type>();
        assert_eq!((column.values().len(), column.values().data_type()), (1000, &DataType::Utf8));
    }
}

#[test]
fn a_file_is_replaced_only_with_force() {
    let folder = Folder::new();
    let block = golden("plain-bitpacked.cx");
    let target = folder.write("out.csv", "keep");
    let output = run(&["export", &block, "-o", &target]);
    assert_exit(&output, 1, "already exists (use --force to replace it)");
    assert_eq!(fs::read(&target).unwrap(), b"keep");
    stdout(&["export", "-q", &block, "-o", &target, "--force"]);
    assert_eq!(csv(&fs::read_to_string(&target).unwrap()), series_of_block(&fs::read(&block).unwrap()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let folder = Folder::new();
    let block = folder.write("block.cx", fs::read(golden("plain-bitpacked.cx")).unwrap());
    let here = folder.path().to_str().unwrap();
    let cases: [(&[&str], &str); 10] = [
        (&[&block], "name a format"),
        (&[&block, "-o", "out.txt"], "name a format"),
        (&[&block, "--format", "parquet"], "parquet needs a file"),
        (&[&block, "--format", "csv", "--map"], "csv has no maps"),
        (&[&block, "--format", "csv", "--columns", "job,job"], "--columns has \"job\" more than once"),
        (&[&block, "--format", "csv", "--columns", "job,"], "--columns"),
        (&[&block, "--format", "jsonl", "--map", "--columns", "job"], "cannot be used with"),
        (&[&block, "--format", "csv", "-o", here], "must be a file, not a folder"),
        (&[here, "--format", "csv"], "is a folder; name one block"),
        (&[&block, "--format", "csv", "--force", "-o", &block], "is the block itself"),
    ];
    for (arguments, message) in cases {
        assert_exit(&run(&[&["export"], arguments].concat()), 2, message);
    }
    assert_eq!(fs::read_dir(here).unwrap().count(), 1, "nothing is left");
}

#[test]
fn damaged_blocks_leave_no_file() {
    let folder = Folder::new();
    let mut checked = 0;
    for entry in fs::read_dir(Path::new(&broken("magic")).parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let file = folder.file("out.parquet");
        let output = run(&["export", path.to_str().unwrap(), "-o", file.to_str().unwrap()]);
        // Reading labels does not meet every rule.
        if output.status.code() == Some(0) {
            parquet(&file);
            fs::remove_file(&file).unwrap();
            continue;
        }
        let exit = if BlockView::open(&bytes).is_err_and(|error| is_unsupported(&error)) { 4 } else { 3 };
        assert_exit(&output, exit, path.to_str().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{}", path.display());
        checked += 1;
    }
    assert!(checked >= 20, "{checked}");
}

fn is_unsupported(error: &chronoxide_format::Error) -> bool {
    use chronoxide_commands::{Exit, HasExit};
    error.exit() == Exit::Unsupported
}

#[test]
#[cfg(unix)]
fn a_full_standard_output_is_an_error() {
    let full = match File::options().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return skip_or_fail("/dev/full", error),
    };
    let block = golden("plain-bitpacked.cx");
    let output = command().args(["export", &block, "--format", "csv"]).stdout(full).output().unwrap();
    assert_exit(&output, 1, "No space left on device");
}

#[test]
#[cfg(unix)]
fn a_full_disk_leaves_nothing_behind() {
    let folder = Folder::new();
    let mount = folder.file("disk");
    fs::create_dir(&mount).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&mount).output();
    match mounted {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip_or_fail("mount of a tmpfs", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return skip_or_fail("mount of a tmpfs", error),
    }
    let block = golden("many-chunks.cx");
    let output = run(&["export", &block, "-o", mount.join("out.jsonl").to_str().unwrap()]);
    let left = fs::read_dir(&mount).unwrap().count();
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    assert_exit(&output, 1, "No space left on device");
    assert_eq!(left, 0, "nothing is left on the disk");
}

#[test]
#[cfg(unix)]
fn an_interrupted_export_leaves_nothing_behind() {
    let folder = Folder::new();
    let labelset = |series: u32| [("number".to_owned(), format!("{series:08}"))].into_iter().collect::<Labelset>();
    let block = folder.write("block.cx", plain_block(&(0..200_000).map(labelset).collect()));
    let target = folder.file("out.parquet");
    let mut child = command();
    child.args(["export", &block, "--sort", "-o", target.to_str().unwrap()]).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    // The block, and the temporary file of a run that has begun.
    while fs::read_dir(folder.path()).unwrap().count() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 130, "interrupted; nothing was written");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the block is left");
}
