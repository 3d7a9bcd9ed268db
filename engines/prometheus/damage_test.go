package prometheus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"chronoxide/prometheus/internal/synthetic"
)

var up = labels.MustNewMatcher(labels.MatchEqual, "__name__", "up")

// twoHours writes two blocks, one after the other, with a sample each minute of one series.
func twoHours(t *testing.T) (data string, folders []string) {
	data = t.TempDir()
	for number := range 2 {
		var list []chunks.Sample
		for minute := range 60 {
			list = append(list, synthetic.Sample{Time: int64(number*hour + minute*60_000), Value: float64(minute)})
		}
		series := []storage.Series{storage.NewListSeries(labels.FromStrings("__name__", "up"), list)}
		folder, err := tsdb.CreateBlock(series, data, hour, quiet)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, folder)
	}
	return data, folders
}

// selectUp counts the samples of one series.
func selectUp(t *testing.T, queryable *Queryable, mint, maxt int64) (count int, warnings annotations.Annotations, err error) {
	t.Helper()
	querier, err := queryable.Querier(mint, maxt)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	set := querier.Select(context.Background(), false, nil, up)
	for set.Next() {
		iterator := set.At().Iterator(nil)
		for iterator.Next() != 0 {
			count++
		}
		if iterator.Err() != nil {
			return count, nil, iterator.Err()
		}
	}
	return count, set.Warnings(), set.Err()
}

