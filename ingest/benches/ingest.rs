//! Benchmarks decoding and storing, in points per second, for new and for known series.
//!
//! The workload is that of `chronoxide-workload`: 100,000 series of about 24 labels. `new series` interns and stores
//! all of them, `known series` finds them again, `decoded only` decodes without storing, and `generated decoder`
//! decodes into the generated types of the protocol. The difference between `known series` and `decoded only` is the
//! cost of looking up attributes, combining labels and finding the series.

use std::hint::black_box;

use chronoxide_ingest::otlp::{Needs, Requests, decode_otlp_json, decode_otlp_proto};
use chronoxide_ingest::series_json::decode_series_json;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_workload::{Options, Workload, encode};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;

const SERIES: u32 = 100_000;

/// Decodes a request and drops it.
fn decode_proto(record: &[u8]) {
    let mut requests = Requests::default();
    decode_otlp_proto(record, Needs::default(), &mut requests).expect("a whole record");
    black_box(requests);
}

fn decode_json(record: &[u8]) {
    let mut requests = Requests::default();
    decode_otlp_json(record, Needs::default(), &mut requests).expect("a whole record");
    black_box(requests);
}

/// Something to be measured, and its name.
type Decode<'a> = (&'a str, fn(&[u8]));

/// One way from bytes to series.
struct Way<'a> {
    name: &'a str,
    records: &'a [Vec<u8>],
    collect: fn(&[u8], &mut Assembler),
    decode: Vec<Decode<'a>>,
}

fn measure(criterion: &mut Criterion, way: &Way<'_>) {
    let Way { name, records, collect, decode } = way;
    let empty = || Assembler::new(AssembleOptions::default(), Vec::new());
    let collect_all = |assembler: &mut Assembler| records.iter().for_each(|record| collect(record, assembler));
    let mut known = empty();
    collect_all(&mut known);
    assert_eq!(known.report().series, u64::from(SERIES));

    let mut group = criterion.benchmark_group(*name);
    group.throughput(Throughput::Elements(SERIES.into())).sample_size(10);
    for (name, decode) in decode {
        group.bench_function(*name, |bencher| bencher.iter(|| records.iter().for_each(|record| decode(record))));
    }
    group.bench_function("known series", |bencher| bencher.iter(|| collect_all(&mut known)));
    group.bench_function("new series", |bencher| {
        bencher.iter_batched_ref(empty, collect_all, BatchSize::PerIteration);
    });
    group.finish();
    assert_eq!(known.report().series, u64::from(SERIES));
}

fn ingest(criterion: &mut Criterion) {
    let workload = Workload::new(Options { series: SERIES.into(), ..Options::default() }).expect("a workload");
    let requests: Vec<ExportMetricsServiceRequest> = workload.requests().collect();

    let records: Vec<Vec<u8>> = requests.iter().map(Message::encode_to_vec).collect();
    let way = Way {
        name: "otlp-proto",
        records: &records,
        collect: |record, assembler| assembler.otlp_proto(record).expect("a whole record"),
        decode: vec![
            ("generated decoder", |record| {
                black_box(ExportMetricsServiceRequest::decode(record).expect("a whole record"));
            }),
            ("decoded only", decode_proto),
        ],
    };
    measure(criterion, &way);

    let lines = |write: fn(&ExportMetricsServiceRequest, &mut Vec<u8>)| {
        let mut text = Vec::new();
        requests.iter().for_each(|request| write(request, &mut text));
        text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let records = lines(|request, out| encode::write_otlp_json(request, out).expect("memory takes all"));
    let way = Way {
        name: "otlp-json",
        records: &records,
        collect: |record, assembler| assembler.otlp_json(record).expect("a whole record"),
        decode: vec![("decoded only", decode_json)],
    };
    measure(criterion, &way);

    let records = lines(|request, out| encode::write_series_json(request, out).expect("memory takes all"));
    let way = Way {
        name: "series-json",
        records: &records,
        collect: |record, assembler| decode_series_json(record, assembler).expect("a whole record"),
        decode: vec![],
    };
    measure(criterion, &way);
}

criterion_group!(benches, ingest);
criterion_main!(benches);
