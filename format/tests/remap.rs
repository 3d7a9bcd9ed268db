//! The remap spec and the code say the same, and the second reader, written from the spec alone, agrees. That needs
//! `python3`; see `requirement`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chronoxide_format::remap::layout::{OutputEntry, RemapHeader};
use chronoxide_format::remap::{RemapRule, RemapView};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::remap::editor::reseal_all;
use chronoxide_testkit::remap::golden::Model;
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn spec() -> String {
    std::fs::read_to_string(project().join("spec/REMAP.md")).expect("the spec is part of the project")
}

/// Runs the second reader; nothing where there is no Python.
fn python(arguments: &[String]) -> Option<Output> {
    match Command::new("python3").args(["-B", "remap.py"]).args(arguments).current_dir(project().join("spec")).output()
    {
        Ok(output) => Some(output),
        Err(error) => {
            skip_or_fail("python3", error);
            None
        }
    }
}

/// The cells of the rows of the table that has this cell in its first row.
fn table(cell: &str) -> Vec<Vec<String>> {
    let spec = spec();
    let rows = spec.lines().skip_while(|line| !line.split('|').any(|found| found.trim() == cell));
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .collect()
}

/// Compares a struct with the field table that begins with its first field.
macro_rules! assert_fields {
    ($struct:ident { $($field:ident),* }) => {{
        let fields = [$((stringify!($field), std::mem::offset_of!($struct, $field))),*];
        let ends = fields.iter().skip(1).map(|(_, offset)| *offset).chain([size_of::<$struct>()]);
        let declared: Vec<(String, String, String)> = fields
            .iter()
            .zip(ends)
            .map(|((name, offset), end)| ((*name).to_owned(), offset.to_string(), (end - offset).to_string()))
            .collect();
        let stated: Vec<(String, String, String)> = table(&format!("`{}`", fields[0].0))
            .into_iter()
            .map(|row| (row[3].clone(), row[0].clone(), row[1].clone()))
            .collect();
        assert_eq!(stated, declared, stringify!($struct));
    }};
}

#[test]
fn structs_are_the_spec_s_field_tables() {
    assert_fields!(RemapHeader {
        remap_magic,
        major,
        minor,
        incompat,
        input_id,
        job_id,
        file_len,
        output_count,
        keyset_count,
        part_count,
        pattern_count,
        run_count,
        row_bits,
        group_widths,
        keyset_widths,
        part_widths,
        pattern_widths,
        run_widths,
        reserved,
        checks_checksum,
        header_checksum
    });
    assert_fields!(OutputEntry { output_id, output_series_end });
}

#[test]
fn rules_are_those_of_the_spec() {
    let listed: Vec<String> = table("`magic`").into_iter().map(|row| row[0].clone()).collect();
    let known: Vec<&str> = RemapRule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(listed, known);
    for rule in known {
        assert!(spec().contains(&format!("`[{rule}]`")), "{rule} is listed and not stated");
    }
}

/// The remap of section 8.
fn worked() -> Vec<u8> {
    let moved = (0..3).map(|series| vec![Some(series)]).collect();
    let rows = vec![vec![Some(4), Some(5), None], vec![Some(6), Some(7), None]];
    Model { job: [0xCC; 16], outputs: vec![(10, 0)], keysets: vec![moved, rows] }.build()
}

/// Bytes as the spec shows them.
fn hex(bytes: &[u8], from: usize) -> String {
    let mut text = String::new();
    for (line, chunk) in (from..).step_by(16).zip(bytes[from..].chunks(16)) {
        let bytes: Vec<String> = chunk.iter().map(|byte| format!("{byte:02X}")).collect();
        writeln!(text, "    {line:04X}  {}", bytes.join(" ")).unwrap();
    }
    text
}

