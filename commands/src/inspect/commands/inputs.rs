//! Blocks and folders that a command queries.

use std::cell::{Cell, OnceCell};
use std::error::Error;
use std::path::{Path, PathBuf};

use chronoxide::{Blocks, Damage, Query};
use chronoxide_inspect::InspectError;
use chronoxide_inspect::report::Input;
use chronoxide_reader::{Block, Checks, Entry, Folder, FolderError, OpenError};
use chronoxide_select::{BlockSet, IndexedBlock, Selector};
use chronoxide_text::escape::TerminalSafe;

use super::arguments::Asked;
use crate::inspect::opened::{check_archive_memory, open_packed_block};
use crate::inspect::remote;
use crate::inspect::{in_file, worse};
use crate::style::Style;
use crate::{Exit, Failure, HasExit, Message, Quiet, is_screen_shared, tell};

/// Open blocks in the order of the arguments; those of a folder are in the order of their ids.
#[derive(Default)]
pub(super) struct Inputs {
    blocks: Vec<Block>,
    /// The blocks, ready for queries.
    queried: OnceCell<Blocks>,
    /// Damage that queries met.
    damaged: Damage,
    /// Files of folders that cannot be read.
    unreadable: Vec<PathBuf>,
    /// True if a folder has blocks that were replaced by a compaction.
    has_replaced: bool,
    /// True if the only argument is a file.
    is_one_file: bool,
    /// Worst exit code of the errors so far.
    exit: Cell<Exit>,
}

impl Inputs {
    /// Checks that standard input is named once at most, and that no path is a selector: without this check, the
    /// command would print all series, and the error would scroll away.
    pub(super) fn check<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<(), Failure> {
        let mut is_stdin_named = false;
        for path in paths {
            if path == Path::new("-") && std::mem::replace(&mut is_stdin_named, true) {
                return Err(Failure::new(Exit::Usage, "standard input can be read only once: name `-` once"));
            }
            if let Some(text) = path.to_str()
                && is_absent(path)
                && Selector::parse_any(text).is_ok()
            {
                let message = format!(
                    "cannot read {}: No such file or directory; to select series, use --match {}",
                    TerminalSafe(text),
                    TerminalSafe(&shell_quoted(text))
                );
                return Err(Failure::new(Exit::Io, message));
            }
        }
        Ok(())
    }

