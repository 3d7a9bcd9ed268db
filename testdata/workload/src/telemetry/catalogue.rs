//! The metrics of instrumentation libraries, as OpenTelemetry's semantic conventions have them.

use crate::telemetry::dimension::Dimension::{
    Flag, Numbers, Peers, Routes, RpcMethods, RpcStatus, Status, Tables, Topics, Values,
};
use crate::telemetry::instrument::Instrument;
use crate::telemetry::instrument::Kind::{Counter, Exponential, Gauge, Histogram, Summary, UpDown};

/// The bounds that the conventions recommend for durations in seconds.
const SECONDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Default bounds of SDKs.
pub(super) const BUSINESS_BOUNDS: [f64; 15] =
    [0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2500.0, 5000.0, 7500.0, 10000.0];

const BYTES: [f64; 6] = [128.0, 1024.0, 8192.0, 65536.0, 524288.0, 4194304.0];

const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

pub(super) static HTTP_SERVER: [Instrument; 3] = [
    Instrument::new(
        "http.server.request.duration",
        "s",
        "Duration of HTTP server requests.",
        Histogram(&SECONDS),
        &[Routes, Status],
    ),
    Instrument::new(
        "http.server.active_requests",
        "{request}",
        "Number of active HTTP server requests.",
        UpDown,
        &[Values("http.request.method", &METHODS), Values("url.scheme", &["http"])],
    ),
    Instrument::new(
        "http.server.response.body.size",
        "By",
        "Size of HTTP server response bodies.",
        Histogram(&BYTES),
        &[Routes],
    ),
];

pub(super) static HTTP_CLIENT: [Instrument; 2] = [
    Instrument::new(
        "http.client.request.duration",
        "s",
        "Duration of HTTP client requests.",
        Histogram(&SECONDS),
        &[Peers, Status],
    ),
    Instrument::new(
        "http.client.open_connections",
        "{connection}",
        "Open connections.",
        UpDown,
        &[Peers, Values("http.connection.state", &["active", "idle"])],
    ),
];

pub(super) static RPC_SERVER: [Instrument; 2] = [
    Instrument::new("rpc.server.duration", "ms", "Duration of inbound calls.", Exponential, &[RpcMethods, RpcStatus]),
    Instrument::new("rpc.server.requests_per_rpc", "{count}", "Messages received by call.", Exponential, &[RpcMethods]),
];

pub(super) static DATABASE_CLIENT: [Instrument; 3] = [
    Instrument::new(
        "db.client.operation.duration",
        "s",
        "Duration of database client operations.",
        Histogram(&SECONDS),
        &[Tables],
    ),
    Instrument::new(
        "db.client.connection.count",
        "{connection}",
        "Connections that are in the state.",
        UpDown,
        &[Values("db.client.connection.pool.name", &["main"]), Values("db.client.connection.state", &["idle", "used"])],
    ),
    Instrument::new(
        "db.client.connection.wait_time",
        "s",
        "Time to obtain a connection.",
        Summary,
        &[Values("db.client.connection.pool.name", &["main"])],
    ),
];

pub(super) static MESSAGING: [Instrument; 3] = [
    Instrument::new(
        "messaging.client.consumed.messages",
        "{message}",
        "Messages that were delivered to the application.",
        Counter,
        &[Topics, Numbers("messaging.destination.partition.id", 6)],
    ),
    Instrument::new(
        "messaging.client.operation.duration",
        "s",
        "Duration of operations.",
        Histogram(&SECONDS),
        &[Topics, Values("messaging.operation.name", &["poll", "commit", "send"])],
    ),
    Instrument::new("messaging.consumer.lag", "{message}", "Messages behind the end of the topic.", Gauge, &[Topics]),
];

const POOLS: [&str; 8] = [
    "CodeHeap 'non-nmethods'",
    "CodeHeap 'non-profiled nmethods'",
    "CodeHeap 'profiled nmethods'",
    "Compressed Class Space",
    "G1 Eden Space",
    "G1 Old Gen",
    "G1 Survivor Space",
    "Metaspace",
];

pub(super) static JVM: [Instrument; 8] = [
    Instrument::new(
        "jvm.memory.used",
        "By",
        "Measure of memory used.",
        UpDown,
        &[Values("jvm.memory.pool.name", &POOLS)],
    ),
    Instrument::new(
        "jvm.memory.committed",
        "By",
        "Measure of memory committed.",
        UpDown,
        &[Values("jvm.memory.pool.name", &POOLS)],
    ),
    Instrument::new(
        "jvm.memory.limit",
        "By",
        "Measure of max obtainable memory.",
        UpDown,
        &[Values("jvm.memory.pool.name", &POOLS)],
    ),
    Instrument::new(
        "jvm.gc.duration",
        "s",
        "Duration of JVM garbage collection actions.",
        Histogram(&SECONDS),
        &[
            Values("jvm.gc.name", &["G1 Young Generation", "G1 Old Generation"]),
            Values("jvm.gc.action", &["end of minor GC"]),
        ],
    ),
    Instrument::new(
        "jvm.thread.count",
        "{thread}",
        "Number of executing platform threads.",
        UpDown,
        &[Flag("jvm.thread.daemon"), Values("jvm.thread.state", &["runnable", "waiting", "timed_waiting"])],
    ),
    Instrument::new("jvm.class.loaded", "{class}", "Number of classes loaded since JVM start.", Counter, &[]),
    Instrument::new("jvm.class.count", "{class}", "Number of classes currently loaded.", UpDown, &[]),
    Instrument::new("jvm.cpu.time", "s", "CPU time used by the process.", Counter, &[]),
];

