package report

import "strings"

// ChangedOnly returns the part of a patch that changes existing files, which a reviewer reads
// first. New files, such as the test of the change, can be long.
func ChangedOnly(patch string) string {
	var b strings.Builder
	for _, file := range files(patch) {
		if !strings.HasPrefix(file, "--- /dev/null") {
			b.WriteString(file)
		}
	}
	return b.String()
}

// AddedTests names the files of tests that a patch adds.
func AddedTests(patch string) []string {
	var names []string
	for _, file := range files(patch) {
		if rest, ok := strings.CutPrefix(file, "--- /dev/null\n+++ b/"); ok {
			if name, _, _ := strings.Cut(rest, "\n"); strings.HasSuffix(name, "_test.go") {
				names = append(names, name)
			}
		}
	}
	return names
}

// files cuts a unified diff into the parts for each file.
func files(patch string) []string {
	var out []string
	lines := strings.SplitAfter(patch, "\n")
	for i, line := range lines {
		starts := strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
		if starts || len(out) == 0 {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}
