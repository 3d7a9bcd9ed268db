//go:build !slicelabels && !dedupelabels

package prometheus

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"
)

func TestLabelsAreOneString(t *testing.T) {
	var reader labelReader
	var pairs []string
	for _, size := range []int{0, 1, 254, 255, 256, 65_535, 65_536, 1<<24 - 1} {
		name, value := strings.Repeat("n", size+1), strings.Repeat("v", size)
		if value == "" || size == 1<<24-1 {
			name, value = "a", strings.Repeat("v", max(size, 1))
			if size > 0 {
				name = "nn"
			}
		}
		if size == 1 {
			continue
		}
		pairs = append(pairs, name, value)
		reader.add(name, value)
	}
	text := string(reader.text)
	if unsafe.Sizeof(labels.Labels{}) != unsafe.Sizeof(text) {
		t.Fatal("labels are not one string")
	}
	ours := *(*labels.Labels)(unsafe.Pointer(&text))
	builder := labels.NewScratchBuilder(0)
	for i := 0; i < len(pairs); i += 2 {
		builder.Add(pairs[i], pairs[i+1])
	}
	if !labels.Equal(ours, builder.Labels()) {
		t.Fatal("labels are another string")
	}
}
