package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"chronoxide/prometheus/internal/synthetic"
)

var quiet = slog.New(slog.DiscardHandler)

// world is a random data folder of Prometheus.
type world struct {
	t      testing.TB
	random *rand.Rand
	data   string
	series []labels.Labels
	// start and end are the range of all times, in milliseconds.
	start, end int64
	// deletes is true if samples are deleted, and bounds are the ends of deletions.
	deletes bool
	bounds  []int64
}

// hour is the length of a block: short, so that blocks are quick to write.
const hour = 3_600_000

var worldNames = []string{"__name__", "job", "pod", "le", "größe", "a.b"}

func worldValue(random *rand.Rand) string {
	return []string{"up", "a", "b", "ab", "a.b", "a|b", "web-1", "web-2", "web-12", "ä", "\n", "x\nb", "+Inf", "1.0", `"`, `\`}[random.IntN(16)]
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), data: t.TempDir(), start: 1_700_000_000_000 / hour * hour}
	known := map[string]bool{}
	for range 1 + w.random.IntN(60) {
		builder := labels.NewBuilder(labels.EmptyLabels())
		for _, name := range worldNames {
			if w.random.IntN(3) > 0 {
				builder.Set(name, worldValue(w.random))
			}
		}
		if one := builder.Labels(); !one.IsEmpty() && !known[one.String()] {
			known[one.String()] = true
			w.series = append(w.series, one)
		}
	}
	if len(w.series) == 0 {
		w.series = append(w.series, labels.FromStrings("__name__", "up"))
	}
	w.end, w.deletes = w.start, w.random.IntN(2) == 0
	for range 1 + w.random.IntN(4) {
		begin := w.end
		// Some blocks overlap the one before, as those of samples that were out of order do.
		if begin > w.start && w.random.IntN(3) == 0 {
			begin -= hour / 2
		}
		w.addBlock(begin)
		w.end = max(w.end, begin+hour)
	}
	return w
}

// addBlock writes a block with some of the series, and deletes some of their samples.
func (w *world) addBlock(begin int64) {
	var all []storage.Series
	for _, one := range w.series {
		if w.random.IntN(4) > 0 {
			all = append(all, storage.NewListSeries(one, w.samples(begin)))
		}
	}
	if len(all) == 0 {
		all = append(all, storage.NewListSeries(w.series[0], w.samples(begin)))
	}
	path, err := tsdb.CreateBlock(all, w.data, 2*hour, quiet)
	if err != nil {
		w.t.Fatal(err)
	}
	for w.deletes && w.random.IntN(2) == 0 {
		block, err := tsdb.OpenBlock(quiet, path, nil, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		mint, maxt := w.times()
		w.bounds = append(w.bounds, mint, maxt)
		if err := block.Delete(context.Background(), mint, maxt, w.matchers()...); err != nil {
			w.t.Fatal(err)
		}
		block.Close()
	}
}

// samples makes the samples of a series in a block.
func (w *world) samples(begin int64) (list []chunks.Sample) {
	time, kind := begin+int64(w.random.IntN(hour/4)), w.random.IntN(8)
	step := int64(1 + w.random.IntN(30_000))
	for range 1 + w.random.IntN(400) {
		if time >= begin+hour {
			break
		}
		sample := synthetic.Sample{Time: time, Value: float64(w.random.IntN(1000))}
		number := int64(len(list))
		switch kind {
		case 0:
			sample.Histogram = tsdbutil.GenerateTestHistogram(number)
		case 1:
			sample.FloatHistogram = tsdbutil.GenerateTestFloatHistogram(number)
		case 2:
			sample.Histogram = tsdbutil.GenerateTestCustomBucketsHistogram(number)
		}
		list = append(list, sample)
		time += step
		if w.random.IntN(20) == 0 {
			time += int64(w.random.IntN(100_000))
		}
	}
	return list
}

// times returns a range of times, both ends included: sometimes all, sometimes one.
func (w *world) times() (mint, maxt int64) {
	// Deletions that end where a query does are easily mistaken.
	if len(w.bounds) > 0 && w.random.IntN(4) == 0 {
		mint, maxt = w.bounds[w.random.IntN(len(w.bounds))], w.bounds[w.random.IntN(len(w.bounds))]
		return min(mint, maxt), max(mint, maxt)
	}
	switch w.random.IntN(6) {
	case 0:
		return minTime, maxTime
	case 1:
		return w.start, w.end
	}
	span := int(w.end-w.start) + 2*hour
	mint = w.start - hour + int64(w.random.IntN(span))
	return mint, mint + int64(w.random.IntN(span))/int64(1+w.random.IntN(1000))
}

func (w *world) matchers() (list []*labels.Matcher) {
	for range 1 + w.random.IntN(3) {
		list = append(list, w.matcher())
	}
	return list
}

func (w *world) matcher() *labels.Matcher {
	name := append(worldNames, "unknown")[w.random.IntN(len(worldNames)+1)]
	value := worldValue(w.random)
	typ := labels.MatchType(w.random.IntN(4))
	if typ == labels.MatchEqual || typ == labels.MatchNotEqual {
		if w.random.IntN(5) == 0 {
			value = ""
		}
		return labels.MustNewMatcher(typ, name, value)
	}
	// Points stay as they are: they match more.
	quoted := strings.ReplaceAll(regexp.QuoteMeta(value), `\.`, ".")
	pattern := []string{
		".*", ".+", "", quoted, quoted + ".*", ".*" + quoted, ".*" + quoted + ".*", quoted + "|", quoted + "|up|web-1",
		"web-[0-9]", "web-[0-9]+", "(?i)AB?", "[^a]*", "a.b", "(a|b)+", "^a$", ".", "..", `[\s\S]{1,2}`, "web-(1|2)",
	}[w.random.IntN(20)]
	return labels.MustNewMatcher(typ, name, pattern)
}

// collected are the series of a set, each with all its samples.
func collected(t testing.TB, set storage.SeriesSet) (all []string) {
	t.Helper()
	var iterator chunkenc.Iterator
	for set.Next() {
		one := set.At()
		iterator = one.Iterator(iterator)
		text := strings.Builder{}
		text.WriteString(one.Labels().String())
		for typ := iterator.Next(); typ != chunkenc.ValNone; typ = iterator.Next() {
			fmt.Fprintf(&text, " %d@%d", iterator.AtT(), iterator.AtST())
			switch typ {
			case chunkenc.ValFloat:
				_, value := iterator.At()
				text.WriteString("=" + strconv.FormatFloat(value, 'g', -1, 64))
			case chunkenc.ValHistogram:
				_, value := iterator.AtHistogram(nil)
				text.WriteString("=" + value.String() + string(value.CounterResetHint))
			case chunkenc.ValFloatHistogram:
				_, value := iterator.AtFloatHistogram(nil)
				text.WriteString("=" + value.String() + string(value.CounterResetHint))
			}
		}
		if iterator.Err() != nil {
			t.Fatal(iterator.Err())
		}
		all = append(all, text.String())
	}
	if set.Err() != nil || len(set.Warnings()) > 0 {
		t.Fatal(set.Err(), set.Warnings())
	}
	return all
}

// collectedChunks are the series of a set, each with its chunks.
func collectedChunks(t testing.TB, set storage.ChunkSeriesSet) (all []string) {
	t.Helper()
	for set.Next() {
		one := set.At()
		text := strings.Builder{}
		text.WriteString(one.Labels().String())
		iterator := one.Iterator(nil)
		for iterator.Next() {
			meta := iterator.At()
			fmt.Fprintf(&text, " %d-%d %v %x", meta.MinTime, meta.MaxTime, meta.Chunk.Encoding(), meta.Chunk.Bytes())
		}
		if iterator.Err() != nil {
			t.Fatal(iterator.Err())
		}
		all = append(all, text.String())
	}
	if set.Err() != nil || len(set.Warnings()) > 0 {
		t.Fatal(set.Err(), set.Warnings())
	}
	return all
}

// same fails if two answers to a question differ.
func same(t testing.TB, question string, ours, expected []string) {
	t.Helper()
	if slices.Equal(ours, expected) {
		return
	}
	for i := range max(len(ours), len(expected)) {
		var left, right string
		if i < len(ours) {
			left = ours[i]
		}
		if i < len(expected) {
			right = expected[i]
		}
		if left != right {
			// Series with many samples: what is shown begins where they differ.
			common := 0
			for common < min(len(left), len(right)) && left[common] == right[common] {
				common++
			}
			from := max(common-300, 0)
			t.Fatalf("%s: %d answers, not %d; number %d is\n%.400q\nand not\n%.400q", question, len(ours), len(expected), i, left[from:], right[from:])
		}
	}
}

// seeds calls each with seeds until the time is up: CHRONOXIDE_RANDOM_TIME, or at least some.
func seeds(t *testing.T, each func(t *testing.T, seed uint64)) {
	if seed, err := strconv.ParseUint(os.Getenv("CHRONOXIDE_SEED"), 10, 64); err == nil {
		each(t, seed)
		return
	}
	limit, _ := time.ParseDuration(os.Getenv("CHRONOXIDE_RANDOM_TIME"))
	start, first := time.Now(), uint64(time.Now().UnixNano())
	count := uint64(0)
	for ; count < 5 || time.Since(start) < limit; count++ {
		seed := first + count
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { each(t, seed) }) {
			t.Fatalf("again by CHRONOXIDE_SEED=%d", seed)
		}
	}
	t.Log(count, "worlds")
}

// Prometheus's own queriers are the oracle: each question is asked of its data folder, of converted blocks, and of these
// blocks merged to one.
func TestAnswersAreThoseOfPrometheus(t *testing.T) {
	command(t, "chronoxide-ingest")
	seeds(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		converted := convert(t, w.data)
		merged := t.TempDir()
		inputs, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
		run(t, "chronoxide-compact", append(slices.Clone(inputs), "--quiet", "-o", filepath.Join(merged, "all.cx"))...)
		expected := openOracle(t, w.data)
		for name, labels := range map[string]string{"converted": converted, "merged": merged} {
			ours := open(t, labels, w.data)
			for range 30 {
				w.ask(t, name, ours, expected)
			}
		}
		w.askBlocks(t, converted, expected)
	})
}

// oracle answers from blocks of Prometheus as tsdb.DB does.
type oracle []*tsdb.Block

func openOracle(t testing.TB, data string) (blocks oracle) {
	paths, _ := filepath.Glob(filepath.Join(data, "*", "index"))
	for _, path := range paths {
		block, err := tsdb.OpenBlock(quiet, filepath.Dir(path), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { block.Close() })
		blocks = append(blocks, block)
	}
	slices.SortFunc(blocks, func(left, right *tsdb.Block) int { return cmp.Compare(left.MinTime(), right.MinTime()) })
	return blocks
}

func (o oracle) Querier(mint, maxt int64) (storage.Querier, error) {
	var queriers []storage.Querier
	for _, block := range o {
		if block.OverlapsClosedInterval(mint, maxt) {
			querier, err := tsdb.NewBlockQuerier(block, mint, maxt)
			if err != nil {
				return nil, err
			}
			queriers = append(queriers, querier)
		}
	}
	return storage.NewMergeQuerier(queriers, nil, storage.ChainedSeriesMerge), nil
}

func (o oracle) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	var queriers []storage.ChunkQuerier
	for _, block := range o {
		if block.OverlapsClosedInterval(mint, maxt) {
			querier, err := tsdb.NewBlockChunkQuerier(block, mint, maxt)
			if err != nil {
				return nil, err
			}
			queriers = append(queriers, querier)
		}
	}
	merge := storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)
	return storage.NewMergeChunkQuerier(queriers, nil, merge), nil
}

// panicking calls answer. Prometheus panics where a deletion reaches over the end of the range of times and another
// interval is before it (Intervals.Add): that question has no answer.
func panicking(allowed bool, panicked *bool, answer func() []string) []string {
	defer func() {
		if !allowed {
			return
		}
		if failure := recover(); failure != nil {
			if !strings.Contains(fmt.Sprint(failure), "index out of range") {
				panic(failure)
			}
			*panicked = true
		}
	}()
	return answer()
}

// ask asks both for series, samples, chunks, names and values.
func (w *world) ask(t *testing.T, name string, ours, expected storage.SampleAndChunkQueryable) {
	mint, maxt := w.times()
	matchers := w.matchers()
	question := fmt.Sprintf("%s: %v in [%d,%d]", name, matchers, mint, maxt)
	ctx := context.Background()
	queriers := func(each func(storage.Querier, storage.ChunkQuerier) []string) (all [2][]string) {
		panicked := false
		for i, queryable := range []storage.SampleAndChunkQueryable{ours, expected} {
			querier, err := queryable.Querier(mint, maxt)
			if err != nil {
				t.Fatal(question, err)
			}
			chunkQuerier, err := queryable.ChunkQuerier(mint, maxt)
			if err != nil {
				t.Fatal(question, err)
			}
			isOracle := i == 1
			all[i] = panicking(isOracle, &panicked, func() []string { return each(querier, chunkQuerier) })
			if err := querier.Close(); err != nil {
				t.Fatal(question, err)
			}
			if err := chunkQuerier.Close(); err != nil {
				t.Fatal(question, err)
			}
		}
		if panicked {
			all[0] = all[1]
		}
		return all
	}
	var hints *storage.SelectHints
	if w.random.IntN(2) == 0 {
		hints = &storage.SelectHints{Start: mint, End: maxt, DisableTrimming: w.random.IntN(2) == 0}
		if w.random.IntN(4) == 0 {
			// A selector with an offset asks for a part of the times of the query.
			start, end := w.times()
			hints.Start = min(max(start, mint), maxt)
			hints.End = min(max(end, hints.Start), maxt)
		}
		if w.random.IntN(3) == 0 {
			hints.ShardCount = uint64(1 + w.random.IntN(4))
			hints.ShardIndex = uint64(w.random.IntN(int(hints.ShardCount)))
		}
	}
	// tsdb sorts the matchers in place.
	copied := func() []*labels.Matcher { return slices.Clone(matchers) }
	answers := queriers(func(querier storage.Querier, _ storage.ChunkQuerier) []string {
		return collected(t, querier.Select(ctx, true, hints, copied()...))
	})
	same(t, question, answers[0], answers[1])
	unsorted := queriers(func(querier storage.Querier, _ storage.ChunkQuerier) []string {
		all := collected(t, querier.Select(ctx, false, hints, copied()...))
		slices.Sort(all)
		return all
	})
	same(t, question+", unsorted", unsorted[0], unsorted[1])
	chunked := queriers(func(_ storage.Querier, querier storage.ChunkQuerier) []string {
		return collectedChunks(t, querier.Select(ctx, true, hints, copied()...))
	})
	same(t, question+", chunks", chunked[0], chunked[1])

	// Prometheus does not look at times within a block, and lists names and values of series whose samples are all
	// deleted.
	if mint != minTime || w.deletes {
		return
	}
	label := worldNames[w.random.IntN(len(worldNames))]
	names := queriers(func(querier storage.Querier, _ storage.ChunkQuerier) []string {
		found, _, err := querier.LabelNames(ctx, nil, copied()...)
		if err != nil {
			t.Fatal(question, err)
		}
		return found
	})
	values := queriers(func(querier storage.Querier, _ storage.ChunkQuerier) []string {
		found, _, err := querier.LabelValues(ctx, label, nil, copied()...)
		if err != nil {
			t.Fatal(question, err)
		}
		return found
	})
	same(t, question+", names", names[0], names[1])
	same(t, question+", values of "+label, values[0], values[1])
}

// askBlocks asks tsdb's queriers of single blocks, ours and those with an index.
func (w *world) askBlocks(t *testing.T, converted string, expected oracle) {
	paths, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
	ctx := context.Background()
	for _, theirs := range expected {
		id := theirs.Meta().ULID.String()
		var ours *Block
		for _, path := range paths {
			if block, err := OpenBlock(path, filepath.Join(w.data, id)); err == nil {
				ours = block
			}
		}
		if ours == nil {
			// All of its samples are deleted.
			continue
		}
		for range 10 {
			mint, maxt := w.times()
			matchers := w.matchers()
			question := fmt.Sprintf("block %s: %v in [%d,%d]", id, matchers, mint, maxt)
			var answers, chunked [2][]string
			panicked := false
			for i, block := range []tsdb.BlockReader{ours, theirs} {
				querier, err := tsdb.NewBlockQuerier(block, mint, maxt)
				if err != nil {
					t.Fatal(err)
				}
				answers[i] = panicking(true, &panicked, func() []string {
					return collected(t, querier.Select(ctx, true, nil, slices.Clone(matchers)...))
				})
				chunkQuerier, err := tsdb.NewBlockChunkQuerier(block, mint, maxt)
				if err != nil {
					t.Fatal(err)
				}
				chunked[i] = panicking(true, &panicked, func() []string {
					return collectedChunks(t, chunkQuerier.Select(ctx, true, nil, slices.Clone(matchers)...))
				})
				querier.Close()
				chunkQuerier.Close()
			}
			if panicked {
				continue
			}
			same(t, question, answers[0], answers[1])
			same(t, question+", chunks", chunked[0], chunked[1])
		}
		if err := ours.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
