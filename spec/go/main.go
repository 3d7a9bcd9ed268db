// Command chronoxide-read verifies and shows Chronoxide blocks. It is written from FORMAT.md alone and is meant to be
// read beside it: bits.go (section 1), block.go (2 to 4), catalogue.go (5), symbols.go (6), tables.go (7), pools.go
// (8), keysets.go (9 and 12), meta.go and metrics.go (10), identity.go (11), dump.go (13), verify.go (15).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Exit codes.
const (
	exitUnreadable  = 1
	exitUsage       = 2
	exitCorrupt     = 3
	exitUnsupported = 4
	exitNotFound    = 5
)

const usage = `usage: verify FILE...             check every rule of each block
       dump FILE                  print the dump of a block
       find FILE name=value...    print the series ref of a labelset
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) >= 2 && args[0] == "verify":
		return runVerify(args[1:], stderr)
	case len(args) == 2 && args[0] == "dump":
		return runOnFile(args[1], stderr, func(data []byte) (int, error) { return 0, dump(data, stdout) })
	case len(args) >= 3 && args[0] == "find":
		var labels []label
		for _, arg := range args[2:] {
			name, value, found := strings.Cut(arg, "=")
			if !found || name == "" {
				fmt.Fprintf(stderr, "%q is not name=value\n", arg)
				return exitUsage
			}
			labels = append(labels, label{name, value})
		}
		return runOnFile(args[1], stderr, func(data []byte) (int, error) { return runFind(data, labels, stdout) })
	}
	fmt.Fprint(stderr, usage)
	return exitUsage
}

// runVerify verifies files one after the other. It holds one of them in memory.
func runVerify(paths []string, stderr io.Writer) int {
	code := 0
	for _, path := range paths {
		fileCode := runOnFile(path, stderr, func(data []byte) (int, error) {
			unknown, err := verify(data)
			if err == nil && unknown != 0 {
				fmt.Fprintf(stderr, "%s: note: unknown ro_compat bits %#x; only rules of class R were checked\n",
					path, unknown)
			}
			return 0, err
		})
		if code != exitCorrupt && (fileCode == exitCorrupt || fileCode > code) {
			code = fileCode
		}
	}
	return code
}

func runFind(data []byte, labels []label, stdout io.Writer) (int, error) {
	b, err := openToRead(data)
	if err != nil {
		return 0, err
	}
	ref, found := b.find(labels)
	if b.err != nil || !found {
		return exitNotFound, b.err
	}
	fmt.Fprintln(stdout, ref)
	return 0, nil
}

// runOnFile calls do with the bytes of a file. It reports errors and returns the exit code for them.
func runOnFile(path string, stderr io.Writer, do func(data []byte) (int, error)) int {
	data, err := os.ReadFile(path)
	code := exitUnreadable
	if err == nil {
		code, err = do(data)
	}
	if err == nil {
		return code
	}
	fmt.Fprintf(stderr, "%s: %v\n", path, err)
	var rule *ruleError
	switch {
	case !errors.As(err, &rule):
		return exitUnreadable
	case rule.unsupported():
		return exitUnsupported
	}
	return exitCorrupt
}
