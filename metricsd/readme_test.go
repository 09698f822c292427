package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// blocks finds the commands of the README, each with the marker above it and the output below it.
var blocks = regexp.MustCompile("(<!-- not run: .+ -->\n)?```sh\n((?s:.*?))```\n(?:\n```\n((?s:.*?))```\n)?")

// TestReadme runs the commands of the README and compares what they print with what it shows. A
// command that is not run is marked with the reason.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range blocks.FindAllStringSubmatch(string(text), -1) {
		if b[1] != "" {
			continue
		}
		before, args, ok := strings.Cut(strings.TrimSpace(b[2]), " | metricsd ")
		if !ok {
			t.Errorf("%s: cannot be run here: pipe text into metricsd, or mark it <!-- not run: REASON -->", b[2])
			continue
		}
		stdin, err := exec.Command("sh", "-c", before).Output()
		if err != nil {
			t.Errorf("%s: %v", before, err)
		}
		if code, out, errs := metricsd(string(stdin), strings.Fields(args)...); out != b[3] || errs != "" {
			t.Errorf("%sprints, with status %d,\n%s%s\nand not\n%s", b[2], code, out, errs, b[3])
		}
		ran++
	}
	if ran == 0 {
		t.Error("no command was run")
	}
}
