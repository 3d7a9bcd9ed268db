//! The command `chronoxide-compact`.

use std::process::ExitCode;

fn main() -> ExitCode {
    chronoxide_commands::compact::main()
}
