package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneSeries is the block of section 14.
func oneSeries() testBlock {
	return testBlock{symbols: []string{"__name__", "api", "job", "up"},
		keys:   []testKey{{0, []uint64{3}}, {2, []uint64{1}}},
		tables: []testTable{{domains: []uint64{1, 2}, rows: [][]uint64{{0, 0}}}}, keysets: 1, labels: 2, form: bitPacked}
}

// shared has an inner table over two keys, which a keyset uses with a third key. Leaves are written out.
func shared() testBlock {
	return testBlock{symbols: []string{"1", "2", "3", "a", "b", "c"},
		keys: []testKey{{3, []uint64{0, 1}}, {4, []uint64{1}}, {5, []uint64{0, 2}}},
		tables: []testTable{{domains: []uint64{1, 3}, rows: [][]uint64{{0, 0}, {0, 1}, {1, 1}}},
			{domains: []uint64{4, 2}, leaves: []uint64{0, 1, 0}, rows: [][]uint64{{0, 0}, {1, 0}, {2, 0}}}},
		keysets: 1, labels: 9, form: bitPacked}
}

// lists has a pool over a dictionary of n values with the given low bits, and two prefixes.
func lists(n, low uint64, lists ...[]uint64) testBlock {
	d := testBlock{symbols: []string{}, form: bitPacked, keysets: 1}
	all, rows := []uint64{}, [][]uint64{}
	for i := uint64(0); i < n; i++ {
		d.symbols = append(d.symbols, fmt.Sprintf("%03d", i))
		all = append(all, i)
	}
	for i := range lists {
		rows = append(rows, []uint64{uint64(i), uint64(i)})
		d.labels += 2 * uint64(len(lists[i]))
	}
	d.symbols = append(d.symbols, "a", "b")
	d.keys = []testKey{{n, all[:len(lists)]}, {n + 1, all}}
	d.tables = []testTable{{domains: []uint64{1, 4}, rows: rows}}
	d.pools = []testPool{{1, low, lists}}
	return d
}

// chain has a keyset table over a chain of maps, whose depth is given.
func chain(depth int) testBlock {
	d := testBlock{symbols: []string{"1", "2", "a"}, keys: []testKey{{2, []uint64{0, 1}}}, keysets: 1, labels: 2}
	for i := 0; i < depth; i++ {
		d.tables = append(d.tables, testTable{domains: []uint64{uint64(1 + i)}, rows: [][]uint64{{0}, {1}}})
	}
	return d
}

// metricSection is metric metadata of one row, with a type, temporality and monotonicity.
func metricSection(numbers ...uint64) []byte {
	row := append(append([]uint64{2}, numbers...), 1, 0)
	var s bitWriter
	widths, textWidths := make([]byte, 6), make([]byte, 1)
	s.putRecords(widths, [][]uint64{row})
	s.putRecords(textWidths, [][]uint64{{1}, {3}})
	data := le.AppendUint32(le.AppendUint32(nil, 1), 2)
	data = append(append(append(data, widths...), textWidths[0], 0), s.data...)
	return append(append(data, make([]byte, closingLen)...), "sup"...)
}

func values(n uint64) (all []uint64) {
	for i := uint64(0); i < n; i++ {
		all = append(all, i)
	}
	return all
}

// with returns a block with a change to its description.
func with(d testBlock, change func(d *testBlock)) testBlock {
	change(&d)
	return d
}

// setByte returns a change of a byte of a section.
func setByte(kind uint32, at int, value byte) func(kind uint32, data []byte) []byte {
	return func(k uint32, data []byte) []byte {
		if data = bytes.Clone(data); k == kind {
			data[at] = value
		}
		return data
	}
}

