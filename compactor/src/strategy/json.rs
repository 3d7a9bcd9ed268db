//! Serializes a strategy as JSON.

use chronoxide_format::view::{ReadOnly, TimeRange};
use chronoxide_text::human::time;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Value, json};

use super::{Description, Group, GroupReason, Strategy, Unmerged, UnmergedReason};

/// `{"blocks": ..., "blocks_after": ..., "groups": [...], "unmerged": [...]}`. A group has a `reason`,
/// `series_at_most`, `bytes` and `blocks`; an unmerged block has a `reason` and its description. A reason has a `kind`.
/// Times are RFC 3339; unknown values are `null`.
impl Serialize for Strategy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut strategy = serializer.serialize_struct("Strategy", 4)?;
        strategy.serialize_field("blocks", &self.blocks())?;
        strategy.serialize_field("blocks_after", &self.blocks_after())?;
        strategy.serialize_field("groups", &self.groups.iter().map(group).collect::<Vec<_>>())?;
        strategy.serialize_field("unmerged", &self.unmerged.iter().map(unmerged).collect::<Vec<_>>())?;
        strategy.end()
    }
}

fn group(group: &Group<'_>) -> Value {
    let reason = match group.reason {
        GroupReason::Range { range, length } => {
            json!({"kind": "range", "length": length.to_string(), "range": times(range)})
        }
        GroupReason::Filling { range, length } => {
            json!({"kind": "filling", "length": length.to_string(), "range": times(range)})
        }
        GroupReason::LikeSize => json!({"kind": "like-size"}),
    };
    json!({
        "reason": reason,
        "series_at_most": group.series(),
        "bytes": group.bytes(),
        "blocks": group.blocks.iter().copied().map(block).collect::<Vec<_>>(),
    })
}

fn unmerged(unmerged: &Unmerged<'_>) -> Value {
    let reason = match unmerged.reason {
        UnmergedReason::Copy { of } => json!({"kind": "copy", "of": of.display().to_string()}),
        UnmergedReason::ReadOnly { reason: ReadOnly::Features { bits } } => {
            json!({"kind": "read-only", "ro_compat": bits})
        }
        UnmergedReason::ReadOnly { reason: ReadOnly::Section { kind } } => {
            json!({"kind": "read-only", "section": kind})
        }
        UnmergedReason::OutsideTimes => json!({"kind": "outside-times"}),
        UnmergedReason::NoTimes => json!({"kind": "no-times"}),
        UnmergedReason::Only => json!({"kind": "only"}),
        UnmergedReason::Siblings => json!({"kind": "siblings"}),
        UnmergedReason::Open { range, length } => {
            json!({"kind": "open", "length": length.to_string(), "range": times(range)})
        }
        UnmergedReason::TooManySeries { range, length } => {
            json!({"kind": "too-many-series", "length": length.to_string(), "range": times(range)})
        }
        UnmergedReason::OverBoundary => json!({"kind": "over-boundary"}),
        UnmergedReason::FewAlike => json!({"kind": "few-alike"}),
    };
    json!({"reason": reason, "block": block(unmerged.block)})
}

fn block(block: &Description) -> Value {
    let labels: Map<String, Value> =
        block.external_labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    json!({
        "file": block.file.display().to_string(),
        "id": block.id.to_string(),
        "bytes": block.bytes,
        "series": block.series,
        "time": block.time.map(times),
        "window": block.window.map(times),
        "external_labels": labels,
        "max_name_len": block.policy.max_name_len(),
        "max_value_len": block.policy.max_value_len(),
        "layout": block.layout.name(),
    })
}

/// Returns a time range as JSON: `{"start": ..., "end": ...}` in RFC 3339. The end is exclusive.
#[must_use]
pub fn times(range: TimeRange) -> Value {
    json!({"start": time(range.start), "end": time(range.end)})
}
