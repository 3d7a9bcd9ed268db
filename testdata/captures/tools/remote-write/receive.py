#!/usr/bin/env python3
"""Serves an exposition to a Prometheus server, takes what it sends by remote write, and lists its series.

    python3 receive.py EXPOSITION PORT PROMETHEUS FOLDER

Stores the first bodies of each version in FOLDER, until they have every series that the server's API lists, and the list as
FOLDER/series.jsonl. Which series a body has is not asked of any decoder: bodies of three scrapes are kept, and the server has all
series from its second scrape on.
"""

import http.server
import json
import os
import sys
import threading
import time
import urllib.parse
import urllib.request

# Requests of each version that are kept.
KEPT = 3


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(self.server.exposition, "rb") as file:
            content = file.read()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        version = self.path.strip("/")
        bodies = self.server.bodies[version]
        with self.server.lock:
            bodies.append((self.headers["Content-Type"], body))
        # A receiver of version 2 says how much it took, and the server warns if it does not.
        self.send_response(204)
        if version == "v2":
            for what in ["Samples", "Histograms", "Exemplars"]:
                self.send_header(f"X-Prometheus-Remote-Write-{what}-Written", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def ask(prometheus, path):
    with urllib.request.urlopen(f"http://{prometheus}{path}") as answer:
        return json.load(answer)["data"]


def main(exposition, port, prometheus, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.exposition, server.bodies, server.lock = exposition, {"v1": [], "v2": []}, threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    deadline = time.monotonic() + 60
    while min(len(bodies) for bodies in server.bodies.values()) < KEPT:
        if time.monotonic() > deadline:
            sys.exit(f"no requests: { {version: len(bodies) for version, bodies in server.bodies.items()} }")
        time.sleep(0.1)
    matcher = urllib.parse.quote('{__name__=~".+"}')
    with server.lock:
        for version, bodies in server.bodies.items():
            for number, (content_type, body) in enumerate(bodies[:KEPT]):
                print(f"{version} {number}: {len(body)} bytes, {content_type}", file=sys.stderr)
                with open(os.path.join(folder, f"{version}-{number}.snappy"), "wb") as file:
                    file.write(body)
    external = {"cluster": "eu-1"}
    lines = {json.dumps({**external, **labels}, ensure_ascii=False, sort_keys=True) for labels in ask(prometheus, f"/api/v1/series?match[]={matcher}")}
    with open(os.path.join(folder, "series.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in sorted(lines))
    print(f"{len(lines)} series", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
