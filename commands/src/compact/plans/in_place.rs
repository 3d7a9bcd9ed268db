//! A location that is compacted at once: a plan, its jobs, and its commit.

use chronoxide_compactor::plan::{
    CommitOptions, PLANS_PREFIX, PlanOptions, Sizing, commit, describe, finish_commits, forget, make_checked, revive,
};
use chronoxide_compactor::strategy::choose;
use chronoxide_store::{Cache, DEFAULT_CACHE_LEN, Listing, Location, Manifest};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::run::Runner;
use super::source::Watch;
use super::{publish, source};
use crate::compact::arguments::Arguments;
use crate::compact::failure::{Error, usage};
use crate::compact::folder::{note_merged, show_strategy};
use crate::{Exit, Failure, Interruption, json_line, print, tell};

/// Finishes what an earlier run was killed in.
fn finish_stopped(arguments: &Arguments, location: &Location, watch: &Watch<'_>) -> Result<Exit, Failure> {
    if location.list(PLANS_PREFIX, true)?.is_empty() {
        return Ok(Exit::Ok);
    }
    let _lock = source::lock(location)?;
    let cache = Cache::from_environment(DEFAULT_CACHE_LEN);
    let limit = arguments.options().memory_limit.unwrap_or(usize::MAX);
    let mut exit = Exit::Ok;
    for committed in finish_commits(&watch.workplace(location, &cache, limit)).map_err(Error::from)? {
        exit = exit.or(source::tell_kept(location, &committed.kept));
        if !arguments.quiet.is_set() {
            let blocks = human::count_of(committed.outputs.len() as u64, "block");
            let inputs = human::count_of(committed.deleted.len() as u64, "input");
            tell(|out| {
                let name = TerminalSafe(location.text());
                writeln!(out, "{name}: finished an earlier run: {blocks} published, {inputs} deleted")
            });
        }
    }
    Ok(exit)
}

/// Compacts the blocks of a URL as those of a folder.
pub(crate) fn compact(arguments: &Arguments, url: &str, interruption: &Interruption) -> Result<Exit, Failure> {
    let options = arguments.options();
    if arguments.output.is_some() || arguments.force || arguments.remaps.is_some() || options.is_rewriting() {
        return Err(usage(
            "a location is merged in place, without --output, --force, --remaps or rewriting; to write elsewhere, name its blocks (s3://BUCKET/NAME.cx)",
        ));
    }
    if options.shards.is_some() {
        return Err(usage("--shards and --shard need named blocks; `plan --shards N` splits the merges of a location"));
    }
    let location = source::open(url)?;
    let watch = Watch(interruption);
    let finished = if arguments.dry_run { Exit::Ok } else { finish_stopped(arguments, &location, &watch)? };
    let mut listing = Listing::read(&location)?;
    let exit = finished.or(source::warn_of_unreadable(&listing, ""));
    if !arguments.json && !arguments.quiet.is_set() {
        note_merged(listing.hidden.iter().map(|hidden| hidden.reason), "");
    }
    let plan_options = PlanOptions::new(&options, "__name__");
    let strategy_options = arguments.strategy_options();
    if arguments.dry_run {
        show_strategy(&choose(&describe(&listing, &plan_options), &strategy_options), arguments.json)?;
        return Ok(exit);
    }
    let made = make_checked(&location, &mut listing, &plan_options, &strategy_options, &Sizing::default());
    let (plan, contradicted) = made.map_err(Error::from)?;
    if !contradicted.is_empty() {
        Manifest::from_listing(&listing).write(&location)?;
        source::warn_of_manifest(&location, &contradicted, "the manifest was written anew");
    }
    if plan.jobs.is_empty() {
        if arguments.json {
            print(|out| json_line(out, &serde_json::json!({ "plan": plan.id, "merges": 0 })))?;
        } else if !arguments.quiet.is_set() {
            tell(|out| writeln!(out, "{url}: nothing to do: no blocks are due for a merge"));
        }
        return Ok(exit);
    }
    let _lock = source::lock(&location)?;
    source::recover_all(&location)?;
    revive(&plan, &location).map_err(Error::from)?;
    let cache = Cache::from_environment(DEFAULT_CACHE_LEN);
    let jobs: Vec<_> = plan.jobs.iter().collect();
    let runner = Runner {
        plan: &plan,
        location: location.clone(),
        cache: cache.clone(),
        is_quiet: true,
        is_json: false,
        interruption,
        memory_limit: options.memory_limit.unwrap_or(usize::MAX),
        threads: rayon::current_num_threads(),
    };
    let done = runner.run_all(&jobs, 1);
    if done != Exit::Ok {
        return Ok(done);
    }
    let options = CommitOptions { delete_inputs: arguments.delete_inputs, grace_seconds: 0 };
    let place = watch.workplace(&location, &cache, runner.memory_limit);
    let committed = commit(&plan, &place, options).map_err(Error::from)?;
    if committed.is_final() {
        forget(&plan, &location).map_err(Error::from)?;
    }
    publish::show(&plan, &committed, arguments.json, arguments.quiet)?;
    Ok(exit.or(source::tell_kept(&location, &committed.kept)))
}
