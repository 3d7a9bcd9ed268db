package chronoxide

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// idsOf returns the ids of all series of the block with a number of series, by ref.
func idsOf(t *testing.T, blocks *Blocks, count int) []SeriesID {
	t.Helper()
	found := map[[16]byte][]SeriesID{}
	series := everything(blocks).Select(context.Background(), true)
	for series.Next() {
		for _, id := range series.At().IDs {
			found[id.Block] = append(found[id.Block], id)
		}
	}
	if series.Err() != nil {
		t.Fatal(series.Err())
	}
	for _, ids := range found {
		if len(ids) == count {
			slices.SortFunc(ids, func(left, right SeriesID) int { return int(left.Series) - int(right.Series) })
			return ids
		}
	}
	t.Fatalf("no block has %d series", count)
	return nil
}

func column(t *testing.T, blocks *Blocks, name string) *Column {
	t.Helper()
	found, err := blocks.Column(name)
	if err != nil || found == nil {
		t.Fatal(name, found, err)
	}
	t.Cleanup(found.Close)
	return found
}

// The expected values are those of testdata/golden/columns.txt. The other block has no columns.
func TestColumnsAreThoseOfTheDump(t *testing.T) {
	blocks := open(t, folder(t, "columns.cx", "planned-small.cx"))
	infos, err := blocks.Columns()
	if expected := []ColumnInfo{
		{"app.chunks", BytesValues, MergeNewest},
		{"chronoxide.first_time", Int64Values, MergeMin},
		{"chronoxide.last_time", Int64Values, MergeMax},
		{"flags", Uint64Values, MergeOr},
		{"größe", BytesValues, MergeDrop},
		{"hash", Uint64Values, MergeSame},
		{"total", Int64Values, MergeSum},
	}; err != nil || !slices.Equal(infos, expected) {
		t.Fatal(infos, err)
	}
	ids := idsOf(t, blocks, 10)
	slices.Reverse(ids)
	ids = append(ids, SeriesID{Block: ids[0].Block, Series: 10}, SeriesID{}, idsOf(t, blocks, 46)[45])

	total := column(t, blocks, "total")
	if total.Info() != infos[6] {
		t.Fatal(total.Info())
	}
	numbers, present := make([]int64, len(ids)), make([]bool, len(ids))
	if err := total.ReadInt64(ids, numbers, present); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(numbers, []int64{-1, math.MaxInt64, 0, math.MinInt64, 2, 1, 0, -1, -2, -3, 0, 0, 0}) ||
		!slices.Equal(present, []bool{true, true, false, true, true, true, false, true, true, true, false, false, false}) {
		t.Fatal(numbers, present)
	}
	flags := make([]uint64, len(ids))
	if err := column(t, blocks, "flags").ReadUint64(ids, flags, present); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(flags, []uint64{0, 1, 8, 1, 1, 1, 4, 0, 2, 1, 0, 0, 0}) ||
		!slices.Equal(present, []bool{false, true, true, true, true, true, true, false, true, true, false, false, false}) {
		t.Fatal(flags, present)
	}
	chunks := make([][]byte, len(ids))
	if err := column(t, blocks, "app.chunks").ReadBytes(ids, chunks); err != nil {
		t.Fatal(err)
	}
	expected := [][]byte{
		[]byte("größe"), []byte("a"), {0xff, 0}, nil, {0xff, 0}, []byte("chunk 17"), nil, {}, []byte("a"), []byte("a"),
		nil, nil, nil,
	}
	for i := range expected {
		if !bytes.Equal(chunks[i], expected[i]) || (chunks[i] == nil) != (expected[i] == nil) {
			t.Fatal(i, chunks[i])
		}
	}
	if err := total.ReadInt64(nil, nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestColumnErrors(t *testing.T) {
	blocks := open(t, folder(t, "columns.cx"))
	if found, err := blocks.Column("none"); found != nil || err != nil {
		t.Fatal(found, err)
	}
	total, ids := column(t, blocks, "total"), idsOf(t, blocks, 10)
	var failure *Error
	err := total.ReadUint64(ids, make([]uint64, 10), make([]bool, 10))
	if !errors.As(err, &failure) || failure.Status != 2 || !strings.Contains(failure.Message, "i64") {
		t.Fatal(err)
	}
	if err := total.ReadBytes(ids, make([][]byte, 10)); !errors.As(err, &failure) || failure.Status != 2 {
		t.Fatal(err)
	}
	for _, err := range []error{
		total.ReadInt64(ids, make([]int64, 9), make([]bool, 10)),
		total.ReadInt64(ids, make([]int64, 10), make([]bool, 11)),
		total.ReadUint64(ids, nil, nil),
		total.ReadBytes(ids, nil),
	} {
		if !errors.As(err, &failure) || failure.Status != 2 || !strings.Contains(failure.Message, "10 ids") {
			t.Fatal(err)
		}
	}

	// A byte in the second chunk of 8 KiB, which has the end of a column.
	path := folder(t, "columns-groups.cx")
	file := filepath.Join(path, "columns-groups.cx")
	damaged, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged[14_000] ^= 0xff
	if err := os.WriteFile(file, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	blocks = open(t, path)
	ids = idsOf(t, blocks, 600)
	err = column(t, blocks, "scattered").ReadUint64(ids, make([]uint64, 600), make([]bool, 600))
	if !errors.As(err, &failure) || failure.Status != 3 || !strings.Contains(failure.Message, "columns-groups.cx") {
		t.Fatal(err)
	}
	// The column keeps the blocks.
	constant := column(t, blocks, "constant")
	blocks.Close()
	numbers, present := make([]int64, 600), make([]bool, 600)
	if err := constant.ReadInt64(ids, numbers, present); err != nil || !present[599] || numbers[599] != 7 {
		t.Fatal(err, numbers[599])
	}
}
