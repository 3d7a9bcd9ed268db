//! Merges the blocks of a folder or bucket in place.

use std::collections::BTreeSet;
use std::path::Path;

use chronoxide_compactor::engine::{Check, Claims, Deleted, Inputs, Merged, PublishedOutput, Publisher, Workplace};
use chronoxide_compactor::strategy::{Description, Group, Strategy, choose, describe};
use chronoxide_compactor::{CompactError, CompactOptions, CompactionError};
use chronoxide_locations::{Cache, DEFAULT_CACHE_LEN, Listed, Listing, Location, LocationError, Manifest};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::Reason;
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use crate::compact::arguments::{Annotations, Arguments};
use crate::compact::failure::{Error, usage};
use crate::compact::kept::tell_kept;
use crate::compact::now;
use crate::compact::progress::Bar;
use crate::compact::report::{Report, Written};
use crate::compact::schedules::warn_of_manifest;
use crate::compact::{blocks, strategy_text};
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Message, json_line, print, print_styled, show_downloads, tell, url};

/// Deletions of inputs in a run, at most, but for one.
const BATCHES: u64 = 8;

pub(crate) fn compact(arguments: &Arguments, path: &Path, bar: &Bar) -> Result<Exit, Failure> {
    check(arguments)?;
    let options = arguments.options();
    let location = match url(path) {
        Some(url) => Location::open(url)?,
        None => Location::folder(path),
    };
    let cache = show_downloads(Cache::from_environment(DEFAULT_CACHE_LEN));
    let place = &match arguments.dry_run {
        true => blocks::place(&location, &cache, bar),
        false => blocks::workplace(&location, &cache, bar, arguments.memory_limit, 1)?,
    };
    let _lock = if arguments.dry_run { None } else { place.lock().map_err(Error::from)? };
    if !arguments.dry_run {
        arguments.make_remaps_folder()?;
    }
    let mut listing = place.list()?;
    if listing.all().is_empty() && listing.unreadable.is_empty() {
        tell(|out| {
            let name = TerminalSafe(location.text());
            writeln!(out, "chronoxide-compact: warning: {name}: no blocks (*.cx) in this folder")
        });
    }
    let mut run = Run { arguments, options: &options, place, bar, told: BTreeSet::new(), exit: Exit::Ok };
    run.warn_of_blocks(&listing);
    let described = |listing: &Listing| -> Vec<Description> {
        let named = |block: Description| match url(path) {
            Some(_) => block,
            None => Description { file: path.join(&block.file), ..block },
        };
        describe(listing, &options.external_labels).into_iter().map(named).collect()
    };
    let mut blocks = described(&listing);
    let strategy_options = arguments.strategy_options();
    if arguments.dry_run {
        show_strategy(&choose(&blocks, &strategy_options), arguments.json)?;
        return Ok(run.exit);
    }
    if listing.from_manifest > 0 && run.correct_manifest(&mut listing, &choose(&blocks, &strategy_options))? {
        blocks = described(&listing);
    }
    let strategy = choose(&blocks, &strategy_options);
    run.delete_leftovers(&listing)?;
    let live: Vec<Listed> = listing.live.clone();
    let claims = Claims::new(place, listing, &options.external_labels);
    run.compact(&strategy, &live, &|path| claims.verify(path))?;
    Ok(run.exit)
}

/// Refuses options that have no meaning for blocks that are merged in place.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let refused = if arguments.output.is_some() {
        "a folder is merged in place, and a bucket, too; to write elsewhere, name its blocks (DIR/*.cx)"
    } else if arguments.shard.is_some() {
        "--shard needs named files (DIR/*.cx), or a schedule (`schedule --shards N`): all machines must merge the same blocks"
    } else if !arguments.grace.is_zero() && arguments.remaps.is_some() {
        "--grace conflicts with --remaps: later runs do not know whether remaps of the inputs are wanted"
    } else if !arguments.grace.is_zero() && arguments.outputs.annotations == Annotations::Drop {
        "--grace conflicts with --annotations drop: later runs prove that nothing is missing from the outputs"
    } else if arguments.force {
        "--force needs a file as output: blocks in a folder are named after their ids and never replaced"
    } else if arguments.options().is_rewriting() || !arguments.keep_used.is_empty() || !arguments.hash_labels.is_empty()
    {
        "--keep, --drop, --keep-used, --hash-label, --drop-label, --rename-label, --keep-column, --drop-column and --lift-external-labels need named files (DIR/*.cx): in a folder only blocks that are due for a merge would change"
    } else {
        return Ok(());
    };
    Err(usage(refused))
}

