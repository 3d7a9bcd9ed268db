package prometheus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// An index that is written back from chunk lists has the answers of the one that Prometheus wrote, and its bytes if no
// series was left out.
func TestIndexesComeBack(t *testing.T) {
	command(t, "chronoxide-inspect")
	seeds(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		converted := convert(t, w.data)
		merged := filepath.Join(t.TempDir(), "all.cx")
		inputs, _ := filepath.Glob(filepath.Join(converted, "*.cx"))
		run(t, "chronoxide-compact", append(slices.Clone(inputs), "--quiet", "-o", merged)...)
		original := openOracle(t, w.data)
		copied := writtenBack(t, w, merged, original)
		ours := openOracle(t, copied)
		for range 20 {
			mint, maxt := w.times()
			matchers := w.matchers()
			question := fmt.Sprintf("%v in [%d,%d]", matchers, mint, maxt)
			var answers [2][]string
			panicked := false
			for i, blocks := range []oracle{ours, original} {
				querier, err := blocks.Querier(mint, maxt)
				if err != nil {
					t.Fatal(err)
				}
				answers[i] = panicking(true, &panicked, func() []string {
					return collected(t, querier.Select(context.Background(), true, nil, slices.Clone(matchers)...))
				})
				querier.Close()
			}
			if !panicked {
				same(t, question, answers[0], answers[1])
			}
		}
	})
}

// writtenBack returns a copy of a data folder whose indexes are those of chunk lists.
func writtenBack(t *testing.T, w *world, merged string, original oracle) string {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(w.data)); err != nil {
		t.Fatal(err)
	}
	for _, block := range original {
		id := block.Meta().ULID.String()
		index := filepath.Join(copied, id, "index")
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		if !hasColumns(t, merged, id) {
			// All of its samples are deleted.
			if err := os.RemoveAll(filepath.Join(copied, id)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// A block is recognized by the folder of the index.
		run(t, "chronoxide-inspect", "export", merged, "--format", "tsdb-index", "-o", index, "--force", "--quiet")
		after, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		if !w.deletes && len(original) == 1 && !bytes.Equal(before, after) {
			t.Fatalf("%s: other bytes than Prometheus wrote", id)
		}
	}
	return copied
}

// promtool reads each index that is written back, and all samples by it.
func TestPromtoolReadsIndexesThatCameBack(t *testing.T) {
	promtool := os.Getenv("CHRONOXIDE_PROMTOOL")
	if promtool == "" {
		t.Skip("CHRONOXIDE_PROMTOOL is not the path of promtool: see test.sh")
	}
	output := func(arguments ...string) string {
		var found, failure bytes.Buffer
		command := exec.Command(promtool, append([]string{"tsdb"}, arguments...)...)
		command.Stdout, command.Stderr = &found, &failure
		if err := command.Run(); err != nil {
			t.Fatal(arguments, err, failure.String())
		}
		return found.String()
	}
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		merged := filepath.Join(t.TempDir(), "all.cx")
		inputs, _ := filepath.Glob(filepath.Join(convert(t, w.data), "*.cx"))
		run(t, "chronoxide-compact", append(inputs, "--quiet", "-o", merged)...)
		original := openOracle(t, w.data)
		copied := writtenBack(t, w, merged, original)
		// promtool reads no folder without a write-ahead log.
		for _, data := range []string{copied, w.data} {
			if err := os.MkdirAll(filepath.Join(data, "wal"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		dumped := output("dump", copied)
		if dumped == "" || dumped != output("dump", w.data) {
			t.Fatalf("seed %d: other samples", seed)
		}
		for _, block := range original {
			if id := block.Meta().ULID.String(); hasColumns(t, merged, id) {
				output("analyze", "--limit=1", copied, id)
			}
		}
	}
}

// hasColumns returns true if a block has chunk lists of a block of Prometheus.
func hasColumns(t *testing.T, path, id string) bool {
	t.Helper()
	queryable, _, err := Open(path, "", Options{PartialAnswers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer queryable.Close()
	return slices.ContainsFunc(queryable.snapshot.folders, func(folder *listedFolder) bool { return folder.id == id })
}
