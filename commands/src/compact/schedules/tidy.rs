//! `clean` and `index`.

use chronoxide_compactor::schedule;
use chronoxide_locations::{Listing, Manifest};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::arguments::{CleanArguments, IndexArguments};
use super::source::{self, Watch};
use crate::compact::blocks;
use crate::compact::failure::Error;
use crate::compact::kept::{kept_json, tell_kept};
use crate::compact::now;
use crate::{Exit, Failure, HasExit, Interruption, Message, json_line, print, tell};

pub(super) fn clean(arguments: &CleanArguments, interruption: &Interruption) -> Result<Exit, Failure> {
    let location = source::open(&arguments.location)?;
    let cache = arguments.cache.open()?;
    let _lock = source::lock(&location)?;
    source::recover_all(&location)?;
    let watch = Watch(interruption);
    let place = blocks::workplace(&location, &cache, &watch, arguments.proofs.memory_limit, 1)?;
    let cleaned = schedule::clean(&place, now(), arguments.grace.as_secs()).map_err(Error::from)?;
    let mut exit = tell_kept(&location, &cleaned.unproved);
    let mut failed = Vec::new();
    for (schedule, error) in cleaned.failed {
        let error = Error::from(error);
        tell(|out| writeln!(out, "chronoxide-compact: {}: not cleaned: {}", location.name(&schedule), Message(&error)));
        exit = exit.or(error.exit());
        failed.push(schedule);
    }
    if arguments.json {
        let json = serde_json::json!({
            "inputs": cleaned.inputs,
            "outputs": cleaned.outputs,
            "objects": cleaned.objects,
            "kept": cleaned.kept,
            "failed": failed,
            "unproved": kept_json(&cleaned.unproved),
        });
        print(|out| json_line(out, &json))?;
    } else if !arguments.quiet.is_set() {
        let count = |keys: &[String], what| human::count_of(keys.len() as u64, what);
        let (inputs, outputs) = (count(&cleaned.inputs, "input"), count(&cleaned.outputs, "pending output"));
        let (objects, kept) = (count(&cleaned.objects, "object"), count(&cleaned.kept, "schedule"));
        let name = location.text().to_owned();
        tell(|out| {
            let name = TerminalSafe(&name);
            writeln!(out, "{name}: deleted {inputs}, {outputs} and {objects} of schedules; {kept} not yet due")
        });
    }
    Ok(exit)
}

pub(super) fn index(arguments: &IndexArguments) -> Result<Exit, Failure> {
    let location = source::open(&arguments.location)?;
    let listing = if arguments.incremental { Listing::read(&location)? } else { Listing::read_blocks(&location)? };
    let exit = source::warn_of_unreadable(&listing, "not listed: ");
    let manifest = Manifest::from_listing(&listing);
    let bytes = manifest.write(&location)?;
    if arguments.json {
        let json = serde_json::json!({
            "blocks": manifest.len(),
            "live": listing.live.len(),
            "read": manifest.len() - listing.from_manifest,
            "bytes": bytes,
        });
        print(|out| json_line(out, &json))?;
    } else if !arguments.quiet.is_set() {
        let (blocks, bytes) = (human::count_of(manifest.len() as u64, "block"), human::bytes(bytes));
        let read = human::count((manifest.len() - listing.from_manifest) as u64);
        let name = location.name(chronoxide_locations::MANIFEST_KEY);
        tell(|out| writeln!(out, "{}: {blocks}, {read} of them read, {bytes}", TerminalSafe(&name)));
    }
    Ok(exit)
}
