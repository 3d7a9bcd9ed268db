//! `chronoxide-ingest`: captures to a block.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`arguments`] | what the command understands |
//! | [`summary`] | what was done, for people and for programs |

mod arguments;
mod summary;

use arguments::Arguments;
use chronoxide_cli::{Exit, Failure, existing, publish_block, run};
use chronoxide_format::build::BlockMeta;
use chronoxide_format::view::TimeRange;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{IngestError, Job, JobOptions};
use chronoxide_labels::SealError;
use std::process::ExitCode;
use summary::Summary;

fn main() -> ExitCode {
    run(ingest)
}

fn ingest(arguments: Arguments) -> Result<Exit, Failure> {
    let user_pairs = arguments::sorted("--user-pair", arguments.user_pairs)?;
    let external_labels = arguments::sorted("--external-label", arguments.external_labels)?;
    let existing = existing(&arguments.output, arguments.force)?;

    let options = JobOptions {
        format: arguments.format.format(),
        max_record_len: arguments.max_record_size,
        skip_broken_records: arguments.skip_bad_records,
        ..JobOptions::default()
    };
    let policy = options.policy;
    let mut job = Job::new(options);
    for input in &arguments.inputs {
        Source::open(input).and_then(|source| job.read(source)).map_err(failure)?;
    }
    let (store, report) = job.finish();

    // The last point is in the range, and its end is not.
    let time = report.time.map(|(first, last)| TimeRange { start: first, end: last.saturating_add(1) });
    let meta = BlockMeta { time, external_labels, user_pairs, policy, ..BlockMeta::default() };
    let sealed = store.seal(arguments.layout.into(), &meta).map_err(seal_failure)?;
    let published = publish_block(&arguments.output, existing, &sealed.block)?;

    let exit = if report.is_partial(arguments.strict) { Exit::Partial } else { Exit::Ok };
    let summary = Summary::new(&arguments.output, published.byte_len, &sealed.block, report)?;
    if arguments.json {
        summary.print_json()?;
    } else {
        summary.tell();
    }
    summary.warn();
    Ok(exit)
}

/// An error of a run with its exit code.
fn failure(error: IngestError) -> Failure {
    let exit = match error {
        IngestError::Open { .. } | IngestError::Read { .. } => Exit::Io,
        IngestError::UnknownFormat { .. } | IngestError::Labels(_) => Exit::Unsupported,
        _ => Exit::Corrupt,
    };
    Failure::new(exit, error)
}

/// An error of the seal with its exit code: what the arguments say is checked by the builder, and the rest are counts.
fn seal_failure(error: SealError) -> Failure {
    use chronoxide_format::build::BuildError::{MetaLen, MetaOrder};
    let exit = match error {
        SealError::Build(MetaOrder { .. } | MetaLen { .. }) => Exit::Usage,
        _ => Exit::Unsupported,
    };
    Failure::new(exit, error)
}
