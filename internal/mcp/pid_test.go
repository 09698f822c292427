package mcp

import (
	"slices"
	"strings"
	"testing"
)

// TestProcess: a tool reaches only processes that the server was given, and a process without a
// probe only where it is named or the only one.
func TestProcess(t *testing.T) {
	for _, row := range []struct {
		name   string
		probes bool
		pids   []int
		pid    int
		want   string
		fails  bool
	}{
		{"probes", true, nil, 0, "", false},
		{"probes, and others", true, []int{7}, 0, "", false},
		{"named", true, []int{7, 8}, 8, "--pid 8", false},
		{"the only one", false, []int{7}, 0, "--pid 7", false},
		{"one of several", false, []int{7, 8}, 0, "", true},
		{"a stranger", true, []int{7}, 1, "", true},
		{"a stranger, with probes alone", true, nil, 1, "", true},
	} {
		got, err := tools{production: Production{Capture: row.probes, PIDs: row.pids}}.process(row.pid)
		if strings.Join(got, " ") != row.want || (err != nil) != row.fails {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
		if row.fails && slices.Contains(got, "--pid") {
			t.Errorf("%s: it is reached", row.name)
		}
	}
}
