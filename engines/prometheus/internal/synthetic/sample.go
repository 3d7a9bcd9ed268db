package synthetic

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Sample is a sample of a test: a histogram if it has one, or else a number.
type Sample struct {
	Time           int64
	Value          float64
	Histogram      *histogram.Histogram
	FloatHistogram *histogram.FloatHistogram
}

func (s Sample) T() int64                      { return s.Time }
func (Sample) ST() int64                       { return 0 }
func (s Sample) F() float64                    { return s.Value }
func (s Sample) H() *histogram.Histogram       { return s.Histogram }
func (s Sample) FH() *histogram.FloatHistogram { return s.FloatHistogram }
func (s Sample) Copy() chunks.Sample           { return s }
func (s Sample) Type() chunkenc.ValueType {
	switch {
	case s.Histogram != nil:
		return chunkenc.ValHistogram
	case s.FloatHistogram != nil:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}
