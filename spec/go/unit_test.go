package main

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSip(t *testing.T) {
	key, data := make([]byte, 16), make([]byte, 15)
	for i := range key {
		key[i] = byte(i)
	}
	copy(data, key)
	if got := sip(string(key), data); got != 0xa129ca6149be45e5 {
		t.Errorf("vector of the paper: %016x", got)
	}
	for n, want := range []uint64{0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
		0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462} {
		if got := sip(string(key), data[:n]); got != want {
			t.Errorf("%d bytes: %016x", n, got)
		}
	}
	for value, want := range map[string]uint64{ // the table of shards in section 11
		"": 0xCE9F7BD128B641EF, "up": 0x56A1EBCC0FE759DF, "http_requests_total": 0xD8B9EF16887B0E54,
		"http.server.request.duration": 0xB6C16EC35F05823C, "€": 0x242AA08442053833,
		"aaaaaaa": 0x03AC1A675656623A, "aaaaaaaa": 0x0AFBF67C65B7D217} {
		if got := sip("chronoxide.shd.0", []byte(value)); got != want {
			t.Errorf("shard of %q: %016x", value, got)
		}
	}
}

func TestCRC(t *testing.T) {
	if got := crc32.ChecksumIEEE([]byte("123456789")); got != 0xCBF43926 {
		t.Errorf("%08x", got)
	}
}

func TestWidth(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 0, 1: 1, 2: 2, 3: 2, 255: 8, 256: 9, 1<<32 - 1: 32, math.MaxUint64: 64} {
		if got := width(n); got != want {
			t.Errorf("width(%d) = %d", n, got)
		}
	}
}

func TestField(t *testing.T) {
	stream := []byte{0b10110100, 0b11000011, 0xff, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct{ at, w, want uint64 }{
		{0, 0, 0}, {64, 0, 0}, {0, 1, 0}, {2, 1, 1}, {4, 4, 0b1011}, {4, 8, 0b00111011}, {7, 3, 0b111},
		{0, 48, 0xffc3b4}, {16, 48, 0x8000000000ff}, {63, 2, 1},
	} {
		if got := field(stream, c.at, c.w); got != c.want {
			t.Errorf("field(%d, %d) = %#x", c.at, c.w, got)
		}
	}
}

func TestIDText(t *testing.T) {
	for id, want := range map[string]string{
		"00000000000000000000000000000000": "00000000000000000000000000",
		"ffffffffffffffffffffffffffffffff": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"00000000000000000000000000000021": "00000000000000000000000011",
		"01563e3ab5d3d6764c61efb99302bd5b": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		data, _ := hex.DecodeString(id)
		if got := idText(data); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}

func TestMulMod(t *testing.T) {
	for _, c := range []struct{ a, b, want uint64 }{
		{0, 5, 0}, {1, prime - 1, prime - 1}, {prime - 1, prime - 1, 1}, {1 << 60, 2, 1}, {1 << 60, 1 << 60, 1 << 59},
	} {
		if got := mulMod(c.a, c.b); got != c.want {
			t.Errorf("%d * %d = %d", c.a, c.b, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit uint32
		begin string
	}{{"aaaaaaaaaaaaaaaaaaaaa", 20, "aa"}, {"a€aaaaaaaaaaaaaaaaaaaaa", 20, "a"}, {"aaaaaaaaaaaaaaaaaaaaa", 18, ""}} {
		got := cut(c.text, c.limit)
		if len(got) != len(c.begin)+cutTail || got[:len(c.begin)+2] != c.begin+"~s" {
			t.Errorf("cut(%q, %d) = %q", c.text, c.limit, got)
		}
	}
	if got := cut("aaaaaaaaaaaaaaaaaaaaa", 21); got != "aaaaaaaaaaaaaaaaaaaaa" {
		t.Errorf("cut without need: %q", got)
	}
}

func TestQuote(t *testing.T) {
	if got, want := quote("a\"\\\x00\n\u007f\ufeff€\U0001f600"), `"a\"\\\u0000\u000a\u007f\ufeff€😀"`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestCommands checks the exit codes and what the commands print. TestBlocks has more.
func TestCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "block.cx")
	if err := os.WriteFile(path, []byte("not a block"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"", 2, "usage: "}, {"verify", 2, "usage: "}, {"find " + path, 2, "usage: "}, {"dump a b", 2, "usage: "}, {"verify a b", 1, "a: open a"},
		{"verify /nonexistent", 1, "/nonexistent: "}, {"dump /nonexistent", 1, "/nonexistent: "},
		{"verify " + path, 3, path + ": magic: "}, {"dump " + path, 3, path + ": magic: "},
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(c.args), &out, &errs)
		if code != c.code || out.Len() > 0 || !strings.HasPrefix(errs.String(), c.errs) {
			t.Errorf("%q: exit code %d, output %q, errors %q", c.args, code, out.String(), errs.String())
		}
	}
}
