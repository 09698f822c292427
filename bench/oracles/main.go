// Command oracles puts what Beagle says of series beside what programs of others say: forecasts
// beside statsforecast's, change points beside otava's. It prints Markdown tables:
//
//	python3 -m venv oracles
//	oracles/bin/pip install statsforecast==2.1.1 statsmodels pmdarima==2.1.1 apache-otava==0.8.0
//	go build -o metricsd ./metricsd
//	go run ./bench/oracles -python oracles/bin/python -metricsd ./metricsd forecast
//	go run ./bench/oracles -python oracles/bin/python changes
//
// The forecasts need some minutes, since series of a running metricsd are recorded; -record keeps
// them in a file, which the next run reads. With -toto, they have a column for Toto 2.0.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/forecast/toto"
)

//go:embed oracles.py
var script string

type options struct {
	python, metricsd, record, toto string
	steps, replays                 int
}

func main() {
	var o options
	flag.StringVar(&o.python, "python", "python3", "`program` with statsforecast and otava")
	flag.StringVar(&o.metricsd, "metricsd", "", "forecast: `program` to record series of")
	flag.StringVar(&o.record, "record", "", "forecast: `file` of recorded series; read when it is there")
	flag.StringVar(&o.toto, "toto", "", "forecast: `file` of weights of Toto 2.0, from "+toto.Home)
	flag.IntVar(&o.steps, "steps", 336, "forecast: values to record, of half a second each")
	flag.IntVar(&o.replays, "replays", 6, "changes: replays of each event")
	flag.Parse()
	verbs := map[string]func(context.Context, options) error{"forecast": forecasts, "changes": changes}
	run := verbs[flag.Arg(0)]
	if run == nil || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./bench/oracles [flags] forecast|changes")
		os.Exit(2)
	}
	command.Main("oracles", func(ctx context.Context) error { return run(ctx, o) })
}

// ask has the script answer.
func ask(ctx context.Context, o options, verb string, tasks, into any) error {
	in, err := json.Marshal(map[string]any{"verb": verb, "tasks": tasks})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.python, "-c", script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", o.python, err)
	}
	return json.Unmarshal(out, into)
}

// table prints a Markdown table.
func table(header []string, rows [][]string) {
	fmt.Println("| " + strings.Join(header, " | ") + " |")
	fmt.Println("|" + strings.Repeat("---|", len(header)))
	for _, r := range rows {
		fmt.Println("| " + strings.Join(r, " | ") + " |")
	}
}
