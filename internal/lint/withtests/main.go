// Withtests names packages to a linter: each of them once, together with its tests. It is a driver
// of golang.org/x/tools/go/packages.
//
//	GOPACKAGESDRIVER=PROGRAM staticcheck ./...
//
// Without it the linter reads a package that has tests twice: alone, and again with its tests. The
// second reading sees all files of the first. The linter also reads the main packages of test
// binaries, which the go command generates.
//
// The answer of a driver lacks the Go versions of modules. The linter takes the newest that it
// knows.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := answer(os.Stdin, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "withtests:", err)
		os.Exit(1)
	}
}

// answer reads a driver's request and writes the response: the packages that match the patterns,
// and all that they import.
func answer(in io.Reader, out io.Writer, patterns []string) error {
	var r packages.DriverRequest
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	roots, err := packages.Load(&packages.Config{
		Mode:       r.Mode | packages.NeedForTest,
		Env:        append(r.Env, "GOPACKAGESDRIVER=off"), // go list answers
		BuildFlags: r.BuildFlags,
		Tests:      r.Tests,
		Overlay:    r.Overlay,
	}, patterns...)
	if err != nil {
		return err
	}
	response := packages.DriverResponse{Compiler: "gc", Arch: cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH)}
	for _, p := range once(roots) {
		response.Roots = append(response.Roots, p.ID)
	}
	packages.Visit(roots, nil, func(p *packages.Package) { response.Packages = append(response.Packages, p) })
	return json.NewEncoder(out).Encode(response)
}

// once leaves out the packages that the list also has with their tests, and the main packages of
// test binaries.
func once(all []*packages.Package) (kept []*packages.Package) {
	tested := map[string]bool{} // import paths
	for _, p := range all {
		if p.PkgPath == p.ForTest {
			tested[p.PkgPath] = true
		}
	}
	for _, p := range all {
		alone := p.ForTest == ""
		generated := p.Name == "main" && strings.HasSuffix(p.PkgPath, ".test")
		if !generated && !(alone && tested[p.PkgPath]) {
			kept = append(kept, p)
		}
	}
	return kept
}
