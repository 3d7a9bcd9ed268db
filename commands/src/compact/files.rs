//! Merges named blocks into a file, a folder or a bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chronoxide_compactor::CompactOptions;
use chronoxide_compactor::engine::{Claims, Inputs, Publisher, order_of_deletion};
use chronoxide_format::view::BlockView;
use chronoxide_locations::{Cache, DEFAULT_CACHE_LEN, Listing, Location};
use chronoxide_publish::{Disk, FolderLock, make_folder};
use chronoxide_reader::{Block, BlockId};
use chronoxide_text::escape::TerminalSafe;

use crate::compact::arguments::{Arguments, ChosenBlocks};
use crate::compact::blocks;
use crate::compact::failure::{Error, usage};
use crate::compact::progress::Bar;
use crate::compact::report::{Report, Written};
use crate::compact::used;
use crate::{
    Exit, Failure, existing, fetch_url, is_folder, location_url, remote_target, tell, url, warn_of_block_extension,
};

/// Place of the outputs.
enum Target {
    /// A file of this machine.
    File(PathBuf),
    /// A location, and the key of the only output; without a key, outputs are named after their ids.
    Location(Location, Option<[String; 1]>),
}

pub(crate) fn compact(arguments: &Arguments, bar: &Bar) -> Result<Exit, Failure> {
    if arguments.dry_run && !arguments.keep_used.is_empty() {
        check_inputs(arguments)?;
        return used::show(arguments, &open(arguments)?.files);
    }
    let output = check(arguments)?;
    let target = target(arguments, output)?;
    let existing = match &target {
        Target::File(file) => Some(existing(file, arguments.force)?),
        Target::Location(..) => None,
    };
    let hash_labels = arguments.hash_labels()?;
    arguments.make_remaps_folder()?;
    let (location, keys) = match &target {
        Target::File(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            (Location::folder(folder.unwrap_or(Path::new("."))), None)
        }
        Target::Location(location, key) => (location.clone(), key.as_ref().map(<[String; 1]>::as_slice)),
    };
    let cache = Cache::from_environment(DEFAULT_CACHE_LEN);
    let mut options = CompactOptions { keeps_inputs: !arguments.delete_inputs, ..arguments.options() };
    let place = &blocks::workplace(&location, &cache, bar, arguments.memory_limit, 1)?;
    let folder = location.path("").filter(|_| existing.is_none());
    // Locked before the inputs are opened, so that no other job deletes them meanwhile.
    let lock = || if existing.is_none() { place.lock().map_err(Error::from) } else { Ok(None) };
    let mut locked = if folder.as_ref().is_some_and(|folder| folder.is_dir()) { lock()? } else { None };

    let doomed = if arguments.delete_inputs { sources(&arguments.inputs)? } else { Vec::new() };
    let Opened { inputs, files, chosen } = open(arguments)?;
    options.drop.extend(used::unused(arguments, &files)?);
    used::check_hashed(arguments, &files)?;
    options.rewrite.hash_labels = hash_labels;
    let bytes_in = inputs.byte_len();
    // A folder that is not there yet has no blocks.
    let is_missing = location.path("").is_some_and(|folder| !folder.is_dir());
    let survey = if is_missing { Listing::default() } else { place.list()? };
    let claims = Claims::new(place, survey, &options.external_labels);
    let verify = |path: &Path| claims.verify(path);
    let remaps = arguments.remaps.as_deref();
    let (summary, outputs) = match (&target, existing) {
        (Target::File(file), Some(existing)) => {
            let merged = inputs.merge_to(&options, place, remaps, |merge| merge.merge_to_file(file, existing, &verify));
            let (summary, published) = merged.map_err(Error::from)?;
            (summary, vec![Written::file(published)])
        }
        _ => {
            if let Some(folder) = folder.filter(|_| locked.is_none()) {
                make_folder(&Disk, &folder).map_err(|error| Failure::new(Exit::Io, error))?;
                locked = lock()?;
            }
            let only = options.shards.as_ref().and_then(|shards| Some(shards.only?.number()));
            let mut publisher = Publisher::new(place, &verify).only(only);
            if let Some(keys) = keys {
                publisher = publisher.under(keys);
            }
            let summary = inputs.merge(&options, remaps, &mut publisher).map_err(Error::from)?;
            let outputs = publisher.finish().map_err(Error::from)?;
            (summary, outputs.iter().map(|output| Written::new(place, output)).collect())
        }
    };
    let doomed: Vec<(Source, BlockId)> =
        doomed.into_iter().zip(chosen).filter_map(|(source, id)| Some((source, id?))).collect();
    let deleted = delete(doomed, &outputs, locked.as_ref())?;
    let report = Report { inputs: inputs.len(), bytes_in, summary, outputs, deleted };
    bar.pause(|| report.show(arguments))?;
    Ok(Exit::Ok)
}

