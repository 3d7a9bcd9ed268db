// Package server answers Prometheus's HTTP API from blocks, by Prometheus's own handlers.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/grafana/regexp"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	api "github.com/prometheus/prometheus/web/api/v1"

	"chronoxide/prometheus"
)

// Options say how queries are answered.
type Options struct {
	// Timeout ends a query.
	Timeout time.Duration
	// MaxConcurrency is the number of requests that are answered at once. Others wait.
	MaxConcurrency int
	// MaxSamples is the number of samples that a query may have in memory.
	MaxSamples int
	// MaxSearchResults is the number of results of a search.
	MaxSearchResults int
	// LookbackDelta is the age up to which a sample counts.
	LookbackDelta time.Duration
	Logger        *slog.Logger
}

// Handler answers the API below /api/v1, and /-/healthy and /-/ready. It is read only: there are no targets, rules or
// alerts, and calls that would change something fail.
func Handler(blocks *prometheus.Queryable, options Options) http.Handler {
	experimental := parser.NewParser(parser.Options{
		EnableExperimentalFunctions: true, ExperimentalDurationExpr: true, EnableExtendedRangeSelectors: true,
		EnableBinopFillModifiers: true,
	})
	registry := client.NewRegistry()
	registry.MustRegister(client.NewGaugeFunc(
		client.GaugeOpts{Name: "prometheus_tsdb_head_chunks", Help: "Chunks of the blocks, for the status of the TSDB."},
		func() float64 { return float64(chunkCount(blocks)) },
	))
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: options.Logger, Reg: registry, MaxSamples: options.MaxSamples, Timeout: options.Timeout,
		LookbackDelta: options.LookbackDelta, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser:                   experimental,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	started := time.Now()
	handlers := api.NewAPI(
		engine, blocks, nil, nil, blocks,
		func(context.Context) api.ScrapePoolsRetriever { return nothing{} },
		func(context.Context) api.TargetRetriever { return nothing{} },
		func(context.Context) api.AlertmanagerRetriever { return nothing{} },
		func() config.Config { return config.Config{} },
		map[string]string{},
		api.GlobalURLOptions{},
		func(handler http.HandlerFunc) http.HandlerFunc { return handler },
		status{blocks, options.Timeout}, "", false, true, options.MaxSearchResults, options.Logger,
		func(context.Context) api.RulesRetriever { return nothing{} },
		50_000_000, 10, 1<<20, false, regexp.MustCompile("^$"),
		func() (api.RuntimeInfo, error) {
			return api.RuntimeInfo{
				StartTime: started, ServerTime: time.Now(), ReloadConfigSuccess: true, LastConfigTime: started,
				GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOGC: os.Getenv("GOGC"),
			}, nil
		},
		&api.PrometheusVersion{Version: version, GoVersion: runtime.Version()},
		func() []notifications.Notification { return nil },
		func() (<-chan notifications.Notification, func(), bool) { return nil, func() {}, false },
		registry, registry, nil, false, nil, false, false, false, false,
		options.LookbackDelta, false, false, nil, features.NewRegistry(), api.OpenAPIOptions{}, experimental,
	)
	router := route.New()
	handlers.Register(router.WithPrefix("/api/v1"))
	answer := func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write([]byte("ready\n")) }
	router.Get("/-/healthy", answer)
	router.Get("/-/ready", answer)
	search := ranked{router, blocks, options.MaxSearchResults, options.Timeout, experimental}
	return http.MaxBytesHandler(bounded{search, make(chan struct{}, options.MaxConcurrency)}, maxRequestBytes)
}

// maxRequestBytes is the length of a request: parsing takes time that grows with its square.
const maxRequestBytes = 256 << 10

// chunkCount returns the number of chunks.
func chunkCount(blocks *prometheus.Queryable) (count uint64) {
	metas, _ := blocks.BlockMetas()
	for _, meta := range metas {
		count += meta.Stats.NumChunks
	}
	return count
}

// version is the version of Prometheus whose engine and API these are: clients choose their queries by it.
const version = "3.15.0"

// nothing has no targets, rules and alerts.
type nothing struct{}

func (nothing) ScrapePools() []string                       { return nil }
func (nothing) TargetsActive() map[string][]*scrape.Target  { return nil }
func (nothing) TargetsDropped() map[string][]*scrape.Target { return nil }
func (nothing) TargetsDroppedCounts() map[string]int        { return nil }
func (nothing) Alertmanagers() []*url.URL                   { return nil }
func (nothing) DroppedAlertmanagers() []*url.URL            { return nil }
func (nothing) RuleGroups() []*rules.Group                  { return nil }
func (nothing) AlertingRules() []*rules.AlertingRule        { return nil }
func (nothing) ScrapePoolConfig(string) (*config.ScrapeConfig, error) {
	return nil, errors.New("blocks have no scrape pools")
}

// status answers what the API asks of a database.
type status struct {
	*prometheus.Queryable
	timeout time.Duration
}

func (s status) Stats(byLabel string, limit int) (*tsdb.Stats, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	return s.Queryable.Stats(ctx, byLabel, limit)
}

func (status) CleanTombstones() error { return prometheus.ErrReadOnly }

func (status) Delete(context.Context, int64, int64, ...*labels.Matcher) error {
	return prometheus.ErrReadOnly
}

func (status) Snapshot(string, bool) error { return prometheus.ErrReadOnly }

func (status) WALReplayStatus() (tsdb.WALReplayStatus, error) { return tsdb.WALReplayStatus{}, nil }
