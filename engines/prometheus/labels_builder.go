//go:build slicelabels || dedupelabels

package prometheus

import (
	"github.com/prometheus/prometheus/model/labels"

	"chronoxide"
)

// labelReader sets builders to the labels of series.
type labelReader struct{}

func (labelReader) read(batch *chronoxide.Batch, series int, builder *labels.ScratchBuilder) {
	builder.Reset()
	batch.EachLabel(series, builder.Add)
}
