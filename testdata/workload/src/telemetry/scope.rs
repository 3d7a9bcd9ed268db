//! Instrumentation libraries of a service, and its team's own metrics.

use std::borrow::Cow;

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;

use crate::fleet::profile::Profile;
use crate::fleet::service::{Language, Service};
use crate::random::Random;
use crate::telemetry::catalogue::{
    BUSINESS_BOUNDS, DATABASE_CLIENT, DOTNET, GO, HTTP_CLIENT, HTTP_SERVER, JVM, KUBELET, MESSAGING, NODEJS, PYTHON,
    RPC_SERVER,
};
use crate::telemetry::dimension::Dimension;
use crate::telemetry::instrument::{Instrument, Kind};

/// An instrumentation library, and its metrics.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    name: Cow<'static, str>,
    version: Cow<'static, str>,
    pub(crate) instruments: Cow<'static, [Instrument]>,
}

impl Scope {
    fn library((name, version): (&'static str, &'static str), instruments: &'static [Instrument]) -> Self {
        Self { name: name.into(), version: version.into(), instruments: instruments.into() }
    }

    /// The scope of OTLP.
    pub(crate) fn named(&self) -> InstrumentationScope {
        InstrumentationScope {
            name: self.name.clone().into_owned(),
            version: self.version.clone().into_owned(),
            ..InstrumentationScope::default()
        }
    }
}

/// All scopes of a service, each name once.
pub(crate) fn scopes(service: &Service, profile: &Profile) -> Vec<Scope> {
    let names = Names::for_language(service.language);
    let mut scopes = vec![Scope::library(names.runtime, runtime(service.language))];
    if service.serves_http {
        scopes.push(Scope::library(names.http_server, &HTTP_SERVER));
    }
    if service.calls_http {
        scopes.push(Scope::library(names.http_client, &HTTP_CLIENT));
    }
    if service.serves_rpc {
        scopes.push(Scope::library(names.rpc, &RPC_SERVER));
    }
    if service.uses_database {
        scopes.push(Scope::library(names.database, &DATABASE_CLIENT));
    }
    if service.uses_messaging {
        scopes.push(Scope::library(names.messaging, &MESSAGING));
    }
    if service.has_kubelet_metrics {
        const KUBELET_RECEIVER: &str =
            "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kubeletstatsreceiver";
        scopes.push(Scope::library((KUBELET_RECEIVER, "0.116.0"), &KUBELET));
    }
    scopes.push(own_scope(service, profile));
    scopes
}

fn runtime(language: Language) -> &'static [Instrument] {
    match language {
        Language::Java => &JVM,
        Language::Go => &GO,
        Language::NodeJs => &NODEJS,
        Language::Python => &PYTHON,
        Language::Dotnet => &DOTNET,
    }
}

/// Returns the scope of a team's own metrics: at most one metric per name, with up to three dimensions.
fn own_scope(service: &Service, profile: &Profile) -> Scope {
    const SUBJECTS: [&str; 16] = [
        "requests",
        "orders",
        "items",
        "batches",
        "messages",
        "sessions",
        "lookups",
        "retries",
        "events",
        "documents",
        "uploads",
        "tasks",
        "checks",
        "updates",
        "matches",
        "deliveries",
    ];
    const MEASURES: [(&str, &str, Kind); 10] = [
        ("total", "1", Kind::Counter),
        ("failed", "1", Kind::Counter),
        ("active", "1", Kind::UpDown),
        ("duration", "ms", Kind::Histogram(&BUSINESS_BOUNDS)),
        ("latency", "ms", Kind::Exponential),
        ("size", "By", Kind::Histogram(&BUSINESS_BOUNDS)),
        ("age", "s", Kind::Gauge),
        ("backlog", "1", Kind::Gauge),
        ("rate", "1", Kind::Delta),
        ("percentiles", "ms", Kind::Summary),
    ];
    let mut random = service.random(30);
    let prefix = random.pick(&[service.domain, service.team]);
    let count = 3 + random.below(6);
    let mut instruments: Vec<Instrument> = Vec::new();
    for _ in 0..count {
        let (measure, unit, kind) = random.pick(&MEASURES);
        let name = format!("{prefix}.{}.{measure}", random.pick(&SUBJECTS));
        let dimensions = own_dimensions(&mut random, profile);
        if instruments.iter().all(|other| other.name != name) {
            instruments.push(Instrument {
                name: name.into(),
                unit,
                description: "What the team wants to know.",
                kind,
                dimensions: dimensions.into(),
            });
        }
    }
    // Many a team gives its meter no version.
    let version = if random.percent(80) { service.version.clone() } else { String::new() };
    Scope {
        name: format!("example.{}.{}", service.domain, service.name).into(),
        version: version.into(),
        instruments: instruments.into(),
    }
}

fn own_dimensions(random: &mut Random, profile: &Profile) -> Vec<Dimension> {
    let keys = &profile.business_keys;
    let count = random.pick(&[0, 1, 1, 2, 2, 3]);
    let first = random.index(keys.len() - count);
    keys[first..first + count].iter().map(|&key| Dimension::Business(key)).collect()
}

/// Names and versions of libraries, which differ by language.
struct Names {
    runtime: (&'static str, &'static str),
    http_server: (&'static str, &'static str),
    http_client: (&'static str, &'static str),
    rpc: (&'static str, &'static str),
    database: (&'static str, &'static str),
    messaging: (&'static str, &'static str),
}

impl Names {
    fn for_language(language: Language) -> Self {
        let version = match language {
            Language::Java => "2.11.0-alpha",
            Language::Go => "0.58.0",
            Language::NodeJs => "0.57.0",
            Language::Python => "0.50b0",
            Language::Dotnet => "1.10.0",
        };
        let [runtime, http_server, http_client, rpc, database, messaging] = match language {
            Language::Java => [
                "io.opentelemetry.runtime-telemetry-java17",
                "io.opentelemetry.tomcat-10.0",
                "io.opentelemetry.java-http-client",
                "io.opentelemetry.grpc-1.6",
                "io.opentelemetry.jdbc",
                "io.opentelemetry.kafka-clients-0.11",
            ],
            Language::Go => [
                "go.opentelemetry.io/contrib/instrumentation/runtime",
                "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
                "go.opentelemetry.io/contrib/instrumentation/net/http/httptrace",
                "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc",
                "github.com/XSAM/otelsql",
                "github.com/dnwe/otelsarama",
            ],
            Language::NodeJs => [
                "@opentelemetry/instrumentation-runtime-node",
                "@opentelemetry/instrumentation-http",
                "@opentelemetry/instrumentation-undici",
                "@opentelemetry/instrumentation-grpc",
                "@opentelemetry/instrumentation-pg",
                "@opentelemetry/instrumentation-kafkajs",
            ],
            Language::Python => [
                "opentelemetry.instrumentation.system_metrics",
                "opentelemetry.instrumentation.flask",
                "opentelemetry.instrumentation.requests",
                "opentelemetry.instrumentation.grpc",
                "opentelemetry.instrumentation.psycopg",
                "opentelemetry.instrumentation.confluent_kafka",
            ],
            Language::Dotnet => [
                "System.Runtime",
                "Microsoft.AspNetCore.Hosting",
                "System.Net.Http",
                "OpenTelemetry.Instrumentation.GrpcNetClient",
                "Npgsql",
                "Confluent.Kafka.Extensions",
            ],
        };
        Self {
            runtime: (runtime, version),
            http_server: (http_server, version),
            http_client: (http_client, version),
            rpc: (rpc, version),
            database: (database, version),
            messaging: (messaging, version),
        }
    }
}
