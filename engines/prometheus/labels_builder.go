//go:build slicelabels || dedupelabels

package prometheus

import (
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"chronoxide"
)

// labelReader sets builders to the labels of series. Labels of these build tags keep the strings that they get, in a
// table or as they are: those of a block end with it.
type labelReader struct{ table *labels.SymbolTable }

func (r *labelReader) read(batch *chronoxide.Batch, series int, builder *labels.ScratchBuilder) {
	if r.table == nil {
		r.table = labels.NewSymbolTable()
	}
	builder.SetSymbolTable(r.table)
	builder.Reset()
	batch.EachLabel(series, func(name, value string) { builder.Add(strings.Clone(name), strings.Clone(value)) })
}
