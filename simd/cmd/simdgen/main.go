// Simdgen turns Rust SIMD kernels into Go assembly that any Go program can
// link: no cgo, no Rust, no object file, no environment variable at build time.
//
//	simdgen gen    -rust lib.rs [-dir .]    compile, link, write the z* files
//	simdgen verify -rust lib.rs [-dir .]    rebuild and compare every byte
//	simdgen tune   [-dir .]                 measure the break-even sizes here
//
// A kernel is a Rust function without calls, panics, writable data or large frames. simdgen
// compiles it with the features of its tier, resolves its relocations itself (code and constants
// become one position-independent block) and writes the bytes as one TEXT per kernel with the
// prologue as mnemonics, so that the Go linker still proves the stack bound and profiles still
// unwind. It refuses a kernel that it cannot prove, with its name and the reason; it never guesses.
//
// Only the maintainer of a kernel needs rustc. gen writes plain Go and Go assembly, and verify
// shows that they came from the sources.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const usage = `usage: simdgen gen|verify -rust FILE [-dir DIR] [-arch amd64,arm64]
       simdgen tune [-dir DIR]
`

// options are the flags of all verbs; each verb reads what concerns it.
type options struct {
	rust string
	dir  string
	arch []string
}

func run(args []string, out, errw io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errw, usage)
		return 2
	}
	opt, err := parseFlags(args, errw)
	if err != nil {
		return 2
	}
	verbs := map[string]func(options, io.Writer) error{"gen": gen, "verify": verify, "tune": tune}
	verb := verbs[args[0]]
	if verb == nil {
		fmt.Fprintf(errw, "simdgen: no verb %q\n%s", args[0], usage)
		return 2
	}
	if err := verb(opt, out); err != nil {
		fmt.Fprintln(errw, "simdgen:", err)
		return 1
	}
	return 0
}

func parseFlags(args []string, errw io.Writer) (options, error) {
	fs := flag.NewFlagSet("simdgen "+args[0], flag.ContinueOnError)
	fs.SetOutput(errw)
	rust := fs.String("rust", "", "root file of the kernels")
	dir := fs.String("dir", ".", "directory of the Go package that gets the kernels")
	arch := fs.String("arch", "amd64,arm64", "architectures to compile for")
	if err := fs.Parse(args[1:]); err != nil {
		return options{}, err
	}
	return options{rust: *rust, dir: *dir, arch: strings.Split(*arch, ",")}, nil
}

// gen writes what build makes; break-even sizes that tune found are kept.
func gen(opt options, out io.Writer) error {
	_, files, err := build(opt)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(f.path, f.data, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(out, f.path)
	}
	return nil
}

// verify compares what build makes with what is on disk, and what the Go
// assembler makes of it with what LLVM wrote.
func verify(opt options, out io.Writer) error {
	if err := pinned(); err != nil {
		return err
	}
	p, files, err := build(opt)
	if err != nil {
		return err
	}
	for _, f := range files {
		have, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if string(have) != string(f.data) {
			return fmt.Errorf("%s is not what the kernels compile to: %s; run simdgen gen and review the difference",
				f.path, firstDifference(have, f.data))
		}
	}
	n, err := p.assembled(opt.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files are what %s compiles to, and %d kernels assemble to it, byte for byte\n",
		len(files), opt.rust, n)
	return nil
}

// firstDifference names the first line that differs.
func firstDifference(have, want []byte) string {
	a, b := strings.Split(string(have), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d has %q, not %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(a), len(b))
}
