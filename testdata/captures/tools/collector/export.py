#!/usr/bin/env python3
"""Exports metrics of every kind with OpenTelemetry's SDK, and lists the series that the SDK says it exported.

    python3 export.py ENDPOINT SERIES

Each line of SERIES is an object of the labels of a series: attributes of resource, scope and point, where the later wins, with
`__name__`, `otel_scope_name` and `otel_scope_version`; values are text as the README of the project says.
"""

import base64
import json
import sys

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource


def as_json(value):
    """A part of an array as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text(value):
    """The text of an attribute's value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return as_json([int(item) if isinstance(item, float) and item.is_integer() else item for item in value])
    return str(value)


class Listing(OTLPMetricExporter):
    """An exporter that remembers the series of what it exported."""

    def __init__(self, **options):
        super().__init__(**options)
        self.series = set()
        self.points = 0

    def export(self, metrics_data, **options):
        result = super().export(metrics_data, **options)
        assert result == MetricExportResult.SUCCESS, result
        for of_resource in metrics_data.resource_metrics:
            for of_scope in of_resource.scope_metrics:
                scope = of_scope.scope
                for metric in of_scope.metrics:
                    for point in metric.data.data_points:
                        labels = dict(of_resource.resource.attributes)
                        labels.update(scope.attributes or {})
                        labels.update({"otel_scope_name": scope.name, "otel_scope_version": scope.version or ""})
                        labels.update(point.attributes)
                        labels["__name__"] = metric.name
                        labels = {name: text(value) for name, value in labels.items()}
                        labels = {name: value for name, value in labels.items() if value != ""}
                        self.series.add(json.dumps(labels, ensure_ascii=False, sort_keys=True))
                        self.points += 1
        return result


def main(endpoint, series):
    # Deltas, so that the second export has only what changed; all others are cumulative.
    delta = {Counter: AggregationTemporality.DELTA, Histogram: AggregationTemporality.DELTA}
    exporter = Listing(endpoint=endpoint, preferred_temporality=delta)
    # Exports happen when they are asked for.
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    # Without what the SDK says of itself, which would be a third of each series.
    resource = Resource({
        "service.name": "checkout",
        "service.instance.id": "checkout-0",
        "service.version": "1.4.2",
        "host.cpu.count": 8,
        "deployment.canary": True,
        "process.command_args": ["/bin/checkout", "--port", "8080"],
        "region": "é\"\n\\",
        "sampling.ratio": 0.25,
    })
    views = [
        View(instrument_name="payload.size", aggregation=ExponentialBucketHistogramAggregation(max_size=20)),
        View(instrument_name="queue.wait", aggregation=ExplicitBucketHistogramAggregation([0.1, 1, 10])),
        View(instrument_name="http.client.duration", attribute_keys={"http.method"}),
    ]
    provider = MeterProvider(metric_readers=[reader], resource=resource, views=views)
    shop = provider.get_meter("shop", "0.9.1", schema_url="https://opentelemetry.io/schemas/1.30.0", attributes={"team": "payments", "tier": 1})
    plain = provider.get_meter("runtime")

    requests = shop.create_counter("http.server.requests", unit="{request}", description="Requests \"done\",\nand é.")
    for code in (200, 404, 500):
        requests.add(code, {"http.route": "/cart/{id}", "http.status_code": code, "error": code >= 500})
    requests.add(1)
    active = shop.create_up_down_counter("orders.active", description="Orders.")
    active.add(5, {"kind": "new"})
    active.add(-2, {"kind": "old", "empty": ""})
    wait = shop.create_histogram("queue.wait", unit="s")
    size = shop.create_histogram("payload.size", unit="By", description="Sizes.")
    client = shop.create_histogram("http.client.duration", unit="ms")
    for number in range(20):
        wait.record(number / 3, {"queue": "mail"})
        size.record(1.7 ** number, {"compressed": number % 2 == 0})
        # One series, because the view keeps one key.
        client.record(number, {"http.method": "GET", "peer": f"10.0.0.{number}"})
    load = shop.create_gauge("node.load", description="Load.")
    load.set(0.5, {"window": 1.5, "cpus": (0, 1, 2), "names": ("a", "b\"é"), "weights": (0.5, 2.0), "flags": (True, False)})
    # A point's attribute wins over the resource's and the scope's.
    load.set(0.75, {"region": "point", "team": "point"})

    plain.create_observable_gauge("memory.used", [lambda options: [Observation(1 << 30, {"pool": "heap"}), Observation(7.5, {"pool": "日本語"})]], unit="By")
    plain.create_observable_counter("gc.cycles", [lambda options: [Observation(17)]])
    plain.create_observable_up_down_counter("threads", [lambda options: [Observation(number, {"state": state}) for number, state in enumerate(["run", "wait"])]])
    reader.force_flush()
    # The second and last export has a series that the first has not.
    requests.add(1, {"http.route": "/late", "http.status_code": 200, "error": False})
    provider.shutdown()
    with open(series, "w", encoding="utf-8") as file:
        for line in sorted(exporter.series):
            print(line, file=file)
    print(f"{len(exporter.series)} series, {exporter.points} points", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