func TestErrorsNameTheFolder(t *testing.T) {
	data, folders := twoHours(t)
	converted := convert(t, data)
	queryable := open(t, converted, data)
	if count, warnings, err := selectUp(t, queryable, 0, 2*hour); count != 120 || len(warnings) > 0 || err != nil {
		t.Fatal(count, warnings, err)
	}

	// A flipped bit of a sample, behind the 8 bytes of the file and the length of the chunk.
	segment := filepath.Join(folders[0], "chunks", "000001")
	content, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	content[20] ^= 1
	if err := os.WriteFile(segment, content, 0o644); err != nil {
		t.Fatal(err)
	}
	damaged := open(t, converted, data)
	if _, _, err := selectUp(t, damaged, 0, 2*hour); err == nil || !strings.Contains(err.Error(), filepath.Base(folders[0])) {
		t.Fatal(err)
	}
	if count, _, err := selectUp(t, damaged, hour, 2*hour); count != 60 || err != nil {
		t.Fatal("the other hour is sound", count, err)
	}

	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	missing, failures, err := Open(converted, data, Options{})
	if err != nil || len(failures) != 1 || !errors.Is(failures[0], os.ErrNotExist) {
		t.Fatal(failures, err)
	}
	defer missing.Close()
	if _, _, err := selectUp(t, missing, 0, 2*hour); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), folders[0]) {
		t.Fatal(err)
	}
	if count, _, err := selectUp(t, missing, hour, 2*hour); count != 60 || err != nil {
		t.Fatal("the other hour is there", count, err)
	}
	partial, _, err := Open(converted, data, Options{PartialAnswers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer partial.Close()
	count, warnings, err := selectUp(t, partial, 0, 2*hour)
	if count != 60 || err != nil || len(warnings) != 1 || !strings.Contains(warnings.AsErrors()[0].Error(), folders[0]) {
		t.Fatal(count, warnings, err)
	}
}

func TestLostChunkFilesAreAnErrorOrAWarning(t *testing.T) {
	data, folders := twoHours(t)
	converted := convert(t, data)
	if err := os.RemoveAll(filepath.Join(folders[1], "chunks")); err != nil {
		t.Fatal(err)
	}
	strict := open(t, converted, data)
	if _, _, err := selectUp(t, strict, 0, 2*hour); err == nil || !strings.Contains(err.Error(), folders[1]) {
		t.Fatal(err)
	}
	partial, _, err := Open(converted, data, Options{PartialAnswers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer partial.Close()
	count, warnings, err := selectUp(t, partial, 0, 2*hour)
	if count != 60 || err != nil || len(warnings) != 1 || !strings.Contains(warnings.AsErrors()[0].Error(), folders[1]) {
		t.Fatal(count, warnings, err)
	}
}

// Blocks are merged, and split again, while queries run.
func TestQueriesRunBesideReloads(t *testing.T) {
	data, _ := twoHours(t)
	converted := convert(t, data)
	single, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
	merged := filepath.Join(t.TempDir(), "merged.cx")
	run(t, "chronoxide-compact", append(slices.Clone(single), "--quiet", "-o", merged)...)
	queryable := open(t, converted, data)
	var running sync.WaitGroup
	var ended atomic.Bool
	for range 3 {
		running.Go(func() {
			for !ended.Load() {
				if count, warnings, err := selectUp(t, queryable, 0, 2*hour); count != 120 || len(warnings) > 0 || err != nil {
					t.Error(count, warnings, err)
					return
				}
			}
		})
	}
	added := filepath.Join(converted, "merged.cx")
	for range 30 {
		if err := os.Link(merged, added); err != nil {
			t.Error(err)
		}
		if warnings, err := queryable.Reload(); err != nil || len(warnings) > 0 {
			t.Error(warnings, err)
		}
		if err := os.Remove(added); err != nil {
			t.Error(err)
		}
		if warnings, err := queryable.Reload(); err != nil || len(warnings) > 0 {
			t.Error(warnings, err)
		}
	}
	ended.Store(true)
	running.Wait()
}

func TestDamagedBlocksAreLeftOutWithAWarning(t *testing.T) {
	data, _ := twoHours(t)
	converted := convert(t, data)
	paths, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
	if err := os.WriteFile(paths[0], []byte("not a block"), 0o644); err != nil {
		t.Fatal(err)
	}
	queryable, warnings, err := Open(converted, data, Options{})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Error(), paths[0]) {
		t.Fatal(warnings, err)
	}
	defer queryable.Close()
	if count, _, err := selectUp(t, queryable, 0, 2*hour); count != 60 || err != nil {
		t.Fatal(count, err)
	}
}

func TestQueriersKeepTheirBlocksOverAReload(t *testing.T) {
	data, _ := twoHours(t)
	converted := convert(t, data)
	queryable := open(t, converted, data)
	old, err := queryable.Querier(0, 2*hour)
	if err != nil {
		t.Fatal(err)
	}
	set := old.Select(context.Background(), false, nil, up)
	paths, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
	merged := filepath.Join(t.TempDir(), "merged.cx")
	run(t, "chronoxide-compact", paths[0], paths[1], "--quiet", "-o", merged)
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(merged, filepath.Join(converted, "merged.cx")); err != nil {
		t.Fatal(err)
	}
	if warnings, err := queryable.Reload(); len(warnings) > 0 || err != nil {
		t.Fatal(warnings, err)
	}
	if count, _, err := selectUp(t, queryable, 0, 2*hour); count != 120 || err != nil {
		t.Fatal(count, err)
	}
	if !set.Next() || set.Err() != nil {
		t.Fatal(set.Err())
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if old.Close() == nil {
		t.Fatal("closed twice")
	}
	for range 2 {
		if err := queryable.Close(); err != nil {
			t.Fatal("closing twice is harmless", err)
		}
	}
	if _, err := queryable.Querier(0, 1); !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := queryable.Reload(); !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
}

func TestContextsAndLimitsEndQueries(t *testing.T) {
	queryable, _ := manyPods(t, 3000)
	querier, err := queryable.Querier(minTime, maxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	set := querier.Select(ctx, true, nil, up)
	if !set.Next() {
		t.Fatal(set.Err())
	}
	cancel()
	for set.Next() {
	}
	if !errors.Is(set.Err(), context.Canceled) {
		t.Fatal(set.Err())
	}
	queryable.options.MaxSeries = 2999
	limited, err := queryable.Querier(minTime, maxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	if set := limited.Select(context.Background(), false, nil, up); set.Next() || !strings.Contains(set.Err().Error(), "2999") {
		t.Fatal(set.Err())
	}
	values, _, err := limited.LabelValues(context.Background(), "pod", &storage.LabelHints{Limit: 3})
	if err != nil || len(values) != 3 || values[0] != "pod-0" {
		t.Fatal(values, err)
	}
}

func TestBlocksWithoutChunkListsHaveNoSamples(t *testing.T) {
	data, folders := twoHours(t)
	plain := t.TempDir()
	run(t, "chronoxide-ingest", "--quiet", data, "-o", plain+"/")
	queryable, warnings, err := Open(plain, data, Options{})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "no block has chunk lists") {
		t.Fatal(warnings, err)
	}
	defer queryable.Close()
	if count, _, err := selectUp(t, queryable, 0, 2*hour); count != 0 || err != nil {
		t.Fatal(count, err)
	}
	paths, _ := filepath.Glob(filepath.Join(plain, "*.cx"))
	if _, err := OpenBlock(paths[0], folders[0]); err == nil || !strings.Contains(err.Error(), "prometheus.chunks/") {
		t.Fatal(err)
	}
	if _, err := OpenBlock(plain, folders[0]); err == nil || !strings.Contains(err.Error(), "2 blocks, not one") {
		t.Fatal(err)
	}
	if _, err := OpenBlock(paths[0], data); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
