// Package synthetic writes blocks of Prometheus's TSDB with made-up samples, for tests and benchmarks.
package synthetic

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// SamplesPerChunk is the number of samples at which Prometheus begins a new chunk.
const SamplesPerChunk = 120

// Options say how the samples of a block are made.
type Options struct {
	// Start is the first time in milliseconds, and Samples the number of scrapes from then on, Interval milliseconds
	// apart. Each target is scraped at an offset of its own.
	Start, Interval int64
	Samples         int
	// Target is the label whose value tells the target of a series.
	Target string
	// LateShare is the share of the series that begin within the block.
	LateShare float64
	// Seed makes other samples.
	Seed uint64
}

// WriteBlock writes a block with these series to a new folder below dir, named by its id. It returns the folder.
func WriteBlock(dir string, series []labels.Labels, options Options) (string, error) {
	id := ulid.MustNew(uint64(options.Start)+uint64(options.Samples)*uint64(options.Interval), seeded(options.Seed))
	folder := filepath.Join(dir, id.String())
	chunkWriter, err := chunks.NewWriter(filepath.Join(folder, "chunks"))
	if err != nil {
		return "", err
	}
	indexWriter, err := index.NewWriter(context.Background(), filepath.Join(folder, "index"))
	if err != nil {
		return "", err
	}
	series = slices.Clone(series)
	slices.SortFunc(series, labels.Compare)
	symbols := map[string]struct{}{}
	for _, one := range series {
		one.Range(func(l labels.Label) { symbols[l.Name], symbols[l.Value] = struct{}{}, struct{}{} })
	}
	sorted := make([]string, 0, len(symbols))
	for symbol := range symbols {
		sorted = append(sorted, symbol)
	}
	slices.Sort(sorted)
	for _, symbol := range sorted {
		if err := indexWriter.AddSymbol(symbol); err != nil {
			return "", err
		}
	}
	meta := tsdb.BlockMeta{
		ULID: id, Version: 1, MinTime: options.Start,
		MaxTime:    options.Start + int64(options.Samples)*options.Interval,
		Compaction: tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}},
	}
	meta.Stats.NumSeries = uint64(len(series))
	random := rand.New(rand.NewPCG(options.Seed, 1))
	for ref, one := range series {
		metas := options.chunksOf(one, random)
		if err := chunkWriter.WriteChunks(metas...); err != nil {
			return "", err
		}
		if err := indexWriter.AddSeries(storage.SeriesRef(ref), one, metas...); err != nil {
			return "", err
		}
		meta.Stats.NumChunks += uint64(len(metas))
		for _, chunk := range metas {
			meta.Stats.NumSamples += uint64(chunk.Chunk.NumSamples())
		}
	}
	if err := chunkWriter.Close(); err != nil {
		return "", err
	}
	if err := indexWriter.Close(); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(meta, "", "\t")
	if err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "meta.json"), text, 0o666)
}

// chunksOf makes the samples of a series: a constant, a counter, or a gauge.
func (o Options) chunksOf(series labels.Labels, random *rand.Rand) []chunks.Meta {
	hash := fnv.New64a()
	hash.Write([]byte(series.Get(o.Target)))
	time := o.Start + int64(hash.Sum64()%uint64(o.Interval))
	count := o.Samples
	if random.Float64() < o.LateShare {
		skipped := random.IntN(count)
		count -= skipped
		time += int64(skipped) * o.Interval
	}
	var metas []chunks.Meta
	kind, value := random.IntN(10), float64(random.IntN(1_000_000))
	for count > 0 {
		chunk := chunkenc.NewXORChunk()
		appender, err := chunk.Appender()
		if err != nil {
			panic(err)
		}
		meta := chunks.Meta{Chunk: chunk, MinTime: time}
		for range min(count, SamplesPerChunk) {
			switch {
			case kind < 5: // constant
			case kind < 8:
				value += float64(random.IntN(16))
			case kind < 9:
				value = float64(random.IntN(1000))
			default:
				value = random.NormFloat64()
			}
			appender.Append(0, time, value)
			meta.MaxTime = time
			time += o.Interval
			count--
		}
		metas = append(metas, meta)
	}
	return metas
}

// seeded returns the entropy of an id, which is the same for each seed.
func seeded(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}
