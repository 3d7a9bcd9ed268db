//! The command `chronoxide-ingest`.

use std::process::ExitCode;

fn main() -> ExitCode {
    chronoxide_commands::ingest::main()
}
