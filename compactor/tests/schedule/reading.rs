//! Bytes that a schedule reads from an object store.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use chronoxide_compactor::schedule::{Schedule, Sizing};
use chronoxide_locations::{Cache, Location};
use chronoxide_object_server::{BUCKET, Proxy, Server};
use chronoxide_testkit::random::Random;

use crate::scene::Scene;

/// Returns the number of received bytes per key of a block.
fn read_blocks(proxy: &Proxy) -> BTreeMap<String, u64> {
    let mut read = BTreeMap::new();
    for request in proxy.take_requests() {
        let target = request.target.split('?').next().unwrap_or_default();
        let prefix = format!("/{BUCKET}/reading/");
        let key = target.strip_prefix(&prefix).filter(|key| request.method == "GET" && key.ends_with(".cx"));
        if let Some(key) = key {
            *read.entry(key.to_owned()).or_default() += request.received;
        }
    }
    read
}

/// Each block is read once by the job that merges it, and once more by the job that wrote it: written bytes are
/// compared. Workers share no cache.
#[test]
fn jobs_read_inputs_once_and_outputs_of_other_jobs_twice() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let url = format!("s3://{BUCKET}/reading/");
    let location = Location::open_with(&url, &Server::settings(proxy.endpoint())).unwrap();
    let mut scene = Scene::fill(location, crate::support::empty_folder(), 12, &mut Random::new(17));
    let schedule: Schedule = scene.schedule(&Sizing { shards: NonZeroU32::new(3), ..Sizing::default() }).unwrap();
    assert!(schedule.jobs.iter().any(|job| job.stage == 2));
    proxy.forget();
    let (mut output_lens, caches) = (BTreeMap::new(), tempfile::tempdir().unwrap());
    for job in &schedule.jobs {
        scene.cache = Cache::open(caches.path().join(&job.id), 1 << 30).unwrap();
        let record = scene.run(&schedule, job).unwrap().record.unwrap();
        output_lens.extend(record.outputs.into_iter().map(|output| (output.key, output.bytes)));
    }
    let read = read_blocks(&proxy);
    for input in schedule.input_blocks() {
        assert_eq!(read.get(&input.key), Some(&input.bytes), "{}", input.key);
    }
    assert_eq!(read.len(), schedule.input_blocks().count() + output_lens.len());
    let last: Vec<_> = schedule.merges.iter().flat_map(|merge| schedule.last_jobs(merge)).collect();
    for (key, len) in output_lens {
        let is_last = last.iter().any(|job| key.contains(&format!("/jobs/{}/", job.id)));
        let times = if is_last { 1 } else { 2 };
        assert_eq!(read.get(&key), Some(&(times * len)), "{key}");
    }
}
