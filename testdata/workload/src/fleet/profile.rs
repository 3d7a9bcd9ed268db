//! Attributes of the resources of a service. They depend on the setup of its team.

use crate::random::Random;

/// All attributes of resources, and in how many of a hundred profiles they are.
pub(crate) const RESOURCE_KEYS: [(&str, u64); 54] = [
    ("service.name", 100),
    ("service.namespace", 45),
    ("service.version", 75),
    ("service.instance.id", 70),
    ("deployment.environment.name", 45),
    ("k8s.cluster.name", 100),
    ("k8s.namespace.name", 100),
    ("k8s.deployment.name", 100),
    ("k8s.statefulset.name", 100),
    ("k8s.replicaset.name", 20),
    ("k8s.pod.name", 100),
    ("k8s.pod.uid", 35),
    ("k8s.pod.ip", 55),
    ("k8s.pod.start_time", 25),
    ("k8s.node.name", 60),
    ("k8s.container.name", 35),
    ("k8s.container.restart_count", 10),
    ("k8s.cluster.uid", 5),
    ("k8s.pod.label.team", 15),
    ("k8s.pod.label.tier", 10),
    ("k8s.pod.label.part-of", 10),
    ("k8s.pod.label.cost-center", 5),
    ("k8s.pod.label.release", 5),
    ("k8s.pod.annotation.build", 5),
    ("cloud.provider", 40),
    ("cloud.platform", 25),
    ("cloud.account.id", 20),
    ("cloud.region", 60),
    ("cloud.availability_zone", 50),
    ("host.name", 50),
    ("host.id", 8),
    ("host.arch", 15),
    ("host.type", 12),
    ("host.image.id", 5),
    ("os.type", 20),
    ("os.version", 6),
    ("os.description", 8),
    ("container.id", 35),
    ("container.image.name", 15),
    ("container.image.tag", 18),
    ("container.runtime", 8),
    ("process.pid", 20),
    ("process.runtime.name", 25),
    ("process.runtime.version", 20),
    ("process.runtime.description", 8),
    ("process.executable.name", 10),
    ("process.executable.path", 6),
    ("process.command_line", 6),
    ("process.owner", 6),
    ("telemetry.sdk.name", 100),
    ("telemetry.sdk.language", 100),
    ("telemetry.sdk.version", 85),
    ("telemetry.distro.name", 12),
    ("telemetry.distro.version", 12),
];

/// Attributes that teams give to points of their own metrics.
const BUSINESS_KEYS: [&str; 24] = [
    "tenant.tier",
    "channel",
    "country",
    "currency",
    "payment.method",
    "plan",
    "result",
    "reason",
    "queue.name",
    "job.type",
    "priority",
    "device.class",
    "app.platform",
    "experiment.arm",
    "warehouse",
    "carrier",
    "campaign.kind",
    "partner",
    "locale",
    "cache.name",
    "pool.name",
    "stage",
    "feature.flag",
    "shard",
];

/// Number of profiles; teams copy those of others.
const PROFILES: u64 = 64;

/// Attributes that the services of a team report.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// A bit for each of the attributes.
    reported: u64,
    /// True if HTTP instrumentation adds the scheme.
    pub(crate) has_scheme: bool,
    /// The version of HTTP.
    pub(crate) has_protocol: bool,
    /// The name of the server.
    pub(crate) has_server_address: bool,
    /// Names of database systems and their databases.
    pub(crate) has_database_namespace: bool,
    /// Attributes of the team's own metrics.
    pub(crate) business_keys: [&'static str; 5],
}

impl Profile {
    /// The profile of a service, by a number of its own.
    pub(crate) fn from_seed(seed: u64, choice: u64) -> Self {
        // Some profiles have many followers: the smaller of two draws.
        let mut draw = Random::at(&[seed, 0x50, choice]);
        let number = draw.below(PROFILES).min(draw.below(PROFILES));
        let mut random = Random::at(&[seed, 0x51, number]);
        let mut reported = 0;
        for (place, (_, percent)) in RESOURCE_KEYS.iter().enumerate() {
            reported |= u64::from(random.percent(*percent)) << place;
        }
        let first = random.index(BUSINESS_KEYS.len());
        // A step that has no divisor in common with 24 meets no key twice.
        let step = random.pick(&[1, 5, 7, 11]);
        Self {
            reported,
            has_scheme: random.percent(50),
            has_protocol: random.percent(40),
            has_server_address: random.percent(25),
            has_database_namespace: random.percent(50),
            business_keys: std::array::from_fn(|place| BUSINESS_KEYS[(first + place * step) % BUSINESS_KEYS.len()]),
        }
    }

    /// Returns true if the attribute at a position of [`RESOURCE_KEYS`] is reported.
    pub(crate) fn reports(&self, place: usize) -> bool {
        self.reported >> place & 1 == 1
    }
}

/// The values of an attribute of teams' own metrics.
pub(crate) fn business_values(key: &str) -> &'static [&'static str] {
    match key {
        "tenant.tier" => &["free", "standard", "enterprise"],
        "channel" => &["web", "mobile", "partner", "store"],
        "country" => &["DE", "FR", "GB", "US", "JP", "BR"],
        "currency" => &["EUR", "USD", "GBP", "JPY"],
        "payment.method" => &["card", "invoice", "paypal", "sepa_debit"],
        "plan" => &["monthly", "yearly", "trial"],
        "result" => &["success", "failure", "timeout"],
        "reason" => &["invalid_input", "not_found", "limit_exceeded", "upstream_error"],
        "queue.name" => &["default", "critical", "bulk", "dead-letter"],
        "job.type" => &["import", "export", "reindex", "cleanup", "notification"],
        "priority" => &["low", "normal", "high"],
        "device.class" => &["phone", "tablet", "desktop"],
        "app.platform" => &["ios", "android", "web"],
        "experiment.arm" => &["control", "variant_a", "variant_b"],
        "warehouse" => &["ber-1", "ham-2", "muc-1", "waw-3"],
        "carrier" => &["dhl", "ups", "hermes", "postnl"],
        "campaign.kind" => &["newsletter", "voucher", "retargeting"],
        "partner" => &["acme-logistics", "globex", "initech", "umbrella-retail"],
        "locale" => &["de-DE", "en-GB", "en-US", "fr-FR", "ja-JP"],
        "cache.name" => &["sessions", "products", "prices", "permissions"],
        "pool.name" => &["primary", "replica", "reporting"],
        "stage" => &["received", "validated", "enriched", "stored"],
        "feature.flag" => &["new-checkout", "fast-search", "dark-mode"],
        _ => &["0", "1", "2", "3", "4", "5", "6", "7"],
    }
}
