// Lists the labelsets that Prometheus stores for captures of OTLP metrics: the translation of its OTLP receiver, with the default
// settings, delta temporality allowed, and scope metadata promoted.
//
//	go run . [-promote ATTRIBUTE,...] CAPTURE.jsonl > labels.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Keeps labelsets.
type appender struct {
	labels map[string]map[string]string
}

func (a *appender) Append(_ storage.SeriesRef, l labels.Labels, _, _ int64, _ float64, _ *histogram.Histogram, _ *histogram.FloatHistogram, _ storage.AOptions) (storage.SeriesRef, error) {
	a.labels[l.String()] = l.Map()
	return 0, nil
}

func (a *appender) Commit() error   { return nil }
func (a *appender) Rollback() error { return nil }

func main() {
	promote := flag.String("promote", "", "resource attributes to promote, separated by commas")
	flag.Parse()
	otlp := config.DefaultOTLPConfig
	if *promote != "" {
		otlp.PromoteResourceAttributes = strings.Split(*promote, ",")
	}
	settings := prometheusremotewrite.Settings{
		AddMetricSuffixes:                    true,
		AllowDeltaTemporality:                true,
		PromoteResourceAttributes:            prometheusremotewrite.NewPromoteResourceAttributes(otlp),
		PromoteScopeMetadata:                 true,
		LabelNameUnderscoreSanitization:      otlp.LabelNameUnderscoreSanitization,
		LabelNamePreserveMultipleUnderscores: otlp.LabelNamePreserveMultipleUnderscores,
	}
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	kept := &appender{labels: map[string]map[string]string{}}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		metrics, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		converter := prometheusremotewrite.NewPrometheusConverter(kept)
		if _, err := converter.FromMetrics(context.Background(), metrics, settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	var keys []string
	for key := range kept.labels {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	encoder := json.NewEncoder(os.Stdout)
	for _, key := range keys {
		if err := encoder.Encode(kept.labels[key]); err != nil {
			log.Fatal(err)
		}
	}
}
