//! `chronoxide-workload`: generates a workload of OTLP metrics.

mod arguments;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use arguments::Arguments;
use chronoxide_workload::{Format, Statistics, Workload, write};
use clap::Parser;

/// Exit codes as those of the other commands: a file cannot be written, wrong usage.
const IO: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let workload = match Workload::new(arguments.options()) {
        Ok(workload) => workload,
        Err(error) => return failure(&error, USAGE),
    };
    match run(&arguments, &workload) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failure(&error, IO),
    }
}

fn run(arguments: &Arguments, workload: &Workload) -> io::Result<()> {
    if arguments.describe {
        let mut out = io::stdout().lock();
        write!(out, "{}", Statistics::from_workload(workload))?;
        return out.flush();
    }
    match &arguments.output {
        None => write_all(workload, arguments.format, io::stdout().lock()),
        Some(path) => {
            let in_file = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let file = if arguments.force { File::create(path) } else { File::create_new(path) };
            let file = file.map_err(in_file)?;
            write_all(workload, arguments.format, file).map_err(in_file)
        }
    }
}

fn write_all(workload: &Workload, format: Format, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(256 * 1024, out);
    write(workload, format, &mut out)?;
    out.flush()
}

/// An error of writing to standard error is ignored.
fn failure(error: &dyn Error, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "chronoxide-workload: error: {error}");
    ExitCode::from(code)
}
