#!/usr/bin/env python3
"""Writes one registry of Prometheus's client library for Python as exposition text and as OpenMetrics, and lists its series.

    python3 write.py DIR

Each line of DIR/series.jsonl is an object of the labels of a sample, as the registry's own model has them.
"""

import json
import os
import sys

from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram, Info, Summary, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics


def registry():
    registry = CollectorRegistry()
    requests = Counter("requests", "Requests \"done\"\nand é \\.", ["code", "path"], registry=registry, unit="calls")
    requests.labels("200", "/a\"\n\\é").inc(3, {"trace_id": "abc\"\\"})
    requests.labels("404", "").inc()
    Gauge("temperature", "Degrees.", ["room"], registry=registry).labels("日本語").set(-3.5)
    Gauge("limit", "No limit.", registry=registry).set(float("inf"))
    Gauge("unknown_yet", "", registry=registry).set(float("nan"))
    summary = Summary("size_bytes", "Sizes.", ["kind"], registry=registry)
    histogram = Histogram("latency_seconds", "Latency.", ["code"], buckets=(1e-7, 0.005, 1, 2.5, 1e6, 12345678, 1e22), registry=registry)
    for value in (0, 0.5, 3, 3.14159, 1e9):
        summary.labels("in").observe(value)
        histogram.labels("200").observe(value, {"span_id": "7"})
    Info("build", "Build.", registry=registry).info({"version": "1.2.3", "branch": "main # EOF"})
    Enum("task", "State.", states=["starting", "running"], registry=registry).state("running")
    # A name of Prometheus 3.
    Gauge("http.server.active", "Active.", ["http.route"], registry=registry).labels("/{id}").set(1)
    return registry


def main(folder):
    metrics = registry()
    with open(os.path.join(folder, "metrics.prom"), "wb") as file:
        file.write(generate_latest(metrics, escaping="allow-utf-8"))
    with open(os.path.join(folder, "metrics.om"), "wb") as file:
        file.write(generate_openmetrics(metrics, escaping="allow-utf-8", version="1.0.0"))
    lines = set()
    for family in metrics.collect():
        for sample in family.samples:
            labels = {"__name__": sample.name, **sample.labels}
            labels = {name: value for name, value in labels.items() if value != ""}
            lines.add(json.dumps(labels, ensure_ascii=False, sort_keys=True))
    with open(os.path.join(folder, "series.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in sorted(lines))


if __name__ == "__main__":
    main(sys.argv[1])
