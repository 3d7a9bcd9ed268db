//! Blocks that were not deleted, since it is not proved that others hold their series.

use chronoxide_compactor::engine::{Kept, Unproven};
use chronoxide_locations::Location;
use chronoxide_text::escape::TerminalSafe;

use crate::compact::failure;
use crate::{Exit, Message, tell};

/// Prints the hidden blocks that were kept without proof. Returns the exit code.
pub(crate) fn tell_kept(location: &Location, kept: &[Kept]) -> Exit {
    let mut exit = Exit::Ok;
    for Kept { blocks, holders, reason, .. } in kept {
        let holder = holders.first().map_or_else(String::new, |key| location.name(key));
        for key in blocks {
            let (name, why) = (location.name(key), Message(reason));
            tell(|out| {
                let (name, holder) = (TerminalSafe(&name), TerminalSafe(&holder));
                write!(out, "chronoxide-compact: warning: {name}: kept; ")?;
                match reason {
                    Unproven::StillNeeded => writeln!(out, "{why}"),
                    _ => writeln!(out, "not proved that {holder} holds its series: {why}"),
                }
            });
        }
        exit = exit.or(failure::exit_of_unproven(reason));
    }
    exit
}

/// Returns the blocks that were kept without proof, as JSON.
pub(crate) fn kept_json(kept: &[Kept]) -> Vec<serde_json::Value> {
    let object = |Kept { blocks, holders, reason, .. }: &Kept| serde_json::json!({ "blocks": blocks, "holders": holders, "reason": reason.to_string() });
    kept.iter().map(object).collect()
}
