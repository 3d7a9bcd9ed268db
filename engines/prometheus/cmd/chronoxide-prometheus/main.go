// Command chronoxide-prometheus answers Prometheus's HTTP API from Chronoxide blocks with chunk lists and from the chunk
// files of Prometheus. It is read only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"chronoxide/prometheus"
	"chronoxide/prometheus/server"
)

const usage = `Answers Prometheus's HTTP API from Chronoxide blocks and from the chunk files of Prometheus

Usage: chronoxide-prometheus --blocks DIR --chunks DIR [OPTIONS]

Options:
`

const examples = `
Examples:
  chronoxide-ingest --chunks /var/lib/prometheus/data -o labels/
  chronoxide-prometheus --blocks labels/ --chunks /var/lib/prometheus/data
  promtool query instant --time 2026-11-28T12:00:00Z http://127.0.0.1:9095 'sum by (job) (rate(http_requests_total[5m]))'

Exit codes: 0 ended by a signal; 1 a folder cannot be read, or the address is in use; 2 invalid arguments
`

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	flags := flag.NewFlagSet("chronoxide-prometheus", flag.ContinueOnError)
	blocks := flags.String("blocks", "", "`folder` of Chronoxide blocks that chronoxide-ingest --chunks wrote")
	chunks := flags.String("chunks", "", "data `folder` of Prometheus, which has the chunk files")
	address := flags.String("listen", "127.0.0.1:9095", "`address` to listen at; other machines reach it if it is not of this one")
	reload := flags.Duration("reload", time.Minute, "`time` between two looks for new blocks; 0 for none")
	maxSeries := flags.Uint64("max-series", 0, "maximum `number` of series of a selector; 0 for no limit")
	partial := flags.Bool("partial", false, "answer without the samples of folders that cannot be read, with a warning")
	options := server.Options{}
	flags.DurationVar(&options.Timeout, "timeout", 2*time.Minute, "maximum `time` of a query")
	flags.IntVar(&options.MaxConcurrency, "max-concurrency", 20, "maximum `number` of requests that are answered at once; others wait")
	flags.IntVar(&options.MaxSamples, "max-samples", 50_000_000, "maximum `number` of samples of a query in memory")
	flags.IntVar(&options.MaxSearchResults, "max-search-results", 10_000, "maximum `number` of results of a search")
	flags.DurationVar(&options.LookbackDelta, "lookback", 5*time.Minute, "`age` up to which a sample counts")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
		fmt.Fprint(flags.Output(), examples)
	}
	if len(arguments) > 0 && (arguments[0] == "--help" || arguments[0] == "-h") {
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return 0
	}
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *blocks == "" || *chunks == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "chronoxide-prometheus: --blocks and --chunks are required, and nothing else (--help lists options)")
		return 2
	}
	if options.MaxConcurrency < 1 || options.MaxSearchResults < 1 || options.MaxSamples < 1 {
		fmt.Fprintln(os.Stderr, "chronoxide-prometheus: --max-concurrency, --max-search-results and --max-samples must be 1 or more")
		return 2
	}
	if *reload < 0 || options.Timeout <= 0 || options.LookbackDelta <= 0 {
		fmt.Fprintln(os.Stderr, "chronoxide-prometheus: --timeout and --lookback must be longer than 0, and --reload not less")
		return 2
	}
	options.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	queryable, warnings, err := prometheus.Open(*blocks, *chunks, prometheus.Options{MaxSeries: *maxSeries, PartialAnswers: *partial})
	if err != nil {
		return failed(err)
	}
	defer queryable.Close()
	log := warningLog{logger: options.Logger}
	log.add(warnings)
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(os.Stderr, "chronoxide-prometheus: listening at http://%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	service := &http.Server{Handler: server.Handler(queryable, options), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 5 * time.Minute}
	if *reload > 0 {
		go reloadEvery(ctx, *reload, queryable, &log)
	}
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		// Queries that run are given some time.
		ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		service.Shutdown(ending)
	})
	if err := service.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	<-ended
	return 0
}

// reloadEvery looks for new blocks. After an error, the blocks that are known stay.
func reloadEvery(ctx context.Context, interval time.Duration, queryable *prometheus.Queryable, log *warningLog) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			warnings, err := queryable.Reload()
			if err != nil {
				warnings = []error{fmt.Errorf("cannot reload the blocks: %w", err)}
			}
			log.add(warnings)
		}
	}
}

// warningLog logs warnings of blocks when they come up.
type warningLog struct {
	logger *slog.Logger
	known  map[string]bool
}

// add takes the warnings that hold now, and logs those that did not hold before.
func (l *warningLog) add(warnings []error) {
	current := map[string]bool{}
	for _, warning := range warnings {
		text := warning.Error()
		if !l.known[text] && !current[text] {
			l.logger.Warn("answers are incomplete", "err", text)
		}
		current[text] = true
	}
	l.known = current
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "chronoxide-prometheus:", err)
	return 1
}
