package main

import (
	"bytes"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// testdata returns a path in the test data.
func testdata(name string) string {
	root := os.Getenv("CHRONOXIDE_TESTDATA")
	if root == "" {
		root = filepath.Join("..", "..", "testdata")
	}
	return filepath.Join(root, filepath.FromSlash(name))
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// golden is a line of the manifest: a block and the verdict on it.
type golden struct {
	path, rule, class, classes string
	exit                       int
	file                       []byte
}

// goldens returns the blocks of the manifest that are in a folder, or all of them.
func goldens(t *testing.T, folder string) (all []golden) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(load(t, testdata("manifest.tsv")))), "\n")
	if lines[0] != "file\trule\tclass\terror\texit\tclasses\tlevel" {
		t.Fatalf("the manifest is not that of this draft: %q", lines[0])
	}
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		exit, err := strconv.Atoi(f[4])
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f[0], folder) && strings.HasSuffix(f[0], ".cx") {
			all = append(all, golden{testdata(f[0]), f[1], f[2], f[5], exit, load(t, testdata(f[0]))})
		}
	}
	if len(all) == 0 {
		t.Fatalf("no blocks in %q (set CHRONOXIDE_TESTDATA)", folder)
	}
	return all
}

func TestManifest(t *testing.T) {
	for _, g := range goldens(t, "") {
		var out, errs bytes.Buffer
		code, prefix := run([]string{"verify", g.path}, &out, &errs), ""
		if g.exit != 0 {
			prefix = g.path + ": " + g.rule + ": "
		} else if g.classes == "R" {
			prefix = g.path + ": note: "
		}
		if code != g.exit || !strings.HasPrefix(errs.String(), prefix) || prefix == "" && errs.Len() > 0 || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", g.path, code, errs.String(), out.String())
		}
		if g.exit != 0 && g.class != "C" {
			continue
		}
		if code := run([]string{"dump", g.path}, &out, &errs); code != 0 {
			t.Errorf("%s: dump exits with %d", g.path, code)
			continue
		}
		if g.exit == 0 {
			want := load(t, strings.TrimSuffix(g.path, ".cx")+".txt")
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s: the dump differs: %s", g.path, firstDifference(out.String(), string(want)))
			}
		}
		findAll(t, g.path, g.file)
	}
}

func firstDifference(got, want string) string {
	a, b := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return "got " + a[i] + "want " + b[i]
		}
	}
	return "one is longer"
}

// TestUnknownReadOnlyBit checks that with such a bit rules of class C are not checked, and rules of class R are.
func TestUnknownReadOnlyBit(t *testing.T) {
	for _, g := range goldens(t, "broken/") {
		switch b, err := read(g.file); {
		case b.sections == nil || b.RoCompat != 0:
			continue // the header or the directory is broken
		case err != nil && strings.Contains("front-checksum chunk-checksum checks-checksum block-id", g.rule):
			continue // sealing would repair it
		}
		le.PutUint32(g.file[16:], 1<<31)
		if seal(g.file); g.rule != "fingerprint" {
			sealIdentity(g.file)
		}
		unknown, err := verify(g.file)
		if (g.class == "C") != (err == nil) || err == nil && unknown != 1<<31 {
			t.Errorf("%s: %v, unknown bits %#x", g.path, err, unknown)
		}
	}
}

func TestGoldenFlipsAndTruncations(t *testing.T) {
	for _, g := range goldens(t, "golden/") {
		if len(g.file) < 1000 {
			mustRefuseDamage(t, g.path, g.file)
		}
	}
}

func TestDamageOfGoldens(t *testing.T) {
	random, broken := rand.New(rand.NewSource(1)), map[string]int{}
	for _, g := range goldens(t, "") {
		if len(g.file) > headerLen && len(g.file) <= 20000 {
			damage(t, g.path, g.file, 300, random, broken)
		}
	}
	t.Logf("rules that were broken: %v", broken)
}
