//! The command `chronoxide-inspect`.

use std::process::ExitCode;

fn main() -> ExitCode {
    chronoxide_commands::inspect::main()
}
