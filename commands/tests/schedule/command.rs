//! The command on locations and schedules: what it refuses, and what it prints.

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use chronoxide_compactor::schedule::Schedule;
use chronoxide_format::layout::OPTIONAL;
use chronoxide_format::write::SectionBytes;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::random::Random;

use crate::scene::Scene;

/// A location of this machine, and a folder where the command runs.
struct Desk {
    scene: Scene,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { scene: Scene::local(9, &mut Random::new(83)), folder: crate::support::empty_folder() }
    }

    fn blocks(&self) -> &str {
        self.scene.location.text()
    }

    fn url(&self) -> String {
        format!("file://{}/", self.blocks())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.current_dir(self.folder.path()).env("CHRONOXIDE_CACHE", self.folder.path().join("cache"));
        command.stdin(Stdio::null()).args(arguments);
        command
    }

    /// Runs the command, and returns standard output and standard error.
    #[track_caller]
    fn run(&self, arguments: &[&str], code: i32) -> (String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(status.code(), Some(code), "{arguments:?}: {stderr}");
        (stdout, stderr)
    }

    fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }
}

#[test]
fn a_dry_run_of_a_location_shows_what_one_of_the_folder_does() {
    let desk = Desk::new();
    for format in [&[][..], &["--json"]] {
        let arguments = |place| [&[place, "--dry-run", "--ranges", "4h,12h"][..], format].concat();
        let (folder, _) = desk.run(&arguments(desk.blocks()), 0);
        let (location, _) = desk.run(&arguments(&desk.url()), 0);
        assert_eq!(location, folder.replace(&format!("{}/", desk.blocks()), ""));
        assert!(location.contains("merge") || location.contains("groups"), "{location}");
    }
    let (nothing, _) = desk.run(&[&desk.url(), "--json", "--ranges", "1h"], 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&nothing).unwrap()["merges"], 0);
}

#[test]
fn arguments_that_cannot_work_are_refused_before_anything_is_written() {
    let desk = Desk::new();
    let (url, block) = (desk.url(), format!("{}/0000.cx", desk.blocks()));
    for (arguments, code, message) in [
        (
            &["statsu", "--schedule", "schedule.json"][..],
            2,
            "unrecognized subcommand \"statsu\"; did you mean `status`?",
        ),
        (&["claen"], 2, "did you mean `clean`?"),
        (&["clean.cx", "-o", "out.cx"], 1, "clean.cx"),
        (&[&url, &url, "-o", "out.cx"], 2, "only one location can be merged"),
        (&["schedule", "file:///there/is/none/"], 1, "none/: no such bucket or folder"),
        (&["schedule", &url, "--ranges", "4h", "--job-memory", "1MiB"], 2, "MiB of memory or more, not 1 MiB"),
        (&[&block, "-o", "out.cx", "--remaps", "s3://bucket/remaps/"], 2, "a folder of this machine"),
        (&[&url, "-o", "out.cx"], 2, "merged in place"),
        (&[&url, "--force"], 2, "--force needs a file as output"),
        (&[&block, "--remaps", "remaps"], 2, "missing --output"),
        (&[&block, "-o", &format!("{url}0001.cx"), "--force"], 2, "objects of URLs are never replaced"),
        (&[&block, "-o", &format!("{url}.cx")], 2, "names that begin with a dot"),
        (&[&block, "-o", "s3://bucket/a/../../b.cx"], 2, "no parts `.` and `..`"),
        (&[&block, "-o", &format!("{url}0001.cx")], 1, "0001.cx: already exists and is never replaced"),
    ] {
        let (stdout, stderr) = desk.run(arguments, code);
        assert!(stdout.is_empty() && stderr.contains(message), "{arguments:?}: {stderr}");
        assert!(!desk.has("remaps") && !desk.has("s3:") && !desk.has("out.cx"), "{arguments:?}");
    }
}

