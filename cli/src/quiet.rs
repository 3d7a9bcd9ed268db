//! The option `--quiet`, which all commands have.

use clap::Args;

/// The option `-q`, to flatten into the arguments of a command.
///
/// ```
/// use chronoxide_cli::Quiet;
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
    /// Print neither progress nor summaries nor notes; data, warnings and errors stay
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