var testBlocks = []struct {
	name      string
	block     testBlock
	rule      string // that it breaks; empty if it is sound
	relaxed   string // that it breaks with an unknown bit in ro_compat
	dumpHolds string
}{
	{name: "one series", block: oneSeries(), dumpHolds: "series 1\n  0 \"__name__\"=\"up\" \"job\"=\"api\"\n"},
	{name: "empty", block: testBlock{}, dumpHolds: "keysets 0\nseries 0\n"},
	{name: "fixed width", block: with(shared(), func(d *testBlock) { d.form = 0 }), dumpHolds: "rows fixedwidth\n"},
	{name: "shared", block: shared(), dumpHolds: "  2 \"a\"=\"2\" \"b\"=\"2\" \"c\"=\"3\"\n"},
	{name: "packed arena", block: with(shared(), func(d *testBlock) { d.packed = true }),
		dumpHolds: "arena 6 bytes packed into 26\n"},
	{name: "map over maps", block: chain(10), dumpHolds: "table 9 map rows 2"},
	{name: "too deep", block: chain(11), rule: "table-depth", relaxed: "table-depth"},
	{name: "long meta", block: with(shared(), func(d *testBlock) { d.parents = 1000 }), dumpHolds: "checks 3 offset 16"},
	{name: "unknown row form", block: with(shared(), func(d *testBlock) { d.change = setByte(kindMeta, 116, 7) }),
		rule: "meta-padding", dumpHolds: "  rows unknown-7\n"},
	{name: "unused symbol", block: with(shared(), func(d *testBlock) { d.symbols = append(d.symbols, "d") }),
		rule: "symbols-used", dumpHolds: "  6 \"d\"\n"},
	{name: "written leaves of a map", block: with(chain(2), func(d *testBlock) { d.tables[1].leaves = []uint64{0} }),
		rule: "leaves-needed", dumpHolds: "    leaf 0 column 0 position 0\n"},
	{name: "columns out of order", rule: "columns-order", dumpHolds: "  0 \"a\"=\"1\" \"b\"=\"2\" \"c\"=\"1\"\n",
		block: with(shared(), func(d *testBlock) {
			d.tables[1] = testTable{[]uint64{2, 4}, []uint64{1, 0, 1}, [][]uint64{{0, 0}, {0, 1}, {0, 2}}}
		})},

	{name: "unused row, values used", rule: "rows-used", block: with(shared(), func(d *testBlock) {
		d.tables[1].rows, d.labels = [][]uint64{{0, 0}, {2, 0}}, 6
	})},
	{name: "value of an unused row", rule: "values-used", relaxed: "values-used",
		block: with(shared(), func(d *testBlock) { d.tables[1].rows, d.labels = [][]uint64{{0, 0}, {1, 0}}, 6 })},
	{name: "unused value", rule: "values-used", relaxed: "values-used", block: with(oneSeries(), func(d *testBlock) {
		d.keys[1].values = []uint64{1, 3}
	})},
	{name: "value of an unused row, two tables down", rule: "values-used", relaxed: "values-used",
		block: with(chain(3), func(d *testBlock) { d.tables[2].rows, d.labels = [][]uint64{{0}}, 1 })},
	{name: "value of no series", rule: "values-used", relaxed: "values-used",
		block: testBlock{symbols: []string{"1", "a"}, keys: []testKey{{1, []uint64{0}}}}},
	{name: "unused list, values used", rule: "list-used", block: with(lists(5, 3, []uint64{0, 1, 2, 3, 4}, []uint64{3, 4}),
		func(d *testBlock) {
			d.tables[0].rows, d.keys[0].values, d.labels = [][]uint64{{0, 0}}, []uint64{0}, 10
		})},
	{name: "value of an unused list", rule: "values-used", relaxed: "values-used",
		block: with(lists(5, 3, []uint64{0, 1, 2}, []uint64{3, 4}), func(d *testBlock) {
			d.tables[0].rows, d.keys[0].values, d.labels = [][]uint64{{0, 0}}, []uint64{0}, 6
		})},

	{name: "lists", block: lists(5, 3, []uint64{0, 1, 2}, []uint64{2, 3, 4}), dumpHolds: "    list 1 2 3 4\n"},
	{name: "lists of upper bits", block: lists(5, 0, []uint64{0, 1, 2}, []uint64{2, 3, 4}), dumpHolds: " low 0\n"},
	{name: "lists of upper and low bits", block: lists(64, 4, values(64), []uint64{3, 5, 6, 40}),
		dumpHolds: "    list 1 3 5 6 40\n"},
	{name: "lists over one row", block: lists(1, 0, []uint64{0}), dumpHolds: "lists 1 members 1 low 0\n"},
	{name: "low bits without need", rule: "column-width", dumpHolds: " low 5\n",
		block: lists(5, 5, []uint64{0, 1, 2}, []uint64{2, 3, 4})},
	{name: "low bits of bytes", block: with(lists(5, 8, []uint64{0, 1, 2}, []uint64{2, 3, 4}), func(d *testBlock) {
		d.form = 0
	})},
	{name: "low bits of no byte", rule: "column-width", block: with(lists(5, 3, []uint64{0, 1, 2}, []uint64{2, 3, 4}),
		func(d *testBlock) { d.form = 0 })},
	{name: "too many low bits", rule: "list-upper", relaxed: "list-upper",
		block: lists(5, 33, []uint64{0, 1, 2}, []uint64{2, 3, 4})},
	{name: "equal lists", rule: "list-order", block: lists(3, 2, []uint64{0, 1, 2}, []uint64{0, 1, 2})},

	{name: "optional section", dumpHolds: "  optional-3221225479 9 offset ", block: with(shared(), func(d *testBlock) {
		d.sections = []testSection{{1<<31 + 1<<30 + 7, 9, []byte("x")}}
	})},
	{name: "private section without owner", block: with(shared(), func(d *testBlock) {
		d.sections = []testSection{{1<<31 + 1<<28 + 7, 2, nil}, {1<<31 + 1<<28 + 7, 5, []byte("x")}}
	})},
	{name: "unknown section", rule: "section-unknown", relaxed: "section-unknown", block: with(shared(),
		func(d *testBlock) { d.sections = []testSection{{8, 0, nil}} })},
	{name: "two arenas", rule: "section-required", relaxed: "section-required", block: with(shared(),
		func(d *testBlock) { d.sections = []testSection{{kindPackedArena, 0, frame([]byte("123abc"))}} })},
	{name: "id of a required section", rule: "section-required", relaxed: "section-required", block: with(shared(),
		func(d *testBlock) { d.sections = []testSection{{kindArena, 1, nil}} })},
	{name: "metrics", dumpHolds: "metrics 1\n  0 \"up\" sum cumulative monotonic \"s\" \"\"\n", block: with(shared(),
		func(d *testBlock) { d.sections = []testSection{{kindMetrics, 0, metricSection(2, 2, 1)}} })},
	{name: "unknown metrics", dumpHolds: "metrics 1\n  0 \"up\" unknown-9 unknown-3 unknown-2 \"s\" \"\"\n",
		block: with(shared(), func(d *testBlock) {
			d.packed, d.sections = true, []testSection{{kindPackedMetrics, 0, frame(metricSection(9, 3, 2))}}
		})},
	{name: "two metrics", rule: "packed-header", relaxed: "packed-header", block: with(shared(), func(d *testBlock) {
		section := metricSection(0, 0, 0)
		d.packed, d.sections = true, []testSection{{kindMetrics, 0, section}, {kindPackedMetrics, 0, frame(section)}}
	})},
	{name: "packed metrics without an archive", block: with(shared(), func(d *testBlock) {
		d.sections = []testSection{{kindPackedMetrics, 1, []byte("not a frame")}}
	})},
	{name: "id of metrics", rule: "metric-header", relaxed: "metric-header", block: with(shared(), func(d *testBlock) {
		d.sections = []testSection{{kindMetrics, 1, metricSection(0, 0, 0)}}
	})},
	{name: "long content", rule: "packed-header", relaxed: "packed-header", block: with(shared(), func(d *testBlock) {
		d.packed, d.change = true, setByte(kindPackedArena, 6, 1)
	})},
}