/// Refuses inputs that are not files.
fn check_inputs(arguments: &Arguments) -> Result<(), Failure> {
    let names_folder = |input: &&PathBuf| input.as_os_str().as_encoded_bytes().ends_with(b"/") && !input.exists();
    if let Some(location) = arguments.inputs.iter().find_map(|input| location_url(input)) {
        return Err(usage(format!(
            "{location}: only one location can be merged, in place; to merge several, name their blocks"
        )));
    }
    if let Some(folder) = arguments.inputs.iter().find(names_folder) {
        return Err(Failure::new(Exit::Io, format!("{}: no such folder", folder.display())));
    }
    if let Some(folder) = arguments.inputs.iter().find(|input| input.is_dir()) {
        return Err(usage(format!(
            "{}: only one folder can be merged in place; to merge several, name their blocks (DIR/*.cx)",
            folder.display()
        )));
    }
    Ok(())
}

/// Refuses arguments that have no meaning for named blocks. Returns the output.
fn check(arguments: &Arguments) -> Result<&Path, Failure> {
    check_inputs(arguments)?;
    if !arguments.grace.is_zero() {
        return Err(usage("--grace needs a folder or bucket: no later run would know the inputs"));
    }
    if arguments.dry_run {
        return Err(usage("--dry-run needs a folder, or --keep-used: named files are merged as given"));
    }
    let Some(output) = &arguments.output else {
        // A capture needs another command rather than another option.
        for input in arguments.inputs.iter().filter(|input| url(input).is_none()) {
            blocks::map(input)?;
        }
        return Err(usage("missing --output: the block to write, or a folder for several"));
    };
    if arguments.delete_inputs && arguments.shard.is_some() {
        return Err(usage("--delete-inputs conflicts with --shard: the other shards need the inputs"));
    }
    Ok(output)
}

/// Finds out where the outputs go.
fn target(arguments: &Arguments, output: &Path) -> Result<Target, Failure> {
    warn_of_block_extension("chronoxide-compact", output);
    if let Some((location, key)) = remote_target(output, arguments.force)? {
        return Ok(Target::Location(location, key.map(|key| [key])));
    }
    if !is_folder(output) {
        return Ok(Target::File(output.to_owned()));
    }
    if arguments.force {
        return Err(usage(
            "--force needs a file as output: blocks in a folder are named after their ids and never replaced",
        ));
    }
    Ok(Target::Location(Location::folder(output), None))
}

/// Inputs that lie between the given times.
struct Opened {
    inputs: Inputs,
    /// Their files, or the copies of remote ones in the cache.
    files: Vec<PathBuf>,
    /// Id of each input that was opened.
    chosen: Vec<Option<BlockId>>,
}

