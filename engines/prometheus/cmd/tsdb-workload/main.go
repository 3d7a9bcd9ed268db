// Command tsdb-workload writes a data folder of Prometheus for benchmarks: blocks with the series of a Chronoxide block,
// and made-up samples. The same arguments give the same files.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"chronoxide"
	"chronoxide/prometheus/internal/synthetic"
)

func main() {
	log.SetFlags(0)
	from := flag.String("labels", "", "Chronoxide block with the series")
	output := flag.String("output", "", "folder for the blocks of Prometheus")
	blocks := flag.Int("blocks", 1, "number of blocks, one after the other")
	options := synthetic.Options{}
	flag.Int64Var(&options.Start, "start", 1_762_848_000_000, "first time, in milliseconds since 1970")
	flag.Int64Var(&options.Interval, "interval", 15_000, "milliseconds between two samples of a series")
	flag.IntVar(&options.Samples, "samples", 480, "samples per series and block")
	flag.StringVar(&options.Target, "target", "host.name", "label whose values are scraped at times of their own")
	flag.Float64Var(&options.LateShare, "late", 0.05, "share of the series that begin within a block")
	flag.Parse()
	if *from == "" || *output == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	series, err := read(*from)
	if err != nil {
		log.Fatal(err)
	}
	for number := range *blocks {
		options.Seed = uint64(number)
		folder, err := synthetic.WriteBlock(*output, series, options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(folder)
		options.Start += int64(options.Samples) * options.Interval
	}
}

// read returns the labels of all series of a block.
func read(path string) (all []labels.Labels, err error) {
	blocks, warnings, err := chronoxide.Open(path)
	if err != nil {
		return nil, err
	}
	defer blocks.Close()
	for _, warning := range warnings {
		return nil, warning
	}
	set := blocks.Querier(math.MinInt64, math.MaxInt64).Select(context.Background(), true)
	var builder labels.ScratchBuilder
	for batch := set.NextBatch(); batch != nil; batch = set.NextBatch() {
		for i := range batch.Len() {
			builder.Reset()
			// The strings of the block end with it.
			batch.EachLabel(i, func(name, value string) { builder.Add(strings.Clone(name), strings.Clone(value)) })
			all = append(all, builder.Labels())
		}
	}
	return all, set.Err()
}