func TestBlocks(t *testing.T) {
	for _, c := range testBlocks {
		path := filepath.Join(t.TempDir(), "block.cx")
		for i, rule := range []string{c.rule, c.relaxed} {
			c.block.roCompat = uint32(i) << 31
			file := c.block.build()
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			want, prefix := 0, ""
			switch {
			case rule == "section-unknown":
				want = exitUnsupported
			case rule != "":
				want = exitCorrupt
			case i == 1:
				prefix = path + ": note: "
			}
			if rule != "" {
				prefix = path + ": " + rule + ": "
			}
			var out, errs bytes.Buffer
			code := run([]string{"verify", path}, &out, &errs)
			if code != want || !strings.HasPrefix(errs.String(), prefix) || prefix == "" && errs.Len() > 0 || out.Len() > 0 {
				t.Errorf("%s, ro_compat %x: exit code %d, %q", c.name, c.block.roCompat, code, errs.String())
			}
			if c.relaxed != "" {
				continue
			}
			code = run([]string{"dump", path}, &out, &errs)
			if code != 0 || !strings.Contains(out.String(), c.dumpHolds) {
				t.Errorf("%s: no %q in the dump: exit code %d, %s", c.name, c.dumpHolds, code, out.String())
			}
			findAll(t, c.name, file)
		}
	}
}

// TestWorkedBlock compares sections with those of section 14.
func TestWorkedBlock(t *testing.T) {
	file := oneSeries().build()
	want := `02 00 00 00 03 00 00 00 00 00 00 00 01 00 00 00 10 00 00 00 00 00 00 00 02 01 00 02 00 01 00 00
		02 00 02 00 00 00 00 00 01 00 DC 01 01 02 90 01 00 00 00 00 00 00 00 00
		04 00 00 00 00 05 00 00 68 39 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
		5F 5F 6E 61 6D 65 5F 5F 61 70 69 6A 6F 62 75 70`
	data, err := hex.DecodeString(strings.Join(strings.Fields(want), ""))
	if err != nil || len(file) != 431 || !bytes.Equal(file[0x148:0x1ab], data) {
		t.Errorf("%d bytes, %x, not %x, %v", len(file), file[0x148:], data, err)
	}
}

