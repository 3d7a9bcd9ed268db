// Writes one registry of Prometheus's client library for Node.js as exposition text and as OpenMetrics, and lists its series.
//
//	node write.js DIR
//
// Each line of DIR/series.jsonl is an object of the labels of a sample, as the registry's own model has them.
'use strict';

const fs = require('fs');
const path = require('path');
const { Counter, Gauge, Histogram, Registry, Summary } = require('prom-client');

function fill(registry, enableExemplars) {
	const registers = [registry];
	const requests = new Counter({ name: 'requests_total', help: 'Requests "done"\nand é \\.', labelNames: ['code', 'path'], registers });
	requests.inc({ code: 200, path: '/a"\n\\é' }, 3);
	requests.inc({ code: '404', path: '' });
	new Gauge({ name: 'temperature', help: 'Degrees.', labelNames: ['room'], registers }).set({ room: '日本語' }, -3.5);
	new Gauge({ name: 'limit', help: 'No limit.', registers }).set(Infinity);
	const summary = new Summary({ name: 'size_bytes', help: 'Sizes.', labelNames: ['kind'], percentiles: [0.5, 0.99, 1], registers });
	const buckets = [1e-7, 0.005, 1, 2.5, 1e6, 12345678];
	const histogram = new Histogram({ name: 'latency_seconds', help: 'Latency.', labelNames: ['code'], buckets, enableExemplars, registers });
	for (const value of [0, 0.5, 3, Math.PI, 1e9]) {
		summary.observe({ kind: 'in' }, value);
		if (enableExemplars) {
			histogram.observe({ labels: { code: '200' }, value, exemplarLabels: { trace_id: 'abc' } });
		} else {
			histogram.observe({ code: '200' }, value);
		}
	}
	registry.setDefaultLabels({ service: 'cart' });
}

async function series(registry) {
	const lines = new Set();
	for (const metric of await registry.getMetricsAsJSON()) {
		for (const value of metric.values) {
			const labels = { __name__: value.metricName ?? metric.name };
			for (const [name, text] of Object.entries(value.labels)) {
				if (String(text) !== '') labels[name] = String(text);
			}
			const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
			lines.add(JSON.stringify(sorted));
		}
	}
	return [...lines].sort();
}

async function main(folder) {
	const text = new Registry();
	fill(text, false);
	fs.writeFileSync(path.join(folder, 'metrics.prom'), await text.metrics());
	const open = new Registry();
	open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
	fill(open, true);
	fs.writeFileSync(path.join(folder, 'metrics.om'), await open.metrics());
	// The library renames counters of the other registry while it writes them.
	const lines = await series(text);
	fs.writeFileSync(path.join(folder, 'series.jsonl'), lines.map((line) => line + '\n').join(''));
}

main(process.argv[2]).catch((error) => {
	console.error(error);
	process.exit(1);
});