/// Opens the inputs that lie between the given times.
fn open(arguments: &Arguments) -> Result<Opened, Failure> {
    let (mut opened, mut files, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for input in &arguments.inputs {
        let file = url(input).map_or_else(|| Ok(input.clone()), fetch_url)?;
        let (name, block) = (input.display().to_string(), blocks::map(&file)?);
        let is_chosen = is_between(arguments, &block);
        chosen.push(is_chosen.then(|| block.view().block_id()));
        if is_chosen {
            opened.push((name, block));
            files.push(file);
        } else if !arguments.quiet.is_set() {
            tell(|out| {
                let name = TerminalSafe(&name);
                writeln!(out, "chronoxide-compact: {name}: skipped: not between --min-time and --max-time")
            });
        }
    }
    if opened.is_empty() {
        return Err(usage("no block lies between --min-time and --max-time"));
    }
    Ok(Opened { inputs: Inputs::new(opened), files, chosen })
}

/// An input that is to be deleted.
struct Source {
    location: Location,
    key: String,
    /// The file, by a path without links, unless it is an object of a store.
    file: Option<PathBuf>,
}

/// A location, and the keys and ids of blocks that are to be deleted from it.
type Doomed = (Location, BTreeMap<String, BlockId>);

/// Finds the inputs that are to be deleted, before anything is done.
fn sources(inputs: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let source = |input: &PathBuf| {
        let mut file = input.clone();
        if let Some(url) = url(input) {
            let (location, key) = Location::open_object(url)?;
            match location.path(&key) {
                Some(path) => file = path,
                None => return Ok(Source { location, key, file: None }),
            }
        }
        if file.is_symlink() {
            let file = file.display();
            return Err(usage(format!("{file}: is a symbolic link, which --delete-inputs does not delete")));
        }
        // An input that cannot be read is an error when it is opened.
        let file = file.canonicalize().unwrap_or(file);
        let folder = file.parent().unwrap_or(Path::new("/"));
        let key = file.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let not_text = || usage(format!("{}: --delete-inputs needs a name that is UTF-8", file.display()));
        Ok(Source { location: Location::folder(folder), key: key.ok_or_else(not_text)?, file: Some(file) })
    };
    inputs.iter().map(source).collect()
}

/// Deletes inputs that are not outputs. In each location, the same other blocks must be live before and after.
/// `locked` is the folder that this job has locked already.
fn delete(
    inputs: Vec<(Source, BlockId)>,
    outputs: &[Written],
    locked: Option<&FolderLock>,
) -> Result<Vec<String>, Failure> {
    let names: BTreeSet<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
    let files: BTreeSet<PathBuf> =
        outputs.iter().filter_map(|output| output.file.as_ref()?.canonicalize().ok()).collect();
    let mut doomed: BTreeMap<(String, Option<PathBuf>), Doomed> = BTreeMap::new();
    for (Source { location, key, file }, id) in inputs {
        let is_output = match &file {
            Some(file) => files.contains(file),
            None => names.contains(location.name(&key).as_str()),
        };
        if !is_output {
            let place = (location.text().to_owned(), location.path(""));
            doomed.entry(place).or_insert((location, BTreeMap::new())).1.insert(key, id);
        }
    }
    let locked = locked.and_then(|lock| lock.folder().canonicalize().ok());
    let mut locks = Vec::new();
    for folder in doomed.values().filter_map(|(location, _)| location.path("")) {
        if locked.as_ref() != Some(&folder) {
            locks.push(FolderLock::try_lock(&folder).map_err(Error::from)?);
        }
    }
    let order = |(location, keys)| Ok((location, order_of_deletion(location, keys)?));
    let orders = doomed.values().map(|(location, keys)| order((location, keys))).collect::<Result<Vec<_>, Error>>()?;
    let mut deleted = Vec::new();
    for (location, keys) in orders {
        location.delete(&keys, &mut |key| deleted.push(location.name(key)))?;
    }
    Ok(deleted)
}

/// Returns true if a block lies entirely between the given times. Damaged meta is reported later.
fn is_between(arguments: &Arguments, block: &Block) -> bool {
    let ChosenBlocks { min_time, max_time, .. } = &arguments.blocks;
    if min_time.is_none() && max_time.is_none() {
        return true;
    }
    let view: &BlockView<'_> = &block.view();
    let Ok(meta) = view.meta() else { return true };
    let time = meta.window().or(meta.time());
    time.is_some_and(|time| min_time.is_none_or(|min| time.start >= min) && max_time.is_none_or(|max| time.end <= max))
}
