//! Worker processes that are killed at random moments: readers see each series throughout, and the schedule ends.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use chronoxide_compactor::schedule::Schedule;
use chronoxide_locations::Location;
use chronoxide_object_server::{BUCKET, Server};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;

use crate::scene::Scene;

/// Sets the seed of the moments.
const SEED: &str = "CHRONOXIDE_KILL_SEED";

/// Location, schedule and cache folders of two machines.
struct Fleet {
    scene: Scene,
    settings: Vec<(String, String)>,
    url: String,
    folder: tempfile::TempDir,
}

impl Fleet {
    fn new(server: &Server, number: usize, random: &mut Random) -> Self {
        let settings = Server::settings(server.endpoint());
        let url = format!("s3://{BUCKET}/fleet-{number}/");
        let location = Location::open_with(&url, &settings).unwrap();
        let scene = Scene::fill(location, crate::support::empty_folder(), 6, random);
        Self { scene, settings, url, folder: crate::support::empty_folder() }
    }

    fn start(&self, machine: usize, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.env("CHRONOXIDE_CACHE", self.folder.path().join(format!("cache-{machine}")));
        command.args(arguments).spawn().unwrap()
    }

    fn run(&self, arguments: &[&str]) {
        let status = self.start(0, arguments).wait().unwrap();
        assert!(status.success(), "{arguments:?}: {status}");
    }

    /// Starts a command on each of some machines, and kills each at a moment within `span` seconds. Returns the number
    /// of killed ones.
    fn kill(&self, machines: usize, arguments: &[&str], span: f64, random: &mut Random) -> usize {
        let mut children: Vec<Child> = (0..machines).map(|machine| self.start(machine, arguments)).collect();
        let mut killed = 0;
        for child in &mut children {
            sleep(Duration::from_secs_f64(span * random.below(1000) as f64 / 1000.0));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            // A process that a signal ended has no exit code.
            assert!(status.success() || status.code().is_none(), "{arguments:?}: {status}");
            killed += usize::from(!status.success());
        }
        killed
    }

    /// Kills a command until all its processes end before they are killed. Returns the number of kills.
    fn kill_until_done(&self, machines: usize, arguments: &[&str], case: &str, random: &mut Random) -> usize {
        let (mut span, mut killed) = (0.05, 0);
        loop {
            let now = self.kill(machines, arguments, span, random);
            self.scene.assert_seen(&format!("{case}, {arguments:?}, {killed} kills"));
            if now == 0 {
                return killed;
            }
            killed += now;
            span *= 1.15;
        }
    }
}

/// Returns the numbers of killed workers and killed commits.
fn kill_at_random(count: usize) -> [usize; 2] {
    let seed =
        std::env::var(SEED).map_or(std::process::id().into(), |seed| seed.parse().expect("the seed is a number"));
    println!("{SEED}={seed}");
    let random = &mut Random::new(seed);
    let server = Server::s3s().unwrap();
    let mut killed = [0, 0];
    for number in 0.. {
        if killed.iter().sum::<usize>() >= count {
            break;
        }
        let case = format!("{SEED}={seed}, location {number}");
        let fleet = Fleet::new(&server, number, random);
        let file = fleet.folder.path().join("schedule.json");
        let path = file.to_str().unwrap();
        fleet.run(&["schedule", &fleet.url, "--shards", "2", "--ranges", "4h,12h", "-o", path]);
        killed[0] += fleet.kill_until_done(2, &["run", "--schedule", path, "--all", "--parallel", "2"], &case, random);
        let commit = ["commit", "--schedule", path, "--delete-inputs", "--grace", "0s"];
        killed[1] += fleet.kill_until_done(1, &commit, &case, random);
        fleet.run(&["clean", &fleet.url, "--grace", "0s"]);
        fleet.scene.assert_seen(&case);
        let schedule = read(&file);
        let keys = fleet.scene.keys();
        assert!(schedule.input_blocks().all(|input| !keys.contains(&input.key)), "{case}: {keys:?}");
        assert!(keys.iter().all(|key| !key.contains('/')), "{case}: {keys:?}");
    }
    println!("{killed:?} kills");
    killed
}

fn read(schedule: &Path) -> Schedule {
    Schedule::parse(&std::fs::read(schedule).unwrap()).unwrap()
}

#[test]
fn workers_killed_at_random_moments_lose_nothing() {
    let [workers, commits] = kill_at_random(sweep::cases(8, 2_000));
    let [least_workers, least_commits] = sweep::cases([3, 1], [500, 100]);
    assert!(workers >= least_workers && commits >= least_commits, "{workers} workers, {commits} commits");
}
