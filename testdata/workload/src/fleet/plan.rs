//! Numbers of services and pods of a fleet, and the order in which pods report.

use std::ops::Range;

use crate::fleet::place::Cluster;
use crate::fleet::pod::Pod;
use crate::fleet::service::Service;
use crate::options::Options;
use crate::random::Random;
use crate::telemetry::expected_points;

/// About how many series a pod has: only the size of the largest service rests on it.
const SERIES_PER_POD: u64 = 150;

/// Number of pods per node.
const PODS_PER_NODE: u64 = 20;

/// Number of pods per cluster.
const PODS_PER_CLUSTER: u64 = 1200;

/// Services, and the clusters in which their pods run. It grows with services, by some 200 bytes each.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    seed: u64,
    services: Vec<Service>,
    /// The number of pods before those of each service, and that of all pods.
    first_pods: Vec<u64>,
    clusters: Vec<Cluster>,
    nodes_per_cluster: u64,
    /// Neighbours in the order of reports are so far apart.
    step: u64,
}

impl Fleet {
    /// A fleet with a few more series than asked for: which points a pod has is known only when it is looked at, and
    /// readers of the stream stop when they have enough.
    pub(crate) fn new(options: &Options) -> Self {
        let seed = options.seed;
        let wanted = options.series + options.series / 50 + 1000;
        let most_pods = (options.series / SERIES_PER_POD / 16).max(4);
        let (mut services, mut first_pods) = (Vec::new(), vec![0]);
        let (mut pods, mut series) = (0, 0);
        while series < wanted {
            let number = services.len() as u64;
            let service = Service::new(seed, number);
            let per_pod = expected_points(&service).max(1);
            let missing = (wanted - series).div_ceil(per_pod);
            let count = Random::at(&[seed, 0x40, number]).skewed(most_pods).min(missing);
            pods += count;
            series += count * per_pod;
            services.push(service);
            first_pods.push(pods);
        }
        let cluster_count = pods.div_ceil(PODS_PER_CLUSTER) + 1;
        let clusters = (0..cluster_count).map(|number| Cluster::new(seed, number)).collect();
        let nodes_per_cluster = pods.div_ceil(cluster_count * PODS_PER_NODE).max(3);
        Self { seed, services, first_pods, clusters, nodes_per_cluster, step: step_through(pods) }
    }

    /// Returns the number of pods at any time. The last few may exceed the requested number of series.
    pub(crate) fn pod_count(&self) -> u64 {
        self.first_pods.last().copied().unwrap_or(0)
    }

    /// The pod that is at a place of the order of reports during a window.
    pub(crate) fn pod(&self, place: u64, window: u32, options: &Options) -> Option<Pod<'_>> {
        let count = self.pod_count();
        if place >= count {
            return None;
        }
        let number = (u128::from(place) * u128::from(self.step) % u128::from(count)) as u64;
        let after = self.first_pods.partition_point(|&first| first <= number);
        let service = self.services.get(after.checked_sub(1)?)?;
        let first = self.first_pods.get(after - 1).copied()?;
        let slots = self.first_pods.get(after).copied()? - first;
        let slot = number - first;

        let generation = generation(&[self.seed, 0x41, number], window, options.churn);
        let mut random = Random::at(&[self.seed, 0x42, number, u64::from(generation)]);
        let cluster_number = (service.home % 1024 + slot % service.spread) % self.clusters.len() as u64;
        let cluster = self.clusters.get(cluster_number as usize)?;
        let node = cluster.node(random.below(self.nodes_per_cluster));
        let Range { start, .. } = options.window_nanos(generation);
        // Pods of the first window have been there for up to 30 days.
        let age = if generation == 0 { 1 + random.below(30 * 86_400) } else { 0 };
        Some(Pod {
            service,
            cluster,
            node,
            slot,
            generation,
            start_nanos: start - age * 1_000_000_000,
            serial: slot + slots * u64::from(generation),
        })
    }
}

/// The last window up to this one at whose beginning the thing at these coordinates was replaced; 0 if it never was.
pub(crate) fn generation(coordinates: &[u64], window: u32, churn: f64) -> u32 {
    if churn <= 0.0 {
        return 0;
    }
    let place = Random::at(coordinates);
    (1..=window).rev().find(|&window| place.then(u64::from(window)).chance(churn)).unwrap_or(0)
}

/// A step that meets each of `count` things once, and whose neighbours are far apart.
fn step_through(count: u64) -> u64 {
    let golden = (u128::from(count) * 618 / 1000) as u64;
    (golden.max(1)..).find(|&step| greatest_common_divisor(step, count) == 1).unwrap_or(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pod_has_a_place() {
        for count in 1..500 {
            let step = step_through(count);
            let mut seen: Vec<u64> = (0..count).map(|place| place * step % count).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..count), "{count}");
        }
    }

    #[test]
    fn churn_replaces_all_none_or_its_share() {
        let replaced = |churn: f64| (0..10_000).filter(|&number| generation(&[1, number], 7, churn) == 7).count();
        assert_eq!(replaced(0.0), 0);
        assert_eq!(replaced(1.0), 10_000);
        assert!((450..550).contains(&replaced(0.05)), "{}", replaced(0.05));
    }

    #[test]
    fn what_was_replaced_stays() {
        for number in 0..1_000 {
            let generations: Vec<u32> = (0..20).map(|window| generation(&[2, number], window, 0.2)).collect();
            assert!(generations.is_sorted());
            let starts = |window: &u32| generations[*window as usize] == *window;
            let changes = (1..20).filter(|&window| generations[window as usize] != generations[window as usize - 1]);
            assert!(changes.eq((1..20).filter(starts)));
        }
    }
}
