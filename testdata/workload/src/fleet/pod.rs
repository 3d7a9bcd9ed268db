//! Pods: one slot of a service, from one window to another.

use opentelemetry_proto::tonic::common::v1::KeyValue;

use crate::attribute::{number, text};
use crate::fleet::place::{Cluster, Node, uuid};
use crate::fleet::profile::RESOURCE_KEYS;
use crate::fleet::service::{Language, Service};
use crate::random::{Random, safe_text};

/// A pod of a service.
#[derive(Clone, Debug)]
pub(crate) struct Pod<'f> {
    pub(crate) service: &'f Service,
    pub(crate) cluster: &'f Cluster,
    pub(crate) node: Node,
    /// Its place among the pods of the service.
    pub(crate) slot: u64,
    /// The window in which it was started; 0 if it was there from the start.
    pub(crate) generation: u32,
    /// Since when it runs, in nanoseconds since 1970.
    pub(crate) start_nanos: u64,
    /// Different for all pods of the service: its slot, and how often slots were counted before it.
    pub(crate) serial: u64,
}

impl Pod<'_> {
    /// Numbers for one of its properties.
    pub(crate) fn random(&self, property: u64) -> Random {
        let service = self.service;
        Random::at(&[service.seed, 0x30, service.number, self.slot, u64::from(self.generation), property])
    }

    fn name(&self) -> String {
        let service = self.service;
        if service.is_stateful {
            return format!("{}-{}", service.name, self.slot);
        }
        // Each service has its own start and step. The step is not a multiple of 3, so that pods have distinct names.
        let mut random = service.random(18);
        let (first, step) = (random.below(1 << 40), 3 * random.below(1 << 20) + 1);
        format!("{}-{}", self.replica_set(), safe_text(first + self.serial * step, 5))
    }

    fn replica_set(&self) -> String {
        format!("{}-{}", self.service.name, safe_text(self.service.random(10).below(1 << 40), 9))
    }

    fn uid(&self) -> String {
        uuid(&mut self.random(1))
    }

    fn ip(&self) -> String {
        let address = self.random(2).below(1 << 22);
        format!("10.{}.{}.{}", 64 + (address >> 16), address >> 8 & 0xff, address & 0xff)
    }

    /// Kinds of instance ids that are in use.
    fn instance(&self) -> String {
        match self.service.random(11).below(3) {
            0 => self.uid(),
            1 => self.name(),
            _ => format!("{}:8080", self.ip()),
        }
    }

    /// The attributes of its resource, as the profile of the service reports them.
    pub(crate) fn resource(&self) -> Vec<KeyValue> {
        // A stateful pod has the name of the one before it: its uid tells them apart.
        let is_needed = |key: &str| self.service.is_stateful && key == "k8s.pod.uid";
        let profile = self.service.profile();
        let keys = RESOURCE_KEYS.iter().map(|(key, _)| *key).enumerate();
        keys.filter(|(place, key)| profile.reports(*place) || is_needed(key))
            .filter_map(|(_, key)| self.attribute(key))
            .collect()
    }

    fn attribute(&self, key: &'static str) -> Option<KeyValue> {
        let (service, cluster, node) = (self.service, self.cluster, &self.node);
        let runtime = Runtime::for_language(service.language);
        let value = match key {
            "service.name" | "k8s.container.name" => service.name.clone(),
            "k8s.deployment.name" if !service.is_stateful => service.name.clone(),
            "k8s.replicaset.name" if !service.is_stateful => self.replica_set(),
            "k8s.statefulset.name" if service.is_stateful => service.name.clone(),
            "k8s.deployment.name" | "k8s.replicaset.name" | "k8s.statefulset.name" => return None,
            "service.namespace" | "k8s.namespace.name" => service.domain.to_owned(),
            "service.version" | "container.image.tag" => service.version.clone(),
            "service.instance.id" => self.instance(),
            "deployment.environment.name" => cluster.environment.to_owned(),
            "k8s.cluster.name" => cluster.name.clone(),
            "k8s.cluster.uid" => cluster.uid.clone(),
            "k8s.pod.name" => self.name(),
            "k8s.pod.uid" => self.uid(),
            "k8s.pod.ip" => self.ip(),
            "k8s.pod.start_time" => time_text(self.start_nanos),
            "k8s.node.name" => node.name.clone(),
            "k8s.container.restart_count" => return Some(number(key, self.random(3).skewed(20) - 1)),
            "k8s.pod.label.team" => service.team.to_owned(),
            "k8s.pod.label.tier" => ["frontend", "backend", "data"][(service.number % 3) as usize].to_owned(),
            "k8s.pod.label.part-of" => format!("{}-suite", service.domain),
            "k8s.pod.label.cost-center" => format!("cc-{}", 4100 + service.random(12).below(60)),
            "k8s.pod.label.release" => format!("{}-r{}", service.name, 1 + service.random(13).below(80)),
            "k8s.pod.annotation.build" => {
                format!("ci/{}/{}@{}", service.domain, service.name, service.random(14).hex(40))
            }
            "cloud.provider" => cluster.provider.to_owned(),
            "cloud.platform" => cluster.platform.to_owned(),
            "cloud.account.id" => cluster.account.clone(),
            "cloud.region" => cluster.region.to_owned(),
            "cloud.availability_zone" => node.zone.clone(),
            // Some detectors report the node as host, others the pod.
            "host.name" if service.random(15).percent(60) => node.name.clone(),
            "host.name" => self.name(),
            "host.id" => node.id.clone(),
            "host.arch" => node.arch.to_owned(),
            "host.type" => node.host_type.to_owned(),
            "host.image.id" => node.image.clone(),
            "os.type" => "linux".to_owned(),
            "os.version" => node.os_version.to_owned(),
            "os.description" => node.os_description.to_owned(),
            "container.id" => {
                let len = if service.random(16).percent(35) { 64 } else { 12 };
                self.random(4).hex(len)
            }
            "container.image.name" => format!("registry.example/{}/{}", service.domain, service.name),
            "container.runtime" => "containerd".to_owned(),
            "process.pid" => return Some(number(key, self.random(5).skewed(40))),
            "process.runtime.name" => runtime.name.to_owned(),
            "process.runtime.version" => runtime.version.to_owned(),
            "process.runtime.description" => runtime.description.to_owned(),
            "process.executable.name" => runtime.executable.to_owned(),
            "process.executable.path" => format!("/usr/local/bin/{}", runtime.executable),
            "process.command_line" => format!("{} {}", runtime.executable, command_line(service)),
            "process.owner" => ["app", "nonroot", "1000"][(service.number % 3) as usize].to_owned(),
            "telemetry.sdk.name" => "opentelemetry".to_owned(),
            "telemetry.sdk.language" => runtime.language.to_owned(),
            "telemetry.sdk.version" => runtime.sdk_version.to_owned(),
            "telemetry.distro.name" => format!("{}-distro", runtime.language),
            "telemetry.distro.version" => runtime.distro_version.to_owned(),
            _ => return None,
        };
        Some(text(key, value))
    }
}