#[test]
fn a_schedule_goes_to_standard_output_a_file_or_a_url() {
    let desk = Desk::new();
    let schedule = |ranges: &str, output: &[&str], code| {
        desk.run(&[&["schedule", &desk.url(), "--ranges", ranges][..], output].concat(), code)
    };
    let (printed, stderr) = schedule("4h,12h", &[], 0);
    assert!(!Schedule::parse(printed.as_bytes()).unwrap().jobs.is_empty(), "{stderr}");
    assert_eq!(schedule("4h,12h", &["-o", "-"], 0).0, printed);
    let file = desk.folder.path().join("schedule.json");
    let url = format!("file://{}", file.display());
    for output in ["schedule.json", &url] {
        let _ = fs::remove_file(&file);
        schedule("4h,12h", &["-o", output], 0);
        assert_eq!(fs::read_to_string(&file).unwrap(), printed);
        let (_, stderr) = schedule("5h", &["-o", output], 1);
        assert!(stderr.contains("already exists (use --force to replace it)"), "{stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), printed);
        schedule("5h", &["-o", output, "--force"], 0);
        assert_ne!(fs::read_to_string(&file).unwrap(), printed);
    }
    let empty = desk.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let (_, stderr) = desk.run(&["schedule", empty.to_str().unwrap()], 0);
    assert!(stderr.contains("has no blocks (*.cx)"), "{stderr}");
}

#[test]
fn a_finished_schedule_cannot_be_aborted() {
    let desk = Desk::new();
    desk.run(&["schedule", &desk.url(), "--ranges", "4h,12h", "-o", "schedule.json"], 0);
    desk.run(&["run", "--schedule", "schedule.json", "--all"], 0);
    desk.run(&["commit", "--schedule", "schedule.json"], 0);
    let (_, stderr) = desk.run(&["schedule", "--abort", "schedule.json"], 5);
    assert!(stderr.contains("the schedule was committed"), "{stderr}");
    assert!(desk.run(&["status", "--schedule", "schedule.json"], 0).0.contains("committed"));
    desk.scene.assert_seen("after an abort that was refused");
}

#[test]
fn sections_that_a_schedule_does_not_copy_are_counted() {
    for in_place in [true, false] {
        let desk = Desk::new();
        let path = format!("{}/0000.cx", desk.blocks());
        let mut editor = BlockEditor::open(&fs::read(&path).unwrap());
        editor.sections.extend([98, 99].map(|kind| SectionBytes { kind: OPTIONAL | kind, id: 0, bytes: vec![1] }));
        editor.sections.sort_by_key(|section| section.kind);
        fs::write(&path, editor.close()).unwrap();
        if in_place {
            let (_, stderr) = desk.run(&[&desk.url(), "--ranges", "4h,12h"], 0);
            assert!(stderr.contains("\n  not copied   2 optional sections of unknown kind\n"), "{stderr}");
            continue;
        }
        desk.run(&["schedule", &desk.url(), "--ranges", "4h,12h", "-o", "schedule.json"], 0);
        let left_out = |arguments: &[&str]| -> u64 {
            let (stdout, _) = desk.run(arguments, 0);
            let lines = stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines.map(|line| line["optional_sections_left_out"].as_u64().unwrap()).sum()
        };
        assert_eq!(left_out(&["run", "--schedule", "schedule.json", "--all", "--json"]), 2);
        assert_eq!(left_out(&["commit", "--schedule", "schedule.json", "--json"]), 2);
        assert_eq!(left_out(&["commit", "--schedule", "schedule.json", "--json"]), 2, "again");
    }
}

/// A store that accepts connections and never answers.
#[cfg(unix)]
#[test]
fn commands_that_wait_for_a_store_end_after_a_signal() {
    let desk = Desk::new();
    let block = format!("{}/0000.cx", desk.blocks());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let start = |arguments: &&[&str]| -> Child {
        let mut command = desk.command(arguments);
        command.envs(chronoxide_object_server::Server::settings(&endpoint));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let lines = [
        &[&block, "-o", "s3://bucket/out.cx"][..],
        &["s3://bucket/a.cx", "s3://bucket/b.cx", "-o", "out.cx"],
        &["s3://bucket/blocks/"],
        &["schedule", "s3://bucket/blocks/"],
    ];
    let children: Vec<Child> = lines.iter().map(start).collect();
    // The first request of each.
    let _waiting: Vec<_> = children.iter().map(|_| silent.accept().unwrap()).collect();
    for child in &children {
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }
    for (arguments, child) in lines.iter().zip(children) {
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(130), "{arguments:?}: {stderr}");
        assert!(stderr.contains("interrupted; published outputs are kept"), "{arguments:?}: {stderr}");
    }
    assert!(!desk.has("out.cx"));
}