pub(super) static GO: [Instrument; 7] = [
    Instrument::new(
        "go.memory.used",
        "By",
        "Memory used by the Go runtime.",
        UpDown,
        &[Values("go.memory.type", &["stack", "other"])],
    ),
    Instrument::new("go.memory.limit", "By", "Go runtime memory limit.", UpDown, &[]),
    Instrument::new("go.memory.allocated", "By", "Memory allocated to the heap.", Counter, &[]),
    Instrument::new("go.memory.allocations", "{allocation}", "Count of allocations to the heap.", Counter, &[]),
    Instrument::new("go.goroutine.count", "{goroutine}", "Count of live goroutines.", UpDown, &[]),
    Instrument::new("go.processor.limit", "{thread}", "The number of OS threads.", UpDown, &[]),
    Instrument::new(
        "go.schedule.duration",
        "s",
        "Time goroutines have spent in the scheduler.",
        Histogram(&SECONDS),
        &[],
    ),
];

pub(super) static NODEJS: [Instrument; 4] = [
    Instrument::new("nodejs.eventloop.utilization", "1", "Event loop utilization.", Gauge, &[]),
    Instrument::new("nodejs.eventloop.delay.p99", "s", "Event loop delay.", Gauge, &[]),
    Instrument::new(
        "v8js.gc.duration",
        "s",
        "Garbage collection duration.",
        Histogram(&SECONDS),
        &[Values("v8js.gc.type", &["major", "minor", "incremental"])],
    ),
    Instrument::new(
        "v8js.memory.heap.used",
        "By",
        "Heap memory size used.",
        UpDown,
        &[Values("v8js.heap.space.name", &["new_space", "old_space", "code_space", "map_space", "large_object_space"])],
    ),
];

pub(super) static PYTHON: [Instrument; 4] = [
    Instrument::new(
        "cpython.gc.collections",
        "{collection}",
        "Collections of a generation.",
        Counter,
        &[Numbers("cpython.gc.generation", 3)],
    ),
    Instrument::new("process.memory.usage", "By", "The amount of physical memory in use.", UpDown, &[]),
    Instrument::new("process.cpu.time", "s", "Total CPU seconds.", Counter, &[Values("cpu.mode", &["user", "system"])]),
    Instrument::new("process.thread.count", "{thread}", "Process threads count.", UpDown, &[]),
];

pub(super) static DOTNET: [Instrument; 5] = [
    Instrument::new(
        "dotnet.gc.collections",
        "{collection}",
        "Garbage collections.",
        Counter,
        &[Values("dotnet.gc.heap.generation", &["gen0", "gen1", "gen2"])],
    ),
    Instrument::new(
        "dotnet.gc.last_collection.heap.size",
        "By",
        "The managed GC heap size.",
        UpDown,
        &[Values("dotnet.gc.heap.generation", &["gen0", "gen1", "gen2", "loh", "poh"])],
    ),
    Instrument::new(
        "dotnet.exceptions",
        "{exception}",
        "The number of exceptions thrown.",
        Counter,
        &[Values(
            "error.type",
            &["System.TimeoutException", "System.InvalidOperationException", "System.OperationCanceledException"],
        )],
    ),
    Instrument::new("dotnet.thread_pool.thread.count", "{thread}", "Threads of the pool.", UpDown, &[]),
    Instrument::new(
        "dotnet.process.cpu.time",
        "s",
        "CPU time used by the process.",
        Counter,
        &[Values("cpu.mode", &["user", "system"])],
    ),
];

pub(super) static KUBELET: [Instrument; 9] = [
    Instrument::new("container.cpu.time", "s", "Total cumulative CPU time.", Counter, &[]),
    Instrument::new("container.cpu.usage", "{cpu}", "Total CPU usage.", Gauge, &[]),
    Instrument::new("container.memory.working_set", "By", "Container memory working_set.", Gauge, &[]),
    Instrument::new("container.memory.rss", "By", "Container memory rss.", Gauge, &[]),
    Instrument::new("container.memory.page_faults", "1", "Container memory page_faults.", Gauge, &[]),
    Instrument::new(
        "k8s.pod.network.io",
        "By",
        "Pod network IO.",
        Counter,
        &[Values("network.interface.name", &["eth0"]), Values("network.io.direction", &["receive", "transmit"])],
    ),
    Instrument::new(
        "k8s.pod.network.errors",
        "1",
        "Pod network errors.",
        Counter,
        &[Values("network.interface.name", &["eth0"]), Values("network.io.direction", &["receive", "transmit"])],
    ),
    Instrument::new(
        "k8s.volume.available",
        "By",
        "Bytes available on the volume.",
        Gauge,
        &[Values("k8s.volume.name", &["config", "tmp", "kube-api-access"])],
    ),
    Instrument::new("container.uptime", "s", "The time since the container started.", Gauge, &[]),
];
