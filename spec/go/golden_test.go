package main

import (
	"bytes"
	"hash/crc32"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blocks returns the paths of the blocks in a folder of the test data. There must be some.
func blocks(t *testing.T, folder string) []string {
	t.Helper()
	root := os.Getenv("CHRONOXIDE_TESTDATA")
	if root == "" {
		root = filepath.Join("..", "..", "testdata")
	}
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.cx"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no blocks in %s (set CHRONOXIDE_TESTDATA)", filepath.Join(root, folder))
	}
	return paths
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// findAll checks that each labelset of a block is found with its own ref, and that changed labelsets are not.
func findAll(t *testing.T, path string, file []byte) {
	t.Helper()
	b, err := openToRead(file)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	for ref := uint64(0); ref < b.seriesEnd(); ref++ {
		labels := b.series(ref)
		got, found := b.find(append(labels, label{"an absent label", ""}))
		if b.err != nil || !found || got != ref {
			t.Fatalf("%s: series %d %q is found as %d, %t, %v", path, ref, labels, got, found, b.err)
		}
		for i := range labels {
			less := append(append([]label{}, labels[:i]...), labels[i+1:]...)
			if got, found := b.find(less); found && got == ref {
				t.Errorf("%s: series %d is found without label %d", path, ref, i)
			}
			less = append(less, label{labels[i].name, labels[i].value + "\x01 no such value"})
			if got, found := b.find(less); found {
				t.Errorf("%s: %q is found as %d", path, less, got)
			}
		}
	}
}

func TestGolden(t *testing.T) {
	for _, path := range blocks(t, "golden") {
		file := load(t, path)
		if unknown, err := verify(file); err != nil {
			t.Errorf("%s: %v (unknown bits %#x)", path, err, unknown)
			continue
		}
		want := load(t, strings.TrimSuffix(path, ".cx")+".txt")
		var got bytes.Buffer
		if err := dump(file, &got); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the dump differs: %s", path, firstDifference(got.String(), string(want)))
		}
		findAll(t, path, file)
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

// ruleOf returns the rule after which a broken block is named.
func ruleOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".cx"), "--")
	return name
}

