// Command chronoxide-read verifies and shows Chronoxide blocks. It is written from the text alone and is meant to be
// read beside it: bits.go (section 1 of FORMAT.md), block.go (2 to 4, 15), catalogue.go (5), symbols.go (6), tables.go
// (7), pools.go (8), keysets.go (8 and 9), meta.go (10), identity.go (11), dump.go (13), metrics.go (METRICS.md),
// archive.go and zstd.go (ARCHIVE.md). How a labelset is found (9 and 12) is in find_test.go: the commands need it not.
package main

import (
	"fmt"
	"io"
	"os"
)

// Exit codes.
const (
	exitUnreadable  = 1
	exitUsage       = 2
	exitCorrupt     = 3
	exitUnsupported = 4
)

// unsupported are the rules whose error is `unsupported`. It is `not-a-block` for magic, else `corrupt`.
var unsupported = map[string]bool{"version": true, "incompat-features": true, "section-unknown": true}

const usage = `usage: verify FILE...   check every rule of blocks
       dump FILE        print the dump of a block
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command and returns its exit code, the largest of several files.
func run(args []string, stdout, stderr io.Writer) (code int) {
	isDump := len(args) == 2 && args[0] == "dump"
	if !isDump && (len(args) < 2 || args[0] != "verify") {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	for _, path := range args[1:] {
		code = max(code, judge(path, isDump, stdout, stderr))
	}
	return code
}

// judge verifies or dumps a file and returns the exit code.
func judge(path string, isDump bool, stdout, stderr io.Writer) int {
	file, err := os.ReadFile(path)
	if err == nil && isDump {
		err = dump(file, stdout)
	} else if err == nil {
		var unknown uint32
		if unknown, err = verify(file); err == nil && unknown != 0 {
			fmt.Fprintf(stderr, "%s: note: unknown ro_compat bits %#x; only rules of class R were checked\n", path, unknown)
		}
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", path, err)
	if broken, ok := err.(*ruleError); !ok {
		return exitUnreadable
	} else if unsupported[broken.rule] {
		return exitUnsupported
	}
	return exitCorrupt
}
