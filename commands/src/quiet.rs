//! The option `--quiet` of all commands.

use clap::Args;

/// Option `-q`, to flatten into the arguments of a command.
///
/// ```
/// use chronoxide_commands::Quiet;
/// use clap::Parser;
///
/// #[derive(Parser)]
/// struct Arguments {
///     #[command(flatten)]
///     quiet: Quiet,
/// }
/// assert!(Arguments::parse_from(["count", "-q"]).quiet.is_set());
/// ```
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Quiet {
    /// Print no progress, summaries or notes; only data, warnings and errors
    #[arg(short, long, global = true, display_order = 997)]
    quiet: bool,
}

impl Quiet {
    /// Returns true if the option is set.
    #[must_use]
    pub fn is_set(self) -> bool {
        self.quiet
    }
}
