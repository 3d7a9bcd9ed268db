//! Attributes that distinguish the points of a metric.

use opentelemetry_proto::tonic::common::v1::KeyValue;

use crate::attribute::{flag, number, text};
use crate::fleet::profile::{Profile, business_values};
use crate::fleet::service::Service;

/// Something that points of a metric differ in. A metric has a point for each combination of its dimensions that a pod
/// has seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dimension {
    /// One of these texts.
    Values(&'static str, &'static [&'static str]),
    /// A number from 0 on, below another.
    Numbers(&'static str, u64),
    /// True or false.
    Flag(&'static str),
    /// One of the values of a key of a team's own metrics.
    Business(&'static str),
    /// A route that the service serves, with its method.
    Routes,
    /// A status of HTTP; errors have a type.
    Status,
    /// A service that is called, with its port.
    Peers,
    /// A method of gRPC.
    RpcMethods,
    /// A status of gRPC.
    RpcStatus,
    /// A table of a database, and what is done with it.
    Tables,
    /// A topic, with its system.
    Topics,
}

/// Attributes that a point can have, and in how many of a thousand pods it does.
#[derive(Clone, Debug)]
pub(crate) struct Combination {
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) per_mille: u64,
}

/// Share of pods, in thousandths, that have a usual point.
const USUAL: u64 = 970;

fn usual(attributes: Vec<KeyValue>) -> Combination {
    Combination { attributes, per_mille: USUAL }
}

/// All combinations of the dimensions.
pub(crate) fn combinations(dimensions: &[Dimension], service: &Service, profile: &Profile) -> Vec<Combination> {
    let mut all = vec![Combination { attributes: Vec::new(), per_mille: 1000 }];
    for dimension in dimensions {
        let alternatives = alternatives(*dimension, service, profile);
        let mut next = Vec::with_capacity(all.len() * alternatives.len());
        for combination in &all {
            for alternative in &alternatives {
                next.push(Combination {
                    attributes: [combination.attributes.as_slice(), &alternative.attributes].concat(),
                    per_mille: combination.per_mille * alternative.per_mille / 1000,
                });
            }
        }
        all = next;
    }
    all
}

fn alternatives(dimension: Dimension, service: &Service, profile: &Profile) -> Vec<Combination> {
    match dimension {
        Dimension::Values(key, values) => values.iter().map(|&value| usual(vec![text(key, value)])).collect(),
        Dimension::Numbers(key, end) => (0..end).map(|value| usual(vec![number(key, value)])).collect(),
        Dimension::Flag(key) => [false, true].map(|value| usual(vec![flag(key, value)])).to_vec(),
        Dimension::Business(key) => {
            let business = |(place, &value): (usize, &&str)| Combination {
                attributes: vec![text(key, value)],
                per_mille: [980, 900, 750, 500, 400, 300, 200, 100].get(place).copied().unwrap_or(100),
            };
            business_values(key).iter().enumerate().map(business).collect()
        }
        Dimension::Routes => routes(service, profile),
        Dimension::Status => statuses(),
        Dimension::Peers => peers(service, profile),
        Dimension::RpcMethods => rpc_methods(service),
        Dimension::RpcStatus => [(0, USUAL), (4, 350), (5, 250), (14, 300)]
            .map(|(status, per_mille)| Combination {
                attributes: vec![number("rpc.grpc.status_code", status)],
                per_mille,
            })
            .to_vec(),
        Dimension::Tables => tables(service, profile),
        Dimension::Topics => topics(service),
    }
}

fn routes(service: &Service, profile: &Profile) -> Vec<Combination> {
    let route = |(method, route): (&'static str, String)| {
        let mut attributes = vec![text("http.request.method", method), text("http.route", route)];
        if profile.has_scheme {
            attributes.push(text("url.scheme", "http"));
        }
        if profile.has_protocol {
            attributes.push(text("network.protocol.version", "1.1"));
        }
        if profile.has_server_address {
            attributes.push(text("server.address", service.name.clone()));
        }
        // Not everything is called of each pod.
        usual(attributes)
    };
    service.routes().into_iter().map(route).collect()
}

fn statuses() -> Vec<Combination> {
    const STATUSES: [(u64, u64); 6] = [(200, USUAL), (400, 300), (404, 350), (429, 60), (500, 220), (503, 100)];
    let status = |(status, per_mille): (u64, u64)| {
        let mut attributes = vec![number("http.response.status_code", status)];
        if status >= 500 {
            attributes.push(text("error.type", status.to_string()));
        }
        Combination { attributes, per_mille }
    };
    STATUSES.map(status).to_vec()
}

fn peers(service: &Service, profile: &Profile) -> Vec<Combination> {
    let mut combinations = Vec::new();
    for peer in service.peers() {
        for (method, per_mille) in [("GET", USUAL), ("POST", 600)] {
            let mut attributes = vec![
                text("http.request.method", method),
                text("server.address", format!("{peer}.svc")),
                number("server.port", 8080),
            ];
            if profile.has_protocol {
                attributes.push(text("network.protocol.version", "1.1"));
            }
            combinations.push(Combination { attributes, per_mille });
        }
    }
    combinations
}

fn rpc_methods(service: &Service) -> Vec<Combination> {
    let mut random = service.random(20);
    let mut combinations = Vec::new();
    for subject in service.subjects(1 + random.index(2)) {
        let mut name = subject.to_owned();
        name.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        for verb in ["Get", "List", "Create", "Update", "Watch"] {
            if random.percent(70) {
                combinations.push(usual(vec![
                    text("rpc.system", "grpc"),
                    text("rpc.service", format!("{}.v1.{name}Service", service.domain)),
                    text("rpc.method", format!("{verb}{name}")),
                ]));
            }
        }
    }
    combinations
}

fn tables(service: &Service, profile: &Profile) -> Vec<Combination> {
    let mut random = service.random(21);
    let system = random.pick(&["postgresql", "postgresql", "mysql", "mongodb"]);
    let mut combinations = Vec::new();
    for subject in service.subjects(1 + random.index(4)) {
        for (operation, per_mille) in [("SELECT", USUAL), ("INSERT", 850), ("UPDATE", 700), ("DELETE", 250)] {
            let mut attributes = vec![
                text("db.system.name", system),
                text("db.collection.name", format!("{subject}s")),
                text("db.operation.name", operation),
            ];
            if profile.has_database_namespace {
                attributes.push(text("db.namespace", service.domain));
            }
            combinations.push(Combination { attributes, per_mille });
        }
    }
    combinations
}

fn topics(service: &Service) -> Vec<Combination> {
    let mut random = service.random(22);
    let system = random.pick(&["kafka", "kafka", "rabbitmq"]);
    let topic = |subject: &'static str| {
        let event = random.pick(&["created", "changed", "deleted", "requested"]);
        usual(vec![text("messaging.system", system), text("messaging.destination.name", format!("{subject}.{event}"))])
    };
    service.subjects(1 + service.random(23).index(4)).into_iter().map(topic).collect()
}
