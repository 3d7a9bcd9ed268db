//! `verify`: checks every rule of the format.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chronoxide_locations::Location;
use chronoxide_publish::names_in;
use chronoxide_reader::{Checks, OpenError, REMAP_EXTENSION, is_block_name};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use crate::inspect::arguments::Many;
use crate::inspect::opened::{Opened, Verified};
use crate::inspect::worse;
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Message, Quiet, is_screen_shared, json_line, location_url, print_styled, tell};

/// Verifies all blocks and remaps of files, folders and locations. Returns the worst of their exit codes.
pub(crate) fn verify(many: &Many, quiet: Quiet) -> Result<Exit, Failure> {
    let mut worst = Exit::Ok;
    let files = expand(&many.files, quiet)?;
    let mut bad_count = 0;
    for path in &files {
        let found = Opened::open(path, Checks::Never).and_then(|opened| opened.verify(path));
        let shown = path.display().to_string();
        let safe = TerminalSafe(&shown);
        print_styled(|out, style| match (&found, many.json) {
            (Ok(_), false) if quiet.is_set() => Ok(()),
            (&Ok(Verified { series, unknown_ro_compat }), false) => {
                let series = human::count(series);
                write!(out, "{safe}: {}, {series} series", style.good("sound"))?;
                match unknown_ro_compat {
                    0 => writeln!(out),
                    bits => writeln!(out, "; unknown ro_compat bits {bits:#x}: only rules of class R were checked"),
                }
            }
            (&Ok(Verified { series, unknown_ro_compat }), true) => {
                let classes = if unknown_ro_compat == 0 { "RC" } else { "R" };
                let json = serde_json::json!({ "block": shown, "sound": true, "classes": classes, "series": series });
                json_line(out, &json)
            }
            (Err(error), true) => {
                let (rule, class) = match error {
                    OpenError::Block { source, .. } => (Some(source.rule().id()), Some(source.rule().class().letter())),
                    OpenError::Remap { source, .. } => (Some(source.rule().id()), None),
                    _ => (None, None),
                };
                let error = Message(error).to_string();
                let json =
                    serde_json::json!({ "block": shown, "sound": false, "rule": rule, "class": class, "error": error });
                json_line(out, &json)
            }
            (Err(_), false) => Ok(()),
        })?;
        if let Err(error) = found {
            if !many.json {
                let prefix = Style::stderr().bad("error:");
                tell(|out| writeln!(out, "chronoxide-inspect: {prefix} {}", Message(&error)));
            }
            worst = worse(worst, error.exit());
            bad_count += 1;
        }
    }
    if worst != Exit::Ok && files.len() > 1 && is_screen_shared() {
        let (bad, all) = (human::count(bad_count), human::count_of(files.len() as u64, "file"));
        let prefix = Style::stderr().bad("error:");
        tell(|out| writeln!(out, "chronoxide-inspect: {prefix} {bad} of {all} cannot be verified: see above"));
    }
    Ok(worst)
}

/// Replaces folders and locations by their blocks and remaps, without those of subfolders.
fn expand(arguments: &[PathBuf], quiet: Quiet) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for argument in arguments {
        let mut found: Vec<PathBuf> = if let Some(url) = location_url(argument) {
            let location = Location::open(url)?;
            let objects = location.list("", false)?;
            // A mistyped prefix.
            if location.is_remote() && objects.is_empty() {
                return Err(Failure::new(Exit::Io, format!("{url}: no objects")));
            }
            let keys = objects.into_iter().map(|object| object.key);
            // Remaps are read from files only.
            keys.filter(|key| is_block_name(key)).map(|key| location.name(&key).into()).collect()
        } else if argument.is_dir() {
            let names = names_in(argument).map_err(|source| OpenError::Io { path: argument.clone(), source })?;
            let names = names.iter().filter(|name| is_block_name(name) || is_remap_name(name));
            names.map(|name| argument.join(name)).collect()
        } else {
            files.push(argument.clone());
            continue;
        };
        found.sort();
        if found.is_empty() && !quiet.is_set() {
            let shown = argument.display().to_string();
            tell(|out| writeln!(out, "chronoxide-inspect: {}: no blocks and no remaps", TerminalSafe(&shown)));
        }
        files.extend(found);
    }
    Ok(files)
}

fn is_remap_name(name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    !is_hidden && Path::new(name).extension() == Some(OsStr::new(REMAP_EXTENSION))
}
