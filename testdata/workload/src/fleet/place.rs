//! Places of pods: clusters in regions of clouds, nodes in their zones.

use crate::random::{Random, safe_text};

/// A cloud: its name, its platform for Kubernetes, its regions, and the types of its hosts.
type Cloud = (&'static str, &'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const CLOUDS: [Cloud; 3] = [
    (
        "aws",
        "aws_eks",
        &["eu-west-1", "eu-central-1", "us-east-1", "us-west-2", "ap-southeast-1"],
        &[("m6i.2xlarge", "amd64"), ("m7g.4xlarge", "arm64"), ("r6i.4xlarge", "amd64")],
    ),
    (
        "gcp",
        "gcp_kubernetes_engine",
        &["europe-west4", "us-central1", "asia-northeast1"],
        &[("n2-standard-16", "amd64"), ("t2a-standard-8", "arm64")],
    ),
    (
        "azure",
        "azure_aks",
        &["westeurope", "northeurope", "eastus2"],
        &[("Standard_D8s_v5", "amd64"), ("Standard_E16s_v5", "amd64")],
    ),
];

const ENVIRONMENTS: [&str; 6] = ["production", "production", "production", "production", "staging", "development"];

/// A cluster: everything in it has these attributes.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) environment: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) platform: &'static str,
    pub(crate) region: &'static str,
    pub(crate) account: String,
    hosts: &'static [(&'static str, &'static str)],
    number: u64,
    seed: u64,
}

/// A node, which is in one zone of its cluster's region.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) zone: String,
    pub(crate) host_type: &'static str,
    pub(crate) arch: &'static str,
    pub(crate) image: String,
    pub(crate) os_version: &'static str,
    pub(crate) os_description: &'static str,
}

impl Cluster {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::at(&[seed, 0x10, number]);
        // Most fleets are in the first cloud.
        let cloud = random.index(CLOUDS.len()).min(random.index(CLOUDS.len()));
        let (provider, platform, regions, hosts) = CLOUDS[cloud];
        let region = random.pick(regions);
        let environment = ENVIRONMENTS[(number % 6) as usize];
        let short = environment.get(..4).unwrap_or(environment);
        Self {
            name: format!("{short}-{region}-{}", number + 1),
            uid: uuid(&mut random),
            environment,
            provider,
            platform,
            region,
            account: format!("{:012}", random.below(1_000_000_000_000)),
            hosts,
            number,
            seed,
        }
    }

    /// One of its nodes.
    pub(crate) fn node(&self, number: u64) -> Node {
        let mut random = Random::at(&[self.seed, 0x11, self.number, number]);
        let zone = random.below(3);
        let (host_type, arch) = random.pick(self.hosts);
        let pool = if arch == "arm64" { "arm" } else { "main" };
        let address = number + 16;
        let (name, zone) = match self.provider {
            "aws" => (
                format!("ip-10-{}-{}-{}.ec2.internal", self.number + 8, address / 250, address % 250),
                format!("{}{}", self.region, char::from(b'a' + zone as u8)),
            ),
            "gcp" => (
                format!("gke-{pool}-{}-{}", safe_text(self.number, 4), safe_text(number, 4)),
                format!("{}-{}", self.region, char::from(b'a' + zone as u8)),
            ),
            _ => (format!("aks-{pool}{}-vmss{number:06}", self.number), (zone + 1).to_string()),
        };
        let (os_version, os_description) = random.pick(&[
            ("2023.6.20241212", "Amazon Linux 2023.6.20241212"),
            ("22.04", "Ubuntu 22.04.5 LTS (Jammy Jellyfish)"),
            ("1.30.0", "Bottlerocket OS 1.30.0 (aws-k8s-1.31)"),
        ]);
        Node {
            name,
            id: format!("i-{}", random.hex(17)),
            zone,
            host_type,
            arch,
            image: format!("ami-{}", Random::at(&[self.seed, 0x12, self.number, random.below(3)]).hex(17)),
            os_version,
            os_description,
        }
    }
}

/// Text in the form of a random UUID.
pub(crate) fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}
