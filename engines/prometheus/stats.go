package prometheus

import (
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
// Series are counted by the values of the label byLabel. Costs a pass over all labels.
func (q *Queryable) Stats(byLabel string, limit int) (_ *tsdb.Stats, err error) {
	ctx := context.Background()
	base, err := q.querier(minTime, maxTime)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	postings := &index.PostingsStats{}
	found := &tsdb.Stats{MinTime: maxTime, MaxTime: minTime, IndexPostingStats: postings}
	metas, err := q.BlockMetas()
	if err != nil {
		return nil, err
	}
	for _, meta := range metas {
		found.MinTime, found.MaxTime = min(found.MinTime, meta.MinTime), max(found.MaxTime, meta.MaxTime)
	}
	all := base.strings(0)
	names, warnings, err := all.LabelNames(ctx)
	if err := strict(warnings, err); err != nil {
		return nil, err
	}
	for _, name := range names {
		groups, warnings, err := all.CountBy(ctx, []string{name})
		if err := strict(warnings, err); err != nil {
			return nil, err
		}
		values, bytes, series := uint64(0), uint64(0), uint64(0)
		for _, group := range groups {
			series += group.Series
			if len(group.Labels) == 0 {
				continue
			}
			value := group.Labels[0].Value
			values++
			bytes += uint64(len(name)+len(value)) * group.Series
			postings.LabelValuePairsStats = append(postings.LabelValuePairsStats, index.Stat{Name: name + "=" + value, Count: group.Series})
			if name == byLabel {
				postings.CardinalityMetricsStats = append(postings.CardinalityMetricsStats, index.Stat{Name: value, Count: group.Series})
			}
		}
		found.NumSeries = series
		postings.NumLabelPairs += int(values)
		postings.CardinalityLabelStats = append(postings.CardinalityLabelStats, index.Stat{Name: name, Count: values})
		postings.LabelValueStats = append(postings.LabelValueStats, index.Stat{Name: name, Count: bytes})
	}
	for _, list := range []*[]index.Stat{
		&postings.CardinalityMetricsStats, &postings.CardinalityLabelStats, &postings.LabelValueStats,
		&postings.LabelValuePairsStats,
	} {
		slices.SortFunc(*list, func(left, right index.Stat) int {
			if left.Count != right.Count {
				return int(int64(right.Count) - int64(left.Count))
			}
			return strings.Compare(left.Name, right.Name)
		})
		*list = (*list)[:min(limit, len(*list))]
	}
	return found, nil
}

// ErrReadOnly is the error of calls that would change blocks.
var ErrReadOnly = errors.New("blocks are read only")
