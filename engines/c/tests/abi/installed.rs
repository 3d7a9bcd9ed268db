//! The library, installed in Cargo's folder for files of tests, and programs that were compiled with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use chronoxide_testkit::requirement::skip_or_fail;

use crate::repository;

/// The library below a temporary prefix.
pub struct Installed {
    folder: PathBuf,
}

/// Library that a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    Shared,
    Static,
}

/// Runs a command. Returns nothing if its program is missing.
pub fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip_or_fail(&command.get_program().to_string_lossy(), error);
            None
        }
    }
}

/// Returns the standard output of a command that succeeded.
#[track_caller]
pub fn stdout(command: &Command, output: Output) -> Vec<u8> {
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

impl Installed {
    fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    /// Returns the path of the shared library.
    pub fn library(&self) -> PathBuf {
        self.prefix().join("lib/libchronoxide.so")
    }

    /// Lets a command find the pkg-config file, and its programs the shared library.
    pub fn for_command<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let lib = self.prefix().join("lib");
        command.env("PKG_CONFIG_PATH", lib.join("pkgconfig")).env("LD_LIBRARY_PATH", lib)
    }

    /// Returns the flags of the pkg-config file, or nothing if there is no pkg-config.
    fn flags(&self, linkage: Linkage) -> Option<Vec<String>> {
        let mut command = Command::new("pkg-config");
        if linkage == Linkage::Static {
            command.arg("--static");
        }
        let output = run(self.for_command(command.args(["--cflags", "--libs", "chronoxide"])))?;
        let text = String::from_utf8(stdout(&command, output)).expect("flags in UTF-8");
        let flag = |flag: &str| match (linkage, flag) {
            // The linker prefers the shared library of this name.
            (Linkage::Static, "-lchronoxide") => "-l:libchronoxide.a".to_owned(),
            _ => flag.to_owned(),
        };
        Some(text.split_whitespace().map(flag).collect())
    }

    /// Compiles a program of this crate with all warnings and sanitizers. Returns nothing if there is no compiler.
    pub fn compile(&self, source: &str, linkage: Linkage) -> Option<PathBuf> {
        let source = repository("engines/c").join(source);
        let stem = source.file_stem().expect("a name").to_string_lossy();
        // Tests run at once, and several compile the same source.
        static COMPILED: AtomicUsize = AtomicUsize::new(0);
        let program = self.folder.join(format!("{stem}-{}", COMPILED.fetch_add(1, Ordering::Relaxed)));
        let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        command.args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread"]);
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
        command.arg("-o").arg(&program).arg(&source).args(self.flags(linkage)?);
        let output = run(&mut command)?;
        stdout(&command, output);
        Some(program)
    }

    /// Compiles a program and runs it. Returns its output, or nothing if a tool is missing. A sanitizer's finding, and
    /// memory that is not freed, fail the test.
    #[track_caller]
    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, program: &Path, arguments: &[A]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0");
        self.for_command(&mut command).output().expect("the program runs")
    }
}

/// Returns the installed library.
pub fn installed() -> &'static Installed {
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Cargo builds all crate types of this package's library for its tests, and puts them beside these.
        let test = std::env::current_exe().expect("the path of this test");
        let libraries = test.parent().expect("the folder of this test");
        // The libraries of a debug build take 150 MB: each run replaces them.
        let installed = Installed { folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("chronoxide-c") };
        let mut command = Command::new("sh");
        command.arg(repository("engines/c/install.sh")).arg(installed.prefix());
        let output = command.env("CHRONOXIDE_LIBRARIES", libraries).env_remove("DESTDIR").output().expect("sh runs");
        stdout(&command, output);
        installed
    })
}
