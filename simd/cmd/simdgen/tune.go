package main

import (
	"fmt"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

var tuneLine = regexp.MustCompile(`(?m)^\t(\w+)Min\s*= (\d+)\n(\t\w+Cut\s*= 1\n)?`)

// readTune returns the break-even sizes of an earlier run, none if there was none.
func readTune(path string) map[string]int {
	mins := map[string]int{}
	data, _ := os.ReadFile(path)
	for _, m := range tuneLine.FindAllStringSubmatch(string(data), -1) {
		mins[m[1]], _ = strconv.Atoi(m[2])
	}
	return mins
}

// tune measures, on this machine, from which size on each kernel of the
// package is faster than its Go version called the same way, and writes the
// sizes as constants of the architecture.
func tune(opt options, out io.Writer) error {
	path := filepath.Join(opt.dir, "ztune_"+runtime.GOARCH+".go")
	before, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%v; run simdgen gen first", err)
	}
	// The kernels must be measured at all sizes, so no break-even may apply.
	if err := writeTune(path, before, nil); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-run", "^TestTuneKernels$", "-count=1", "-v", ".")
	cmd.Dir = opt.dir
	cmd.Env = append(os.Environ(), "SIMDGEN_TUNE=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		os.WriteFile(path, before, 0o666)
		return fmt.Errorf("measuring: %v\n%s", err, text)
	}
	mins := map[string]int{}
	for _, m := range tuned.FindAllStringSubmatch(string(text), -1) {
		mins[m[1]], _ = strconv.Atoi(m[2])
		fmt.Fprintf(out, "%s from %s on\n", m[1], m[2])
	}
	if err := writeTune(path, before, mins); err != nil {
		return err
	}
	if strings.Contains(os.Getenv("GOEXPERIMENT"), "simd") {
		return backends(opt, out)
	}
	return nil
}

var backendLine = regexp.MustCompile(`(?m)^backend .*\n`)

// backends compares what the package's tests have in simd/archsimd with its
// kernels and reports. Whether to use one is for people to decide.
func backends(opt options, out io.Writer) error {
	cmd := exec.Command("go", "test", "-run", "^TestTuneBackends$", "-count=1", "-v", ".")
	cmd.Dir = opt.dir
	cmd.Env = append(os.Environ(), "SIMDGEN_TUNE=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("measuring simd/archsimd: %v\n%s", err, text)
	}
	for _, line := range backendLine.FindAllString(string(text), -1) {
		fmt.Fprint(out, line)
	}
	return nil
}

var tuned = regexp.MustCompile(`(?m)^tune (\w+) (\d+)$`)

// writeTune replaces the sizes in a tune file; kernels without a size get 0.
func writeTune(path string, file []byte, mins map[string]int) error {
	file = tuneLine.ReplaceAllFunc(file, func(lines []byte) []byte {
		name := string(tuneLine.FindSubmatch(lines)[1])
		return []byte(tuneLines(name, mins[name]))
	})
	file, err := format.Source(file)
	if err != nil {
		return fmt.Errorf("%s: %v", path, err)
	}
	return os.WriteFile(path, file, 0o666)
}
