//! Check of the external labels of blocks before a run.

use std::collections::BTreeMap;
use std::fs::File;

use chronoxide_ingest::prometheus::tsdb::{TsdbFiles, TsdbMeta, is_block};

use crate::ingest::inputs::Input;
use crate::ingest::summary::shown;
use crate::{Exit, Failure};

/// Refuses inputs for one block whose external labels differ, before hours of reading them. Labels of the option win
/// over those of a block. Blocks that cannot be read are left to the run.
pub(crate) fn refuse_different(
    inputs: &[Input],
    option: &[(String, String)],
    ignores_deletions: bool,
) -> Result<(), Failure> {
    let mut first: Option<(&Input, BTreeMap<String, String>)> = None;
    for input in inputs {
        let meta = match &input.bucket_block {
            Some(block) => block.meta.clone(),
            None if is_block(&input.path) => meta(input, ignores_deletions),
            None => None,
        };
        let Some(meta) = meta.and_then(|meta| TsdbMeta::parse(Some(&meta)).ok()) else { continue };
        let mut labels: BTreeMap<String, String> =
            meta.external_labels().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        labels.extend(option.iter().cloned());
        labels.retain(|_, value| !value.is_empty());
        match &first {
            None => first = Some((input, labels)),
            Some((_, known)) if *known == labels => {}
            Some((other, known)) => {
                let message = format!(
                    "{} has the external labels {}, and {} has {}: one block cannot have both; write several blocks \
                     to a folder (--output DIR/), or set labels with --external-label",
                    shown(&other.path.display().to_string()),
                    text(known),
                    shown(&input.path.display().to_string()),
                    text(&labels)
                );
                return Err(Failure::new(Exit::Usage, message));
            }
        }
    }
    Ok(())
}

/// Returns the content of `meta.json` of a block that the run will read.
fn meta(input: &Input, ignores_deletions: bool) -> Option<Vec<u8>> {
    let TsdbFiles { meta, has_deletion_mark, .. } = TsdbFiles::<File>::in_folder(&input.path).ok()?;
    meta.filter(|_| ignores_deletions || !has_deletion_mark)
}

fn text(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    shown(&format!("{{{}}}", pairs.join(", ")))
}
