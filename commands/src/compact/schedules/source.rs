//! Reads schedules, and opens the location and the cache.

use std::io::Read;
use std::path::Path;

use chronoxide_compactor::schedule::{SCHEDULES_PREFIX, Schedule};
use chronoxide_compactor::{Observer, Phase};
use chronoxide_locations::{Cache, Listing, Location, MANIFEST_KEY};
use chronoxide_publish::{Disk, FolderLock, recover};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::arguments::CacheArguments;
use crate::compact::failure::Error;
use crate::{Exit, Failure, HasExit, Interruption, Message, OrExit, tell};

/// Reads a schedule from a file, a URL, or standard input.
pub(super) fn read_schedule(source: &str) -> Result<Schedule, Failure> {
    let bytes = if source == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        bytes
    } else if Location::is_url(source) {
        let (location, key) = Location::open_object(source)?;
        location.read(&key)?
    } else {
        std::fs::read(source).map_err(|error| format!("{source}: {error}")).or_exit(Exit::Io)?
    };
    let shown = if source == "-" { "standard input" } else { source };
    Schedule::parse(&bytes).map_err(|error| {
        let error = Error::from(error);
        Failure::new(error.exit(), format!("{shown}: {error}"))
    })
}

/// Cancels a job or a proof when the process is interrupted.
pub(super) struct Watch<'a>(pub(super) &'a Interruption);

impl Observer for Watch<'_> {
    fn progress(&self, _: Phase, _: u64, _: u64) -> bool {
        !self.0.is_set()
    }
}

/// Opens the location of a schedule.
pub(super) fn location_of(schedule: &Schedule) -> Result<Location, Failure> {
    Ok(Location::open(&schedule.location)?)
}

/// Opens a location for a schedule: the path of a folder becomes absolute, since jobs may run in another folder.
pub(super) fn open(text: &str) -> Result<Location, Failure> {
    if Location::is_url(text) {
        return Ok(Location::open(text)?);
    }
    let failed = |error| Failure::new(Exit::Io, format!("{text}: {error}"));
    let path = Path::new(text).canonicalize().map_err(failed)?;
    if !path.is_dir() {
        return Err(Failure::new(Exit::Usage, format!("{text}: not a folder, and not the URL of a location")));
    }
    Ok(Location::open(&path.display().to_string())?)
}

/// Locks a folder of this machine, so that no other compaction changes it. Object stores have no locks: there, a commit
/// finds out whether another one was faster.
pub(super) fn lock(location: &Location) -> Result<Option<FolderLock>, Failure> {
    let folder = location.path("");
    Ok(folder.map(|folder| FolderLock::try_lock(&folder)).transpose().map_err(Error::from)?)
}

/// Removes temporary files of dead processes from a folder of this machine, and from the folders of its schedules.
pub(super) fn recover_all(location: &Location) -> Result<(), Failure> {
    let Some(folder) = location.path("") else { return Ok(()) };
    let mut folders = vec![folder];
    if let Some(schedules) = location.path(SCHEDULES_PREFIX) {
        folders.push(schedules);
    }
    let mut next = 0;
    while let Some(folder) = folders.get(next).cloned() {
        // A link may lead anywhere.
        if next == 0 || folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            recover(&Disk, &folder)?;
            if next > 0 {
                let below = std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
                folders.extend(below);
            }
        }
        next += 1;
    }
    Ok(())
}

/// Warns of objects that are not valid blocks. `effect` says what that means for the command, if anything. Returns the
/// exit code of the first.
pub(super) fn warn_of_unreadable(listing: &Listing, effect: &str) -> Exit {
    let mut exit = Exit::Ok;
    for (_, error) in &listing.unreadable {
        tell(|out| writeln!(out, "chronoxide-compact: warning: {effect}{}", Message(error)));
        exit = exit.or(error.exit());
    }
    exit
}

impl CacheArguments {
    pub(super) fn open(&self) -> Result<Cache, Error> {
        Ok(match &self.cache {
            Some(folder) => Cache::open(folder, self.cache_size as u64)?,
            None => Cache::from_environment(self.cache_size as u64),
        })
    }
}

/// Prints that the manifest does not describe these blocks as they are, and what corrects it.
pub(crate) fn warn_of_manifest(location: &Location, contradicted: &[String], remedy: &str) {
    let Some(first) = contradicted.first() else { return };
    let (manifest, first) = (location.name(MANIFEST_KEY), location.name(first));
    let count = human::count_of(contradicted.len() as u64, "block");
    tell(|out| {
        let (manifest, first) = (TerminalSafe(&manifest), TerminalSafe(&first));
        writeln!(
            out,
            "chronoxide-compact: warning: {manifest}: contradicts {count}, such as {first}; the blocks were read instead: {remedy}"
        )
    });
}
