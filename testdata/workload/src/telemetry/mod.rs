//! Telemetry of pods: instrumentation libraries, their metrics, and the points of those.

mod catalogue;
mod dimension;
mod instrument;
mod point;
mod scope;

use dimension::combinations;
pub(crate) use instrument::{Instrument, Kind};
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
pub(crate) use point::{Moment, metric};
use scope::scopes;

use crate::fleet::pod::Pod;
use crate::fleet::service::Service;

const SCHEMA: &str = "https://opentelemetry.io/schemas/1.29.0";

/// Returns the average number of points of a pod of the service.
pub(crate) fn expected_points(service: &Service) -> u64 {
    let profile = service.profile();
    let all = scopes(service, &profile);
    let instruments = all.iter().flat_map(|scope| scope.instruments.iter());
    let combined = instruments.flat_map(|instrument| combinations(&instrument.dimensions, service, &profile));
    combined.map(|combination| combination.per_mille).sum::<u64>() / 1000
}

/// Returns the report of a pod at a moment with at most `most` points, and the number of points.
pub(crate) fn scrape(pod: &Pod<'_>, moment: Moment, most: u64) -> (ResourceMetrics, u64) {
    let (service, profile) = (pod.service, pod.service.profile());
    let mut count = 0;
    let mut scope_metrics = Vec::new();
    for (scope_number, scope) in scopes(service, &profile).into_iter().enumerate() {
        let mut metrics = Vec::new();
        for (number, instrument) in scope.instruments.iter().enumerate() {
            // The points of a pod do not change while it lives.
            let mut random = pod.random(0x1000 + scope_number as u64 * 0x1000 + number as u64);
            let mut points = Vec::new();
            for combination in combinations(&instrument.dimensions, service, &profile) {
                let is_there = random.per_mille(combination.per_mille);
                let value_seed = random.next();
                if is_there && count < most {
                    points.push((combination.attributes, value_seed));
                    count += 1;
                }
            }
            if !points.is_empty() {
                metrics.push(metric(instrument, points, moment));
            }
        }
        if !metrics.is_empty() {
            scope_metrics.push(ScopeMetrics { scope: Some(scope.named()), metrics, schema_url: SCHEMA.to_owned() });
        }
    }
    let resource = Resource { attributes: pod.resource(), ..Resource::default() };
    (ResourceMetrics { resource: Some(resource), scope_metrics, schema_url: SCHEMA.to_owned() }, count)
}
