package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/tail"
)

// growth reads the benchmark of a search whose candidates take no time to evaluate. So only the
// orchestration is left, for up to 10,000 candidates.
func (s *section) growth(ctx context.Context, l *lab) error {
	// Run the benchmarks.
	pattern := "Orchestration"
	if l.quick {
		pattern = "Orchestration/^(100|300|1000)$"
	}
	points, err := l.searches(ctx, pattern)
	if err != nil {
		return err
	}
	// Collect the series of the charts and the rows of the table.
	all, late, busy := series{name: "average"}, series{name: "last tenth"}, series{name: "processor time"}
	heap, disk := series{name: "heap"}, series{name: "store"}
	var rows [][]string
	for _, p := range points {
		n := p["candidates"]
		for _, x := range []struct {
			s    *series
			unit string
		}{{&all, "ms/candidate"}, {&late, "ms/late-candidate"}, {&busy, "cpu-ms/candidate"}, {&heap, "heap-MB"},
			{&disk, "run-MB"}} {
			x.s.x, x.s.y = append(x.s.x, n), append(x.s.y, p[x.unit])
		}
		rows = append(rows,
			[]string{fmt.Sprintf("%.0f", n), fmt.Sprintf("%.2f", p["ms/candidate"]),
				fmt.Sprintf("%.2f", p["ms/late-candidate"]), fmt.Sprintf("%.2f", p["cpu-ms/candidate"]),
				fmt.Sprintf("%.1f", p["heap-MB"]), fmt.Sprintf("%.1f", p["run-MB"])})
	}
	// Hold the longest search to the goals.
	last := points[len(points)-1]
	s.limit("orchestration of a candidate in the longest search, ms", last["ms/candidate"], orchestrationGoal)
	s.limit("orchestration of its last candidates, ms", last["ms/late-candidate"], orchestrationGoal)
	// Report.
	s.text += "\nOrchestration alone, candidates that are evaluated in no time:\n\n"
	s.text += table(
		strings.Split("candidates|ms a candidate|ms a candidate, last tenth|processor time, ms a candidate|heap at "+
			"the end, MB|store, MB", "|"), rows) + "\n"
	return s.draw(l, "cost-orchestration", &chart{"Orchestration", "ms a candidate", []series{all, late, busy}},
		"cost-size", &chart{"Size of a search", "MB", []series{heap, disk}})
}

// searches runs those benchmarks of whole searches whose names match, once each,
// and returns their results.
func (l *lab) searches(ctx context.Context, pattern string) ([]map[string]float64, error) {
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", "1x", "-timeout", "30m",
		"./internal/flow/local")
	c.Dir, c.Stderr = l.root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, tail.Of(out))
	}
	points := benchmarked(out)
	if len(points) == 0 {
		return nil, fmt.Errorf("%s printed no benchmark", strings.Join(c.Args, " "))
	}
	return points, nil
}

// benchmarked returns the results of a benchmark by unit.
func benchmarked(out []byte) []map[string]float64 {
	var list []map[string]float64
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		p := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				p[fields[i+1]] = v
			}
		}
		list = append(list, p)
	}
	return list
}
