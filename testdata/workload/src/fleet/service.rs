//! Services: what they are called, what they are written in, what they do.

use crate::fleet::profile::Profile;
use crate::random::Random;

const NOUNS: [&str; 60] = [
    "cart",
    "checkout",
    "order",
    "payment",
    "invoice",
    "ledger",
    "refund",
    "price",
    "tax",
    "voucher",
    "catalog",
    "product",
    "search",
    "ranking",
    "review",
    "image",
    "media",
    "asset",
    "stock",
    "warehouse",
    "shipping",
    "parcel",
    "route",
    "geo",
    "address",
    "customer",
    "account",
    "profile",
    "session",
    "auth",
    "token",
    "consent",
    "policy",
    "audit",
    "fraud",
    "risk",
    "offer",
    "campaign",
    "mail",
    "push",
    "sms",
    "webhook",
    "event",
    "stream",
    "feed",
    "report",
    "metric",
    "export",
    "import",
    "billing",
    "quota",
    "config",
    "flag",
    "gateway",
    "edge",
    "proxy",
    "scheduler",
    "job",
    "index",
    "vault",
];

const SUFFIXES: [&str; 12] =
    ["", "-api", "-worker", "-svc", "-sync", "-bff", "-store", "-web", "-batch", "-core", "-proxy", "-jobs"];

const DOMAINS: [&str; 12] = [
    "shop",
    "payments",
    "logistics",
    "identity",
    "content",
    "growth",
    "platform",
    "data",
    "finance",
    "support",
    "search",
    "mobile",
];

const VERBS: [&str; 8] = ["list", "status", "items", "history", "preview", "confirm", "export", "settings"];

/// Language of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Java,
    Go,
    NodeJs,
    Python,
    Dotnet,
}

/// A service. Small: its reports are computed when they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) domain: &'static str,
    pub(crate) team: &'static str,
    pub(crate) version: String,
    pub(crate) language: Language,
    pub(crate) is_stateful: bool,
    pub(crate) serves_http: bool,
    pub(crate) calls_http: bool,
    pub(crate) serves_rpc: bool,
    pub(crate) uses_database: bool,
    pub(crate) uses_messaging: bool,
    pub(crate) has_kubelet_metrics: bool,
    /// In how many clusters it runs, and which is the first.
    pub(crate) spread: u64,
    pub(crate) home: u64,
}

impl Service {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::at(&[seed, 0x20, number]);
        let minor = random.below(40);
        let patch = random.below(12);
        Self {
            seed,
            number,
            name: service_name(seed, number),
            domain: random.pick(&DOMAINS),
            team: random.pick(&["atlas", "borealis", "cobalt", "delta", "ember", "falcon", "granite", "helios"]),
            version: format!("{}.{minor}.{patch}", 1 + random.below(4)),
            language: random.pick(&[
                Language::Java,
                Language::Java,
                Language::Java,
                Language::Go,
                Language::Go,
                Language::Go,
                Language::NodeJs,
                Language::NodeJs,
                Language::Python,
                Language::Dotnet,
            ]),
            is_stateful: random.percent(12),
            serves_http: random.percent(80),
            calls_http: random.percent(60),
            serves_rpc: random.percent(35),
            uses_database: random.percent(55),
            uses_messaging: random.percent(35),
            has_kubelet_metrics: random.percent(70),
            spread: 1 + random.below(3),
            home: random.next(),
        }
    }

    /// Numbers for one of its properties.
    pub(crate) fn random(&self, property: u64) -> Random {
        Random::at(&[self.seed, 0x21, self.number, property])
    }

    pub(crate) fn profile(&self) -> Profile {
        Profile::from_seed(self.seed, self.number)
    }

    /// Returns words for its routes and tables; the first is its own.
    pub(crate) fn subjects(&self, count: usize) -> Vec<&'static str> {
        let mut random = self.random(1);
        let own = NOUNS.iter().copied().find(|noun| self.name.starts_with(noun)).unwrap_or("item");
        let mut subjects = vec![own];
        while subjects.len() < count {
            let subject = random.pick(&NOUNS);
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        subjects
    }

    /// The routes that it serves, with their methods.
    pub(crate) fn routes(&self) -> Vec<(&'static str, String)> {
        let mut random = self.random(2);
        let mut routes = Vec::new();
        for subject in self.subjects(1 + random.skewed(5) as usize) {
            let version = 1 + random.below(2);
            routes.push(("GET", format!("/v{version}/{subject}s")));
            if random.percent(70) {
                routes.push(("GET", format!("/v{version}/{subject}s/{{id}}")));
            }
            if random.percent(60) {
                routes.push(("POST", format!("/v{version}/{subject}s")));
            }
            if random.percent(25) {
                routes.push(("DELETE", format!("/v{version}/{subject}s/{{id}}")));
            }
            if random.percent(35) {
                let verb = random.pick(&VERBS);
                routes.push(("GET", format!("/v{version}/{subject}s/{{id}}/{verb}")));
            }
        }
        routes
    }

    /// Returns names of services that it calls.
    pub(crate) fn peers(&self) -> Vec<String> {
        let mut random = self.random(3);
        let count = 1 + random.skewed(4);
        let mut peers: Vec<String> = Vec::new();
        for _ in 0..count {
            let peer = service_name(self.seed, random.below(self.number + 8));
            if peer != self.name && !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        peers
    }
}

/// The name of a service: no two numbers have the same.
pub(crate) fn service_name(seed: u64, number: u64) -> String {
    let (nouns, suffixes) = (NOUNS.len() as u64, SUFFIXES.len() as u64);
    let count = nouns * suffixes;
    // A step that has no divisor in common with 720 meets every combination once before the first comes again.
    let place = (seed % count + number % count * 413) % count;
    let noun = NOUNS[(place % nouns) as usize];
    let suffix = SUFFIXES[(place / nouns) as usize];
    match number / count {
        0 => format!("{noun}{suffix}"),
        round => format!("{noun}{suffix}-{}", round + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_services_have_one_name() {
        let names: BTreeSet<String> = (0..5_000).map(|number| service_name(3, number)).collect();
        assert_eq!(names.len(), 5_000);
    }
}