fn command_line(service: &Service) -> String {
    let heap = 256 << service.random(17).below(5);
    let (name, domain, version) = (&service.name, service.domain, &service.version);
    format!(
        "-server -Xms{heap}m -Xmx{heap}m -XX:+UseG1GC -XX:MaxGCPauseMillis=200 -XX:+ExitOnOutOfMemoryError \
         -Dservice={domain}/{name} -Dconfig=/etc/{name}/application.yaml -jar /srv/{name}/{name}-{version}.jar"
    )
}

/// Runtime of a language.
struct Runtime {
    language: &'static str,
    sdk_version: &'static str,
    distro_version: &'static str,
    name: &'static str,
    version: &'static str,
    description: &'static str,
    executable: &'static str,
}

impl Runtime {
    fn for_language(language: Language) -> Self {
        let [language, sdk_version, distro_version, name, version, description, executable] = match language {
            Language::Java => [
                "java",
                "1.45.0",
                "2.11.0",
                "OpenJDK Runtime Environment",
                "21.0.5+11-LTS",
                "Eclipse Adoptium OpenJDK 64-Bit Server VM 21.0.5+11-LTS",
                "java",
            ],
            Language::Go => ["go", "1.33.0", "0.19.0", "go", "go1.23.4", "go version go1.23.4 linux/amd64", "server"],
            Language::NodeJs => ["nodejs", "1.30.0", "0.6.0", "nodejs", "22.12.0", "Node.js", "node"],
            Language::Python => {
                ["python", "1.29.0", "0.50b0", "cpython", "3.12.8", "3.12.8 (main, Dec 4 2024)", "gunicorn"]
            }
            Language::Dotnet => ["dotnet", "1.10.0", "1.9.0", ".NET", "9.0.0", ".NET 9.0.0", "dotnet"],
        };
        Self { language, sdk_version, distro_version, name, version, description, executable }
    }
}

/// The second of a time as RFC 3339.
fn time_text(nanos: u64) -> String {
    let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(0);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}