// TestList compares a list with the example of section 8.
func TestList(t *testing.T) {
	b, err := read(lists(64, 4, values(64), []uint64{3, 5, 6, 40}).build())
	if err != nil {
		t.Fatal(err)
	}
	p := b.pools[0]
	at, got := p.startBit(1, 64), []byte{}
	for i := uint64(0); i < 24; i += 8 {
		got = append(got, byte(field(b.members, at+i, min(8, 23-i))))
	}
	if !bytes.Equal(got, []byte{0x53, 0x86, 0x27}) {
		t.Errorf("%x", got)
	}
}

// TestFront changes header and front, and makes the checksum of the header right.
func TestFront(t *testing.T) {
	for _, c := range []struct {
		at    int
		value byte
		rule  string
	}{
		{0, 0, "magic"}, {8, 2, "version"}, {10, 5, "block-id"}, {12, 2, "incompat-features"}, {40, 0, "file-len"},
		{48, 0, "directory-extent"}, {49, 5, "directory-extent"}, {82, 2, "directory-extent"}, {82, 0xff, "directory-extent"},
		{52, 0, "front-checksum"}, {64, 0, "front-checksum"}, {headerLen + 6*entryLen, 9, "front-checksum"},
		{56, 0, "checks-checksum"}, {0x148, 9, "chunk-checksum"}, {0x1ab, 9, "chunk-checksum"},
	} {
		file := oneSeries().build()
		file[c.at] = c.value
		sealHeader(file)
		if _, err := verify(file); err == nil || err.(*ruleError).rule != c.rule {
			t.Errorf("byte %d: %v", c.at, err)
		}
	}
}

// findAll checks that each labelset of a block is found with its own ref, and that changed labelsets are not.
func findAll(t *testing.T, name string, file []byte) {
	t.Helper()
	b, err := read(file)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	ref := uint64(0)
	b.eachSeries(func(labels []label) {
		if got, found := b.find(append(labels, label{"an absent label", ""})); !found || got != ref {
			t.Fatalf("%s: series %d %q is found as %d, %t", name, ref, labels, got, found)
		}
		for i := range labels {
			less := append(append([]label{}, labels[:i]...), labels[i+1:]...)
			if got, found := b.find(less); found && got == ref {
				t.Errorf("%s: series %d is found without label %d", name, ref, i)
			}
			less = append(less, label{labels[i].name, labels[i].value + "\x01 no such value"})
			if got, found := b.find(less); found {
				t.Errorf("%s: %q is found as %d", name, less, got)
			}
		}
		ref++
	})
}

// mustRefuseDamage checks that no bit of a file may be flipped, and that nothing may be cut off.
func mustRefuseDamage(t *testing.T, name string, file []byte) {
	t.Helper()
	for bit := 0; bit < 8*len(file); bit++ {
		file[bit/8] ^= 1 << (bit % 8)
		if _, err := verify(file); err == nil {
			t.Errorf("%s: bit %d may be flipped", name, bit)
		}
		file[bit/8] ^= 1 << (bit % 8)
	}
	for n := range file {
		if _, err := verify(file[:n:n]); err == nil {
			t.Errorf("%s: %d bytes are a block", name, n)
		}
	}
}

// damage changes a file some times and seals it, so that the damage reaches the rules behind the checksums. Nothing may
// panic or go on for long, and no two files that keep all rules may have one id.
func damage(t *testing.T, name string, original []byte, times int, random *rand.Rand, broken map[string]int) {
	t.Helper()
	for ; times > 0; times-- {
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
		sealIdentity(file)
		_, err := verify(file)
		if err != nil {
			broken[err.(*ruleError).rule]++
			continue
		}
		broken[""]++
		if bytes.Equal(file[24:40], original[24:40]) && !bytes.Equal(file, original) {
			if _, err := verify(original); err == nil {
				t.Errorf("%s: another sound file has the same block id", name)
			}
		}
	}
}

func TestDamageOfBlocks(t *testing.T) {
	random, broken := rand.New(rand.NewSource(1)), map[string]int{}
	for _, c := range testBlocks {
		file := c.block.build()
		if len(file) < 1000 {
			damage(t, c.name, file, 300, random, broken)
		}
		if len(file) < 600 && c.rule == "" {
			mustRefuseDamage(t, c.name, file)
		}
	}
	t.Logf("rules that were broken: %v", broken)
}
