//! The command `chronoxide-compact`.

use std::process::ExitCode;

use chronoxide_memory::SpillingAllocator;

#[global_allocator]
static ALLOCATOR: SpillingAllocator = SpillingAllocator;

fn main() -> ExitCode {
    chronoxide_commands::compact::main()
}
