package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

var tuneLine = regexp.MustCompile(`(?m)^\t(\w+)Min\s*= (\d+)`)

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
	if err := os.WriteFile(path, setTune(before, nil), 0o666); err != nil {
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
	return os.WriteFile(path, setTune(before, mins), 0o666)
}

var tuned = regexp.MustCompile(`(?m)^tune (\w+) (\d+)$`)

// setTune replaces the sizes in a tune file; kernels without a size get 0.
func setTune(file []byte, mins map[string]int) []byte {
	return tuneLine.ReplaceAllFunc(file, func(line []byte) []byte {
		m := tuneLine.FindSubmatch(line)
		return append(line[:len(line)-len(m[2]):len(line)-len(m[2])], strconv.Itoa(mins[string(m[1])])...)
	})
}