/// Prints which blocks are to be merged, and why.
fn show_strategy(strategy: &Strategy<'_>, is_json: bool) -> Result<(), Failure> {
    if is_json {
        print(|out| json_line(out, strategy))?;
    } else {
        print_styled(|out, style| strategy_text::write(strategy, style, out))?;
    }
    Ok(())
}

/// A group that was merged, and whose inputs may have to be deleted.
struct MergedGroup<'a> {
    group: &'a Group<'a>,
    ids: Vec<BlockId>,
    outputs: Vec<PublishedOutput>,
    report: Report,
}

/// One run in a location.
struct Run<'a> {
    arguments: &'a Arguments,
    options: &'a CompactOptions,
    place: &'a Workplace<'a>,
    bar: &'a Bar,
    /// Keys of blocks that cannot be opened, and were named.
    told: BTreeSet<String>,
    exit: Exit,
}

impl Run<'_> {
    /// Takes the first exit code that is none of success.
    fn note(&mut self, exit: Exit) {
        self.exit = self.exit.or(exit);
    }

    /// Prints what is wrong with the blocks of the location, and how many are hidden.
    fn warn_of_blocks(&mut self, listing: &Listing) {
        self.warn_of_unreadable(&listing.unreadable);
        self.warn_of_disputed(listing);
        if self.arguments.quiet.is_set() {
            return;
        }
        for block in listing.all().into_iter().filter(|block| block.facts.read_only.is_some()) {
            let name = self.place.location.name(&block.object.key);
            let why =
                "read-only, with features or sections that this version does not know; not merged, hidden or deleted";
            tell(|out| writeln!(out, "chronoxide-compact: warning: {}: {why}", TerminalSafe(&name)));
        }
        let is_merged = |reason: &Reason| matches!(reason, Reason::Merged { .. });
        let count = listing.hidden.iter().filter(|hidden| is_merged(&hidden.reason)).count() as u64;
        if count > 0 && !self.arguments.delete_inputs && !self.arguments.json {
            let blocks = human::count_of(count, "block");
            tell(|out| {
                writeln!(
                    out,
                    "{blocks} hidden: other blocks claim to hold their series (--delete-inputs verifies this and deletes them)"
                )
            });
        }
    }

    /// Prints the blocks that cannot be opened, each once.
    fn warn_of_unreadable(&mut self, unreadable: &[(String, LocationError)]) {
        for (key, error) in unreadable {
            if self.told.insert(key.clone()) {
                tell(|out| writeln!(out, "chronoxide-compact: warning: {}", Message(error)));
                self.note(error.exit());
            }
        }
    }

    /// Prints the blocks whose claims cannot be true.
    fn warn_of_disputed(&mut self, listing: &Listing) {
        for job in &listing.incomplete {
            let Some(disputed) = job.disputed else {
                if job.present >= job.output_count {
                    let number = u128::from_be_bytes(job.id);
                    let why = "its outputs name different inputs, so they hide nothing";
                    tell(|out| writeln!(out, "chronoxide-compact: warning: job {number:032x}: {why}"));
                    self.note(Exit::Findings);
                }
                continue;
            };
            for block in listing.all().into_iter().filter(|block| block.facts.job.is_some_and(|it| it.id == job.id)) {
                let name = self.place.location.name(&block.object.key);
                tell(|out| {
                    writeln!(
                        out,
                        "chronoxide-compact: warning: {}: claims to hold block {disputed}, which has more series; the claim is ignored, and the block is not merged",
                        TerminalSafe(&name)
                    )
                });
            }
            self.note(Exit::Findings);
        }
    }

    /// Reads the blocks that are to be merged, if the listing may know them from a manifest alone. If one states
    /// something else, lists the location by its blocks, and writes the manifest anew. Returns true then.
    fn correct_manifest(&mut self, listing: &mut Listing, strategy: &Strategy<'_>) -> Result<bool, Failure> {
        let location = self.place.location;
        let ids: BTreeSet<BlockId> =
            strategy.groups.iter().flat_map(|group| &group.blocks).map(|block| block.id).collect();
        let contradicted = listing.correct(location, &ids)?;
        if contradicted.is_empty() {
            return Ok(false);
        }
        Manifest::from_listing(listing).write(location)?;
        warn_of_manifest(location, &contradicted, "the manifest was written anew");
        Ok(true)
    }

    /// Deletes what an earlier run merged, if asked.
    fn delete_leftovers(&mut self, listing: &Listing) -> Result<(), Failure> {
        let arguments = self.arguments;
        // Inputs of a killed run may have no remaps yet, so they are kept if remaps are requested.
        if !arguments.delete_inputs || arguments.remaps.is_some() {
            return Ok(());
        }
        let by_grace = || now().saturating_sub_unsigned(arguments.grace.as_secs());
        let published_by = if arguments.grace.is_zero() { i64::MAX } else { by_grace() };
        let leftovers = self.place.delete_merged(listing, &self.options.external_labels, published_by);
        let leftovers = leftovers.map_err(Error::from)?;
        if self.bar.is_interrupted() {
            return Err(Error::from(CompactionError::from(CompactError::Cancelled)).into());
        }
        self.tell_leftovers(&leftovers);
        Ok(())
    }

    /// Merges the groups, and deletes their inputs, if asked.
    fn compact(&mut self, strategy: &Strategy<'_>, live: &[Listed], verify: &Check<'_>) -> Result<(), Failure> {
        let Self { arguments, bar, .. } = *self;
        // Inputs go in batches: each deletion lists the location, and should not follow each merge, nor should all
        // inputs wait for the end and double the location.
        let batch_len = strategy.groups.iter().map(Group::bytes).sum::<u64>() / BATCHES;
        let mut merged = Vec::new();
        for group in &strategy.groups {
            match self.merge(group, live, verify) {
                Ok(done) if arguments.delete_inputs && arguments.grace.is_zero() => merged.push(done),
                Ok(done) => bar.pause(|| done.report.show(arguments))?,
                Err(failure) if bar.is_interrupted() => {
                    self.delete(&mut merged, live, verify)?;
                    return Err(failure);
                }
                Err(failure) => {
                    // An error in one group does not stop the others.
                    bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
                    self.note(failure.exit());
                }
            }
            if merged.iter().map(|done| done.report.bytes_in).sum::<u64>() > batch_len {
                self.delete(&mut merged, live, verify)?;
            }
        }
        self.delete(&mut merged, live, verify)?;
        if strategy.groups.is_empty() {
            if arguments.json {
                print(|out| json_line(out, &serde_json::json!({ "merges": 0 })))?;
            } else if !arguments.quiet.is_set() {
                tell(|out| strategy_text::write(strategy, Style::stderr(), out));
            }
        }
        Ok(())
    }

    /// Prints the inputs of earlier runs that were deleted, and those that were kept without proof.
    fn tell_leftovers(&mut self, leftovers: &Deleted) {
        let location = self.place.location;
        for key in leftovers.keys.iter().filter(|_| !self.arguments.quiet.is_set()) {
            let name = location.name(key);
            tell(|out| writeln!(out, "{}: deleted; an earlier run merged it", TerminalSafe(&name)));
        }
        if leftovers.waiting > 0 && !self.arguments.quiet.is_set() && !self.arguments.json {
            let inputs = human::count_of(leftovers.waiting as u64, "input");
            tell(|out| writeln!(out, "{inputs} of earlier runs kept until the grace period is over"));
        }
        self.note(tell_kept(location, &leftovers.kept));
        self.warn_of_unreadable(&leftovers.unreadable);
    }

    /// Opens the blocks of a group and merges them. They are closed afterwards, so that deleted blocks free their
    /// space.
    fn merge<'g>(&self, group: &'g Group<'g>, live: &[Listed], verify: &Check<'_>) -> Result<MergedGroup<'g>, Failure> {
        let ids: BTreeSet<BlockId> = group.blocks.iter().map(|block| block.id).collect();
        let chosen = live.iter().filter(|block| ids.contains(&block.facts.id));
        let inputs = Inputs::open(self.place, chosen.map(Listed::wanted)).map_err(|error| match error {
            CompactionError::Store(LocationError::Missing { object } | LocationError::Changed { object, .. })
                if self.place.location.is_remote() =>
            {
                CompactionError::Stale { object, reason: "it was replaced since the location was listed".to_owned() }
            }
            error => error,
        });
        let inputs = inputs.map_err(Error::from)?;
        let mut publisher = Publisher::new(self.place, verify);
        let remaps = self.arguments.remaps.as_deref();
        let summary = inputs.merge(self.options, remaps, &mut publisher).map_err(Error::from)?;
        let outputs = publisher.finish().map_err(Error::from)?;
        let report = Report {
            inputs: inputs.len(),
            bytes_in: group.bytes(),
            summary,
            outputs: outputs.iter().map(|output| Written::new(self.place, output)).collect(),
            deleted: Vec::new(),
        };
        Ok(MergedGroup { group, ids: inputs.ids().collect(), outputs, report })
    }

    /// Deletes the inputs of merged groups, and prints their reports.
    fn delete(
        &mut self,
        merged: &mut Vec<MergedGroup<'_>>,
        live: &[Listed],
        verify: &Check<'_>,
    ) -> Result<(), Failure> {
        let mut merged = std::mem::take(merged);
        if merged.is_empty() {
            return Ok(());
        }
        let (place, bar) = (self.place, self.bar);
        let merges: Vec<Merged<'_>> =
            merged.iter().map(|done| Merged { outputs: &done.outputs, inputs: &done.ids }).collect();
        let deletion = place.delete_inputs(verify, &merges).map_err(Error::from)?;
        for (done, deleted) in merged.iter_mut().zip(deletion.deleted) {
            done.report.deleted = deleted.iter().map(|key| place.location.name(key)).collect();
        }
        for (_, error) in deletion.failed {
            let failure = Failure::from(Error::from(error));
            bar.pause(|| tell(|out| writeln!(out, "chronoxide-compact: error: {}", Message(failure.error()))));
            self.note(failure.exit());
        }
        for done in &merged {
            bar.pause(|| done.report.show(self.arguments))?;
            self.tell_absent(done.group, &deletion.absent, live)?;
        }
        bar.pause(|| self.warn_of_unreadable(&deletion.unreadable));
        Ok(())
    }

    /// Prints the merged inputs that are there, but were not found before deletion.
    fn tell_absent(&mut self, group: &Group<'_>, absent: &[BlockId], live: &[Listed]) -> Result<(), Failure> {
        let location = self.place.location;
        let ids: BTreeSet<BlockId> = group.blocks.iter().map(|block| block.id).collect();
        let is_absent = |block: &&Listed| ids.contains(&block.facts.id) && absent.contains(&block.facts.id);
        for block in live.iter().filter(is_absent) {
            if location.find(&block.object.key)?.is_some() {
                let (name, why) = (location.name(&block.object.key), "merged, but cannot be opened again; not deleted");
                self.bar
                    .pause(|| tell(|out| writeln!(out, "chronoxide-compact: warning: {}: {why}", TerminalSafe(&name))));
                self.note(Exit::Io);
            }
        }
        Ok(())
    }
}
