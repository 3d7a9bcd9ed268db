//! Merges named files into a file, or into a folder.

use std::path::{Path, PathBuf};

use chronoxide_compactor::job::JobFolder;
use chronoxide_compactor::{CompactOptions, Compaction};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, FolderLock, make_folder, recover};
use chronoxide_reader::Block;
use chronoxide_text::escape::TerminalSafe;

use crate::compact::arguments::Arguments;
use crate::compact::blocks;
use crate::compact::claims::Claims;
use crate::compact::deletion;
use crate::compact::failure::{Error, usage};
use crate::compact::progress::Bar;
use crate::compact::report::{Report, Written};
use crate::{Exit, Failure, Upload, existing, is_folder_or_location, location_url, tell, url, warn_of_block_extension};

pub(crate) fn compact(arguments: &Arguments, bar: &Bar) -> Result<Exit, Failure> {
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
    if arguments.dry_run {
        return Err(usage("--dry-run needs a folder: named files are merged as given"));
    }
    let Some(output) = &arguments.output else {
        // A capture needs another command rather than another option.
        for input in arguments.inputs.iter().filter(|input| url(input).is_none()) {
            blocks::map(input)?;
        }
        return Err(usage("missing --output: the block to write, or a folder for several"));
    };
    if arguments.delete_inputs && arguments.inputs.iter().chain([output]).any(|path| url(path).is_some()) {
        return Err(usage(
            "--delete-inputs needs files of this machine; compact a whole location instead (s3://BUCKET/PREFIX/)",
        ));
    }
    warn_of_block_extension("chronoxide-compact", output);
    let upload = Upload::begin(output, arguments.force)?;
    let is_folder = is_folder_or_location(output);
    let local = upload.as_ref().map(Upload::path);
    let output = local.as_ref().unwrap_or(output);
    if arguments.delete_inputs && arguments.shard.is_some() {
        return Err(usage("--delete-inputs conflicts with --shard: the other shards need the inputs"));
    }
    if is_folder && arguments.force {
        return Err(usage(
            "--force needs a file as output: blocks in a folder are named after their ids and never replaced",
        ));
    }
    if arguments.delete_inputs {
        deletion::check(&arguments.inputs)?;
    }
    let existing = if is_folder { None } else { Some(existing(output, arguments.force)?) };
    arguments.make_remaps_folder()?;
    // Locked before the inputs are opened, so that no other job deletes them meanwhile.
    let mut lock = if is_folder && output.is_dir() { Some(lock(output)?) } else { None };

    let opened = (arguments.inputs.iter())
        .map(|path| Ok((path.as_path(), blocks::map(&blocks::fetch(path)?)?)))
        .collect::<Result<Vec<(&Path, Block)>, Error>>()?;
    let (chosen, others): (Vec<_>, Vec<_>) = opened.into_iter().partition(|(_, block)| is_between(arguments, block));
    for (path, _) in others.iter().filter(|_| !arguments.quiet.is_set()) {
        let path = path.display().to_string();
        tell(|out| {
            writeln!(out, "chronoxide-compact: {}: skipped: not between --min-time and --max-time", TerminalSafe(&path))
        });
    }
    if chosen.is_empty() {
        return Err(usage("no block lies between --min-time and --max-time"));
    }
    let options = CompactOptions { keeps_inputs: !arguments.delete_inputs, ..arguments.options() };
    let remaps = arguments.remaps.as_deref();
    blocks::unpack(&chosen, &options, remaps)?;
    let paths: Vec<&Path> = chosen.iter().map(|(path, _)| *path).collect();
    let views: Vec<BlockView<'_>> = chosen.iter().map(|(_, block)| *block.view()).collect();
    let compaction = Compaction { remaps, observer: bar, ..Compaction::new(&views, &options) };
    let bytes_in = views.iter().map(|view| view.bytes().len() as u64).sum();
    let named = |error| Error::named(error, &paths);

    let folder = if is_folder { Some(output.as_path()) } else { output.parent() };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let survey = if folder.is_dir() { Some(blocks::map_folder(folder).map_err(Error::from)?) } else { None };
    let claims = Claims::new(survey.as_ref(), blocks::proof(&options, bar));
    let verify = |path: &Path| claims.verify(path);
    let (summary, outputs) = match existing {
        Some(existing) => {
            let (summary, published) = compaction.merge_to_file(output, existing, &verify).map_err(named)?;
            (summary, vec![Written { path: published.path, bytes: published.byte_len, is_new: true }])
        }
        None => {
            if lock.is_none() {
                make_folder(&Disk, output).map_err(|error| Failure::new(Exit::Io, error))?;
                lock = Some(self::lock(output)?);
            }
            let Some(lock) = &lock else { return Err(usage("the folder cannot be locked")) };
            let folder = JobFolder { system: &Disk, lock, verify: &verify, survey: &blocks::map_folder };
            let (summary, done) = compaction.merge_to_folder(&folder, None).map_err(named)?;
            (summary, done.outputs.into_iter().map(Written::from).collect())
        }
    };
    let outputs = match &upload {
        None => outputs,
        Some(upload) => {
            let uploaded = |written: Written| {
                bar.show_upload(written.bytes);
                let (path, is_new) = upload.create(&written.path)?;
                Ok(Written { path, is_new, ..written })
            };
            outputs.into_iter().map(uploaded).collect::<Result<Vec<Written>, Failure>>()?
        }
    };
    let deleted = if arguments.delete_inputs {
        let outputs: Vec<&Path> = outputs.iter().map(|output| output.path.as_path()).collect();
        deletion::delete(&chosen, &outputs, lock.as_ref().map(FolderLock::folder))?
    } else {
        Vec::new()
    };
    let report = Report { inputs: paths.len(), bytes_in, summary, outputs, deleted };
    bar.pause(|| report.show(arguments))?;
    Ok(Exit::Ok)
}

fn lock(folder: &Path) -> Result<FolderLock, Failure> {
    let lock = FolderLock::try_lock(folder).map_err(Error::from)?;
    recover(&Disk, folder)?;
    Ok(lock)
}

/// Returns true if a block lies entirely between the given times. Damaged meta is reported later.
fn is_between(arguments: &Arguments, block: &Block) -> bool {
    let Arguments { min_time, max_time, .. } = arguments;
    if min_time.is_none() && max_time.is_none() {
        return true;
    }
    let view = block.view();
    let Ok(meta) = view.meta() else { return true };
    let time = meta.window().or(meta.time());
    time.is_some_and(|time| min_time.is_none_or(|min| time.start >= min) && max_time.is_none_or(|max| time.end <= max))
}