    /// Opens blocks and the live blocks of folders, and decodes the strings of archives: see [`Inputs::unpack`].
    pub(super) fn open<'p>(
        paths: impl IntoIterator<Item = &'p Path>,
        memory_limit: Option<usize>,
        quiet: Quiet,
    ) -> Result<Self, Failure> {
        let mut inputs = [Self::open_packed(paths, quiet)];
        Self::unpack(&mut inputs, memory_limit)?;
        let [inputs] = inputs;
        Ok(inputs)
    }

    /// Decodes the strings of the archives among all inputs of a command, if they fit into a limit together: that of
    /// `--memory-limit`, or half of the memory that the process may use. The length of an archive does not bound that
    /// of its strings. Reports archives that are damaged.
    pub(super) fn unpack(all: &mut [Self], memory_limit: Option<usize>) -> Result<(), Failure> {
        check_archive_memory(all.iter().flat_map(|inputs| &inputs.blocks), memory_limit)?;
        for inputs in all {
            for block in std::mem::take(&mut inputs.blocks) {
                match block.unpack() {
                    Ok(()) => inputs.blocks.push(block),
                    Err(source) => {
                        let path = path_of(&block).to_owned();
                        let error = OpenError::Block { path: path.clone(), source };
                        inputs.report(error.exit(), &error);
                        inputs.unreadable.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens blocks and the live blocks of folders; archives stay packed until [`Inputs::unpack`]. Reports files that
    /// cannot be read; [`Queries::finish`] returns their exit code.
    pub(super) fn open_packed<'p>(paths: impl IntoIterator<Item = &'p Path>, quiet: Quiet) -> Self {
        let mut path_count = 0;
        let mut inputs = Self::default();
        for path in paths {
            path_count += 1;
            let location = crate::location_url(path);
            let is_folder = location.is_some() || (path != Path::new("-") && path.is_dir());
            inputs.is_one_file = path_count == 1 && !is_folder;
            if let Some(url) = location {
                inputs.open_location(url, quiet);
                continue;
            }
            if is_folder {
                inputs.open_folder(path, quiet);
                continue;
            }
            // The checksums are right, so that the output shows what was written.
            match open_packed_block(path, Checks::Eager) {
                Ok(block) => inputs.blocks.push(block),
                Err(error) => inputs.report(error.exit(), &error),
            }
        }
        inputs
    }

    fn open_folder(&mut self, path: &Path, quiet: Quiet) {
        match map_folder(path) {
            Ok(folder) => {
                for (path, error) in folder.unreadable() {
                    self.report(error.exit(), error);
                    self.unreadable.push(path.clone());
                }
                if folder.lineages().is_empty() && folder.unreadable().is_empty() && !quiet.is_set() {
                    let shown = path.display().to_string();
                    let shown = TerminalSafe(&shown);
                    tell(|out| writeln!(out, "chronoxide-inspect: note: {shown}: the folder has no block (*.cx)"));
                }
                self.has_replaced |= !folder.hidden().is_empty();
                self.blocks.extend(folder.into_live().into_iter().map(Entry::into_block));
            }
            Err(error) => self.report(Exit::Io, &error),
        }
    }

    fn open_location(&mut self, url: &str, quiet: Quiet) {
        let (files, unreadable, has_replaced) = match remote::fetch_all(url) {
            Ok(fetched) => fetched,
            Err(error) => return self.report(error.exit(), &error),
        };
        if files.is_empty() && unreadable.is_empty() && !has_replaced && !quiet.is_set() {
            let shown = TerminalSafe(url);
            tell(|out| writeln!(out, "chronoxide-inspect: note: {shown}: the location has no block (*.cx)"));
        }
        for (path, error) in unreadable {
            self.report(error.exit(), &error);
            self.unreadable.push(path);
        }
        self.has_replaced |= has_replaced;
        for (name, file) in files {
            match open_packed_block(&file, Checks::Eager) {
                Ok(block) => self.blocks.push(block.with_path(name)),
                Err(error) => self.report(error.exit(), &error),
            }
        }
    }

    /// Takes one block for queries only.
    pub(super) fn from_blocks(blocks: Blocks) -> Self {
        Self { queried: blocks.into(), is_one_file: true, ..Self::default() }
    }

    /// Starts queries of the series that are asked for: of all series if there are no selectors and times.
    pub(super) fn query(&self, asked: &Asked) -> Result<Queries<'_>, Failure> {
        Ok(Queries {
            inputs: self,
            query: self.selected(&asked.matching.selectors, asked.time()?)?.skip_damaged(&self.damaged),
        })
    }

    /// Returns the blocks whose strings are text, and reports the others: a query may not meet all strings.
    fn blocks_of_text(&self) -> Vec<Block> {
        let mut sound = Vec::with_capacity(self.blocks.len());
        for (path, block) in self.blocks() {
            match block.view().text() {
                Ok(_) => sound.push(block.clone()),
                Err(error) => self.report_damage(path, error.into()),
            }
        }
        sound
    }

    /// Starts a query that ends at damage.
    pub(super) fn selected(
        &self,
        selectors: &[Selector],
        time: Option<(i64, i64)>,
    ) -> Result<Query<'_>, chronoxide::Error> {
        let blocks = self.queried.get_or_init(|| BlockSet::from_blocks(self.blocks_of_text()).into());
        let mut selectors = selectors.iter().map(chronoxide::Selector::from);
        let first = blocks.query(selectors.next().unwrap_or_default())?;
        let query = selectors.try_fold(first, Query::or)?;
        Ok(match time {
            Some((start, end)) => query.between(start, end),
            None => query,
        })
    }

    /// Returns the blocks as one input of a report.
    pub(super) fn reported(&self, name: impl Into<String>) -> Input {
        let skipped = self.unreadable.iter().map(|path| path.display().to_string()).collect();
        Input {
            name: name.into(),
            is_folder: !self.is_one_file,
            skipped,
            is_whole: self.unreadable.is_empty() && !self.has_replaced,
            blocks: self.blocks.iter().cloned().map(IndexedBlock::new).collect(),
        }
    }

    /// Returns the blocks with their paths.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (&Path, &Block)> {
        self.blocks.iter().map(|block| (path_of(block), block))
    }

    /// Returns the paths of the blocks.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.blocks().map(|(path, _)| path)
    }

    /// Returns the files of folders that cannot be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &Path> {
        self.unreadable.iter().map(PathBuf::as_path)
    }

    /// Returns true if a folder has blocks that were replaced by a compaction.
    pub(super) fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    /// Returns the worst exit code of the errors so far.
    pub(super) fn exit(&self) -> Exit {
        self.exit.get()
    }

    /// Returns true if the only argument is a file, so that refs of series have a meaning.
    pub(super) fn is_one_file(&self) -> bool {
        self.is_one_file
    }

    /// Repeats on a terminal that some blocks are missing: the output may have pushed their errors off the screen.
    fn tell_scrolled(&self, has_failed: bool) {
        if self.exit.get() != Exit::Ok && !has_failed && is_screen_shared() {
            let prefix = Style::stderr().bad("error:");
            tell(|out| writeln!(out, "chronoxide-inspect: {prefix} some inputs are missing here: see above"));
        }
    }

    pub(super) fn report_damage(&self, path: &Path, error: InspectError) {
        let failure = in_file(path)(error);
        self.report(failure.exit(), failure.error());
    }

    fn report(&self, exit: Exit, error: &(dyn Error + 'static)) {
        let prefix = Style::stderr().bad("error:");
        tell(|out| writeln!(out, "chronoxide-inspect: {prefix} {}", Message(error)));
        self.exit.set(worse(self.exit.get(), exit));
    }
}

