//! Sets that are hard on a format: each lacks something that real fleets have.
//!
//! A series is a slot here, as a pod is in a fleet, and is replaced likewise.

use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::attribute::{number, text};
use crate::fleet::plan::generation;
use crate::options::{Options, Set};
use crate::random::Random;
use crate::telemetry::{Instrument, Kind, Moment, metric};

/// Number of keysets of the set of tiny keysets: combinations of two of 200 keys.
const TINY_KEYSETS: u64 = 10_000;

/// Number of labels of the wide set, with `__name__` and two labels of the scope.
const WIDE_LABELS: u64 = 500;

/// Number of these labels that are attributes of the resource.
const WIDE_RESOURCE_LABELS: u64 = 300;

/// Number of values of each label of the independent set.
const INDEPENDENT_VALUES: [u64; 20] = [2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 50, 64, 100, 128, 200, 500, 1000];

static SENT: Instrument = Instrument::new("adversary.sent", "1", "Counts what an adversary sends.", Kind::Counter, &[]);

/// Returns the number of points per request.
pub(crate) fn batch_len(set: Set) -> u64 {
    // A wide point is as large as twenty others.
    if set == Set::Wide { 25 } else { 500 }
}

/// The points of some slots.
pub(crate) fn batch(options: &Options, slots: std::ops::Range<u64>, window: u32, moment: Moment) -> ResourceMetrics {
    let (set, seed) = (options.set, options.seed);
    let point = |slot: u64| {
        let generation = generation(&[seed, 0x60, slot], window, options.churn);
        let attributes = attributes(set, seed, slot, generation);
        (attributes, Random::at(&[seed, 0x61, slot, u64::from(generation)]).next())
    };
    let resource = resource(set, seed, slots.start / batch_len(set));
    let metric = metric(&SENT, slots.map(point).collect(), moment);
    let scope = InstrumentationScope {
        name: "example.adversary".to_owned(),
        version: "1.0.0".to_owned(),
        ..InstrumentationScope::default()
    };
    ResourceMetrics {
        resource: Some(Resource { attributes: resource, ..Resource::default() }),
        scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics: vec![metric], schema_url: String::new() }],
        schema_url: String::new(),
    }
}

fn resource(set: Set, seed: u64, batch: u64) -> Vec<KeyValue> {
    let mut random = Random::at(&[seed, 0x62, batch]);
    match set {
        Set::UniqueLabel => vec![
            text("service.name", "adversary"),
            text("service.instance.id", format!("adversary-{batch}")),
            text("cloud.region", "eu-west-1"),
        ],
        Set::Wide => {
            let value = |place: u64| {
                // Half are the same everywhere.
                let value = if place.is_multiple_of(2) { 0 } else { random.below(40) };
                text(&format!("resource.attribute.{place:03}"), format!("value-{value}"))
            };
            (0..WIDE_RESOURCE_LABELS).map(value).collect()
        }
        Set::Otlp | Set::TinyKeysets | Set::Independent => Vec::new(),
    }
}

fn attributes(set: Set, seed: u64, slot: u64, generation: u32) -> Vec<KeyValue> {
    let mut random = Random::at(&[seed, 0x63, slot, u64::from(generation)]);
    match set {
        Set::UniqueLabel => {
            // The slot and the window make it unique, the rest makes it look like any id.
            let id = format!("{slot:010x}{generation:08x}{}", random.hex(14));
            vec![text("request.id", id), text("worker", format!("worker-{}", random.below(16)))]
        }
        Set::TinyKeysets => {
            let keyset = slot % TINY_KEYSETS;
            let value = format!("{}.{generation}", slot / TINY_KEYSETS);
            vec![
                text(&format!("left.{}", keyset / 100), value),
                text(&format!("right.{}", keyset % 100), format!("value-{}", random.below(8))),
            ]
        }
        Set::Wide => {
            let mut attributes = vec![text("slot", format!("{slot}.{generation}"))];
            let rest = WIDE_LABELS - WIDE_RESOURCE_LABELS - 4;
            attributes.extend((0..rest).map(|place| {
                text(&format!("point.attribute.{place:03}"), format!("value-{}", random.below(1 + place)))
            }));
            attributes
        }
        Set::Otlp | Set::Independent => {
            let values = INDEPENDENT_VALUES.iter().enumerate();
            let value = |(place, &count): (usize, &u64)| {
                let value = random.below(count);
                let key = format!("column.{place:02}");
                // Numbers where there are many values: their texts have different lengths.
                if count >= 500 { number(&key, value) } else { text(&key, format!("value-{value}")) }
            };
            values.map(value).collect()
        }
    }
}