func TestBroken(t *testing.T) {
	for _, path := range blocks(t, "broken") {
		_, err := verify(load(t, path))
		if rule, ok := err.(*ruleError); !ok || rule.rule != ruleOf(path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// formRules are the rules of class C.
var formRules = map[string]bool{"catalogue-widths": true, "catalogue-padding": true, "symbols-widths": true,
	"symbols-padding": true, "symbols-used": true, "column-width": true, "rows-padding": true,
	"leaves-needed": true, "columns-order": true, "map-needed": true, "rows-used": true, "pool-order": true,
	"list-order": true, "list-used": true, "members-padding": true, "meta-padding": true, "meta-parents": true,
	"metric-widths": true, "metric-padding": true, "metric-text-used": true}

// TestReadingWithoutFormRules checks that a block that breaks a rule of class C alone is read as one that breaks none.
func TestReadingWithoutFormRules(t *testing.T) {
	for _, path := range blocks(t, "broken") {
		if !formRules[ruleOf(path)] {
			continue
		}
		file := load(t, path)
		if err := dump(file, io.Discard); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		findAll(t, path, file)
	}
}

// TestUnknownReadOnlyBit checks that with such a bit rules of class C are not checked, and rules of class R are.
func TestUnknownReadOnlyBit(t *testing.T) {
	for _, path := range blocks(t, "broken") {
		file := load(t, path)
		if b, err := open(file); err != nil || b.RoCompat != 0 {
			continue
		}
		le.PutUint32(file[16:], 1<<31)
		if rule := ruleOf(path); rule == "chunk-checksum" || rule == "checks-checksum" || rule == "block-id" {
			continue // sealing would repair it
		}
		before := ruleOf(path) != "fingerprint"
		seal(file)
		if before {
			sealIdentity(file)
		}
		unknown, err := verify(file)
		if formRules[ruleOf(path)] != (err == nil) || unknown != 1<<31 {
			t.Errorf("%s: %v, unknown bits %#x", path, err, unknown)
		}
	}
}

// TestCommands checks the exit codes and what the commands print.
func TestCommands(t *testing.T) {
	one := filepath.Join(filepath.Dir(blocks(t, "golden")[0]), "one-series.cx")
	broken := filepath.Dir(blocks(t, "broken")[0])
	version, magic := filepath.Join(broken, "version.cx"), filepath.Join(broken, "magic.cx")
	for _, c := range []struct {
		args string
		code int
		out  string
	}{
		{"", 2, ""}, {"verify", 2, ""}, {"find " + one, 2, ""}, {"find " + one + " up", 2, ""},
		{"verify " + one, 0, ""}, {"verify " + one + " /nonexistent", 1, ""}, {"verify " + version + " " + one, 4, ""},
		{"verify " + version + " " + magic + " /nonexistent", 3, ""}, {"verify " + magic + " " + version, 3, ""},
		{"dump " + version, 4, ""}, {"dump " + magic, 3, ""}, {"dump /nonexistent", 1, ""},
		{"find " + one + " job=api __name__=up absent=", 0, "0\n"}, {"find " + one + " job=api", 5, ""},
	} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(c.args), &out, &errs); code != c.code || out.String() != c.out {
			t.Errorf("%q: exit code %d, output %q, errors %q", c.args, code, out.String(), errs.String())
		}
	}
}

func TestFlipsAndTruncations(t *testing.T) {
	for _, path := range blocks(t, "golden") {
		file := load(t, path)
		if len(file) >= 1000 {
			continue
		}
		for bit := 0; bit < 8*len(file); bit++ {
			file[bit/8] ^= 1 << (bit % 8)
			if _, err := verify(file); err == nil {
				t.Errorf("%s: bit %d may be flipped", path, bit)
			}
			file[bit/8] ^= 1 << (bit % 8)
		}
		for n := range file {
			if _, err := verify(file[:n:n]); err == nil {
				t.Errorf("%s: %d bytes are a block", path, n)
			}
		}
	}
}

// seal makes the checksums of a file right, as far as its header and directory allow.
func seal(file []byte) {
	b := &block{file: file}
	decode(file, &b.header)
	b.directoryEnd = headerLen + uint64(b.SectionCount)*entryLen
	if b.directoryEnd <= uint64(len(file)) {
		le.PutUint32(file[52:], b.crc(file[headerLen:b.directoryEnd]))
		for end := b.directoryEnd; end <= uint64(len(file)); end++ {
			b.sectionsEnd = end
			if end+4*b.chunks() == uint64(len(file)) {
				break
			}
		}
		for n := uint64(0); n < b.chunks(); n++ {
			from := min(max(n*chunkLen, b.directoryEnd), (n+1)*chunkLen)
			to := max(from, min((n+1)*chunkLen, b.sectionsEnd))
			le.PutUint32(file[b.sectionsEnd+4*n:], b.crcAt(n, file[from:to]))
		}
		le.PutUint32(file[56:], b.crcAt(math.MaxUint64, file[b.sectionsEnd:]))
	}
	le.PutUint32(file[60:], crc32.ChecksumIEEE(file[:60]))
}

// sealIdentity makes counts, fingerprint and id right too, so that verification goes on to the rules after them.
func sealIdentity(file []byte) {
	b, _, err := verifyReading(file)
	for i := 0; err != nil && i < 3; i++ {
		b.err = nil
		switch err.(*ruleError).rule {
		case "fingerprint":
			fingerprint := b.fingerprint()
			le.PutUint64(b.metaData[16:], fingerprint[0])
			le.PutUint64(b.metaData[24:], fingerprint[1])
		case "block-id":
			id := b.blockID()
			copy(file[24:], id[:])
		default:
			return
		}
		seal(file)
		b, _, err = verifyReading(file)
	}
}

// TestDamage damages blocks and seals them, so that the damage reaches the rules behind the checksums. Nothing may
// panic or go on for long, and no two files that keep all rules may have one id.
func TestDamage(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	broken := map[string]int{}
	for _, path := range append(blocks(t, "golden"), blocks(t, "broken")...) {
		original := load(t, path)
		if len(original) < headerLen || len(original) > 20000 {
			continue
		}
		for i := 0; i < 300; i++ {
			file := bytes.Clone(original)
			for n := 1 + random.Intn(3); n > 0; n-- {
				at := headerLen + random.Intn(len(file)-headerLen)
				if random.Intn(2) == 0 { // the first sections are the ones with counts
					at = headerLen + random.Intn(min(len(file)-headerLen, 400))
				}
				switch random.Intn(4) {
				case 0:
					file[at] = byte(random.Intn(256))
				case 1:
					file[at] = 0xff
				default:
					file[at] ^= 1 << random.Intn(8)
				}
			}
			seal(file)
			sealIdentity(file)
			if unknown, err := verify(file); err != nil {
				broken[err.(*ruleError).rule]++
			} else if unknown == 0 && bytes.Equal(file[24:40], original[24:40]) && !bytes.Equal(file, original) {
				if _, err := verify(original); err == nil {
					t.Errorf("%s: another sound file has the same block id", path)
				}
			}
			b, err := openToRead(file)
			if err != nil {
				continue
			}
			for n := 0; n < 20; n++ {
				if b.seriesEnd() > 0 {
					b.err = nil
					b.find(b.series(uint64(random.Int63n(int64(b.seriesEnd())))))
				}
			}
		}
	}
	t.Logf("rules that were broken: %v", broken)
}