/// Returns true if a path is neither standard input nor a URL, and there is no such file.
pub(super) fn is_absent(path: &Path) -> bool {
    path != Path::new("-") && crate::url(path).is_none() && path.symlink_metadata().is_err()
}

/// Returns a word of the shell.
fn shell_quoted(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns the path, the URL, or `-` of a block.
fn path_of(block: &Block) -> &Path {
    block.path().unwrap_or(Path::new("-"))
}

/// Queries of the inputs. Damaged blocks are left out, and reported at the end.
pub(super) struct Queries<'a> {
    inputs: &'a Inputs,
    pub(super) query: Query<'a>,
}

impl Queries<'_> {
    /// Returns true if no block could be read, because of errors.
    pub(super) fn has_failed(&self) -> bool {
        self.lacks_blocks() && self.inputs.damaged.len() >= self.query.blocks().len()
    }

    /// Returns true if a block could not be read.
    pub(super) fn lacks_blocks(&self) -> bool {
        !self.inputs.damaged.is_empty() || self.inputs.exit.get() != Exit::Ok
    }

    /// Returns the names of the labels of all series.
    pub(super) fn all_names(&self) -> Result<Vec<&str>, chronoxide::Error> {
        self.query.blocks().query("{}")?.skip_damaged(&self.inputs.damaged).label_names()
    }

    /// Returns true if a series has a label. True, too, if that cannot be read.
    pub(super) fn has_label(&self, name: &str) -> Result<bool, chronoxide::Error> {
        let all = self.query.blocks().query("{}")?.max_strings(1);
        match all.label_values(name) {
            Ok(values) => Ok(!values.is_empty()),
            Err(error) if error.kind() == chronoxide::ErrorKind::Corrupt => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reports the error of a damaged block, unless queries met it.
    pub(super) fn report(&self, error: &chronoxide::Error) {
        if !self.inputs.damaged.errors().iter().any(|known| known.path() == error.path()) {
            self.inputs.report(error.exit(), error);
        }
    }

    /// Reports the damage that queries met. Returns the worst exit code of all errors.
    pub(super) fn finish(self) -> Exit {
        let has_failed = self.has_failed();
        for damage in self.inputs.damaged.errors() {
            self.inputs.report(damage.exit(), &damage);
        }
        self.inputs.tell_scrolled(has_failed);
        self.inputs.exit.get()
    }
}

fn map_folder(path: &Path) -> Result<Folder, FolderError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // The documentation of the format forbids changing a block in place.
    unsafe { Folder::map_packed(path, Checks::Eager) }
}