#[test]
fn the_worked_remap_is_the_builder_s() {
    let spec = spec();
    let worked = worked();
    let section = &spec[spec.find("## 8. A worked remap\n").expect("the section")..];
    let mut stated = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("    ")) {
        let (offset, bytes) = line.trim().split_once("  ").expect("an offset and bytes");
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), stated.len(), "{line}");
        stated.extend(bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    assert_eq!(stated, worked, "the worked remap is\n{}", hex(&worked, 0));
    let view = RemapView::open(&worked).unwrap();
    view.verify().unwrap();
    let refs: Vec<Option<u32>> =
        view.targets().unwrap().map(|target| target.unwrap().map(|target| target.series.0)).collect();
    assert_eq!(refs, [0, 1, 2, 4, 5].map(Some).into_iter().chain([None, Some(6), Some(7), None]).collect::<Vec<_>>());
}

/// Keysets that agree, that were mixed up, spread over two shards or left out.
fn random_model(seed: u64, most_keysets: usize) -> Model {
    let mut random = Random::new(seed);
    let keysets = (0..random.below(most_keysets)).map(|_| {
        let list: Vec<Option<u64>> = (0..1 + random.below(6))
            .map(|place| random.percent(80).then(|| place as u64 + 100 * random.below(2) as u64))
            .collect();
        let is_mixed = random.percent(30);
        let rows = (0..1 + random.below(40)).map(|row| {
            let len = if random.percent(70) { list.len() } else { 1 + random.below(list.len()) };
            list[..len]
                .iter()
                .map(|place| Some((*place)? + if is_mixed { random.below(60) } else { row * 2 } as u64))
                .collect()
        });
        rows.collect()
    });
    let keysets = keysets.collect();
    Model { job: [2; 16], outputs: vec![(40, 0), (60, 0), (100, 1)], keysets }
}

#[test]
fn the_second_reader_reads_what_was_put_in() {
    let folder = crate::empty_folder("remaps");
    for seed in 0..40 {
        let model = random_model(seed, 20);
        let remap = model.build();
        RemapView::open(&remap).unwrap().verify().unwrap();
        let path = folder.join(format!("{seed}.cxr"));
        std::fs::write(&path, &remap).unwrap();
        let Some(output) = python(&["dump".to_owned(), path.display().to_string()]) else { return };
        assert!(output.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), model.dump(remap.len()), "seed {seed}");
    }
}

#[test]
fn both_readers_refuse_the_same_damage_and_every_rule_is_met() {
    let folder = crate::empty_folder("damaged-remaps");
    let (mut met, mut arguments, mut refused) = (BTreeSet::new(), vec!["verify".to_owned()], BTreeSet::new());
    let mut try_damage = |bytes: &[u8], name: String| {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = RemapView::open(bytes).and_then(|view| view.verify()) {
            met.insert(error.rule().id());
            refused.insert(path.clone());
        }
        arguments.push(path);
    };
    for (number, seed) in [3, 7, 11].into_iter().enumerate() {
        let remap = random_model(seed, 5).build();
        // Each third bit, by turns, unless all are asked for.
        for bit in sweep::by_turns(0..remap.len() * 8, number, 3) {
            let mut damaged = remap.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if bit / 3 % 16 == 0 {
                try_damage(&damaged, format!("{seed}-{bit}-flipped"));
            }
            reseal_all(&mut damaged);
            try_damage(&damaged, format!("{seed}-{bit}"));
        }
    }
    let known: BTreeSet<&str> = RemapRule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(met, known);
    assert!(
        arguments.len() > sweep::cases(700, 2_000) && refused.len() < arguments.len() - 1,
        "{} cases",
        arguments.len()
    );
    let mut also_refused = BTreeSet::new();
    for some in arguments[1..].chunks(500) {
        let arguments: Vec<String> = arguments[..1].iter().chain(some).cloned().collect();
        let Some(output) = python(&arguments) else { return };
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("Traceback"), "{text}");
        also_refused.extend(text.lines().map(|line| line.split(": ").next().unwrap_or_default().to_owned()));
    }
    let differing: Vec<&String> = refused.symmetric_difference(&also_refused).collect();
    assert!(differing.is_empty(), "{differing:?}");
}
