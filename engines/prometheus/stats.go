package prometheus

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/index"
)

// BlockMetas returns the metadata of the blocks of Prometheus with the samples, by their start times, without those of
// missing folders.
func (q *Queryable) BlockMetas() (metas []tsdb.BlockMeta, err error) {
	taken, err := q.acquire()
	if err != nil {
		return nil, err
	}
	defer taken.release()
	for _, folder := range taken.folders {
		if folder.err == nil {
			metas = append(metas, folder.shared.meta)
		}
	}
	return metas, nil
}

// Stats counts series, pairs and values, as Prometheus's status page shows them: of each kind, limit of the greatest.
// Series are counted by the values of the label byLabel. Reads the labels of all series: some 2 us for each in each
// block, and 40 bytes of memory for each in several blocks.
func (q *Queryable) Stats(ctx context.Context, byLabel string, limit int) (_ *tsdb.Stats, err error) {
	base, err := q.querier(minTime, maxTime)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	postings := &index.PostingsStats{}
	found := &tsdb.Stats{MinTime: maxTime, MaxTime: minTime, IndexPostingStats: postings}
	for _, folder := range base.snapshot.folders {
		if folder.err == nil {
			meta := folder.shared.meta
			found.MinTime, found.MaxTime = min(found.MinTime, meta.MinTime), max(found.MaxTime, meta.MaxTime)
		}
	}
	// Series by name and value. The strings are those of blocks.
	counts := map[string]map[string]uint64{}
	series := base.strings(0).Select(ctx, false)
	for batch := series.NextBatch(); batch != nil; batch = series.NextBatch() {
		found.NumSeries += uint64(batch.Len())
		for number := range batch.Len() {
			batch.EachLabel(number, func(name, value string) {
				values := counts[name]
				if values == nil {
					values = map[string]uint64{}
					counts[name] = values
				}
				values[value]++
			})
		}
	}
	if err := strict(series.Warnings(), series.Err()); err != nil {
		return nil, err
	}
	metrics, names, lengths, pairs := greatest{limit: limit}, greatest{limit: limit}, greatest{limit: limit}, greatest{limit: limit}
	for name, values := range counts {
		bytes := uint64(0)
		for value, count := range values {
			bytes += uint64(len(name)+len(value)) * count
			pairs.add(name+"="+value, count)
			if name == byLabel {
				metrics.add(value, count)
			}
		}
		postings.NumLabelPairs += len(values)
		names.add(name, uint64(len(values)))
		lengths.add(name, bytes)
	}
	postings.CardinalityMetricsStats, postings.CardinalityLabelStats = metrics.sorted(), names.sorted()
	postings.LabelValueStats, postings.LabelValuePairsStats = lengths.sorted(), pairs.sorted()
	return found, nil
}

// greatest keeps the greatest counts of many: as many as limit, or all for 0.
type greatest struct {
	limit int
	stats []index.Stat
	// isCut is true if there were more: the last of the first ones is the least that counts.
	isCut bool
}

func byCount(left, right index.Stat) int {
	return cmp.Or(cmp.Compare(right.Count, left.Count), strings.Compare(left.Name, right.Name))
}

func (g *greatest) add(name string, count uint64) {
	one := index.Stat{Name: name, Count: count}
	if g.isCut && byCount(g.stats[g.limit-1], one) < 0 {
		return
	}
	g.stats = append(g.stats, one)
	if g.limit > 0 && len(g.stats) >= 2*g.limit+1024 {
		g.cut()
	}
}

func (g *greatest) cut() {
	slices.SortFunc(g.stats, byCount)
	if g.limit > 0 && len(g.stats) > g.limit {
		g.stats, g.isCut = g.stats[:g.limit], true
	}
}

// sorted returns copies, the greatest first.
func (g *greatest) sorted() []index.Stat {
	g.cut()
	for i := range g.stats {
		g.stats[i].Name = strings.Clone(g.stats[i].Name)
	}
	return g.stats
}

// ErrReadOnly is the error of calls that would change blocks.
var ErrReadOnly = errors.New("blocks are read only")
