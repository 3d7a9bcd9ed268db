// Writes one registry of Prometheus's client library twice: as exposition text and as protobuf with lengths
// before the messages. Lists the labels of its samples, as the library's own model has them.
//
//	go run . DIR
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"math"
	"os"
	"path/filepath"
	"sort"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "Requests \"done\"\nand é \\."}, []string{"code", "path"})
	up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "up", Help: "Whether it is up."})
	untyped := prometheus.NewUntypedFunc(prometheus.UntypedOpts{Name: "something"}, func() float64 { return 1 })
	summary := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "size_bytes", Help: "Sizes.", Objectives: map[float64]float64{0.5: 0.05, 0.99: 0.001, 1: 0}}, []string{"kind"})
	classic := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "latency_seconds", Help: "Latency.", Buckets: []float64{1e-7, 0.005, 0.1, 1, 2.5, 10, 1e6, 12345678}}, []string{"code"})
	noBuckets := prometheus.NewSummary(prometheus.SummaryOpts{Name: "plain_summary"})
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "native_seconds", NativeHistogramBucketFactor: 1.1})
	both := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "both_seconds", NativeHistogramBucketFactor: 1.1, Buckets: []float64{1, 2}})
	registry.MustRegister(requests, up, untyped, summary, classic, noBuckets, native, both)
	requests.WithLabelValues("200", "/a\"\n\\é").Add(3)
	requests.WithLabelValues("404", "").Add(1)
	for _, value := range []float64{0, 0.5, 3, math.Pi, 1e9} {
		summary.WithLabelValues("in").Observe(value)
		classic.WithLabelValues("200").Observe(value)
		noBuckets.Observe(value)
		native.Observe(value)
		both.Observe(value)
	}
	families, err := registry.Gather()
	check(err)
	// A gauge histogram and times, which the library does not collect.
	gaugeHistogram := dto.MetricType_GAUGE_HISTOGRAM
	families = append(families, &dto.MetricFamily{
		Name: proto.String("queue_age"), Type: &gaugeHistogram, Metric: []*dto.Metric{{
			Histogram: &dto.Histogram{SampleCount: proto.Uint64(2), SampleSum: proto.Float64(3), Bucket: []*dto.Bucket{
				{CumulativeCount: proto.Uint64(1), UpperBound: proto.Float64(1.5)},
				{CumulativeCount: proto.Uint64(2), UpperBound: proto.Float64(math.Inf(1))},
			}},
		}},
	}, &dto.MetricFamily{
		Name: proto.String("timed"), Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{
			Gauge: &dto.Gauge{Value: proto.Float64(1)}, TimestampMs: proto.Int64(1_700_000_000_123),
		}},
	})
	formats := map[string]expfmt.Format{
		"metrics.prom": expfmt.NewFormat(expfmt.TypeTextPlain),
		"metrics.pb":   expfmt.NewFormat(expfmt.TypeProtoDelim),
	}
	for name, format := range formats {
		file, err := os.Create(filepath.Join(os.Args[1], name))
		check(err)
		encoder := expfmt.NewEncoder(file, format)
		for _, family := range families {
			check(encoder.Encode(family))
		}
		check(file.Close())
	}
	list(filepath.Join(os.Args[1], "series.jsonl"), families)
}

// Writes the labels of all samples, an object a line. Labels without a value are left out.
func list(path string, families []*dto.MetricFamily) {
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Now()}, families...)
	check(err)
	var lines []string
	for _, sample := range samples {
		for name, value := range sample.Metric {
			if value == "" {
				delete(sample.Metric, name)
			}
		}
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		check(encoder.Encode(sample.Metric))
		lines = append(lines, line.String())
	}
	sort.Strings(lines)
	var all []byte
	for _, line := range lines {
		all = append(all, line...)
	}
	check(os.WriteFile(path, all, 0o666))
}
