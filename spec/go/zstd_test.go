package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"sort"
	"testing"
)

// Frames of zstd, of every level and kind of content, must decode to what they were made from.
func TestFramesDecodeToTheirContent(t *testing.T) {
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		if os.Getenv("CHRONOXIDE_REQUIRE_ALL") != "" {
			t.Fatal("zstd is not there")
		}
		t.Skip("skipped: zstd is not there")
	}
	random := rand.New(rand.NewSource(1))
	cases := 0
	for _, length := range []int{0, 1, 5, 20, 100, 1000, 5000, 40000, 300000} {
		for kind := 0; kind < 4; kind++ {
			content := make([]byte, length)
			ids := []string{}
			for i := range content {
				switch kind {
				case 0:
					content[i] = byte(random.Intn(256))
				case 1:
					content[i] = "abcdef0123"[random.Intn(10)]
				case 2:
					content[i] = byte(min(255, max(0, int(random.NormFloat64()*20+60))))
				}
				if kind == 3 && i%24 == 0 {
					ids = append(ids, fmt.Sprintf("%016x%08d", random.Uint64(), i))
				}
			}
			sort.Strings(ids)
			for i, id := range ids {
				copy(content[24*i:], id)
			}
			for _, level := range []string{"-1", "-5", "-12", "-19"} {
				command := exec.Command(zstd, "-q", "-c", "--no-check", level, fmt.Sprintf("--stream-size=%d", length))
				command.Stdin = bytes.NewReader(content)
				frame, err := command.Output()
				if err != nil {
					t.Fatal(err)
				}
				blocks, window := readFrameHeader(frame, uint64(length))
				decoded, err := decodeBlocks(blocks, int(min(window, maxBlockLen)), length)
				if err != nil || !bytes.Equal(decoded, content) {
					t.Errorf("kind %d, %d bytes, level %s: %v", kind, length, level, err)
				}
				cases++
			}
		}
	}
	if cases < 144 {
		t.Errorf("%d frames", cases)
	}
}
