// Measure times what each rewrite gains on the example of its golden archive. It writes the table
// that `beagle explain` shows:
//
//	go run ./mutate/rules/measure
//
// It runs in the root of the module. For every rule it takes the first case that can run, and
// compiles the code before and after the rewrite into one program. The same code differs by up to
// 40 % with its place. So Measure links that program several times, each time with its functions in
// another order.
//
// In each program the two versions run in turns, in slices of some 100 microseconds, on inputs that
// the golden tests generate. Package bench judges the slices as it does those of a candidate:
// [bench.Compare] those of one link, and [bench.Combine] the links.
//
// The slices run in testdata/pace.go and not in the program of a candidate, which holds versions of
// one target: 150 rules and 9 links would be 1,350 programs to link in place of 9. No verdict
// depends on the result.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/rules"
)

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.links, "links", 5, "how often the program is linked anew")
	flag.IntVar(&o.rounds, "rounds", 60, "pairs of slices in each program")
	only := flag.String("rules", "", "only these rules, with commas between; the others keep their figures")
	flag.StringVar(&o.dir, "dir", "mutate/rules", "the folder of the rules")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if err := run(o); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	links, rounds int
	only          []string
	dir           string
}

func (o options) wants(rule string) bool { return len(o.only) == 0 || slices.Contains(o.only, rule) }

// run measures the chosen rules and writes their table for this toolchain.
func run(o options) error {
	if o.links < 3 {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%d links give no interval", o.links),
			Remedy: "say -links=3 or more",
		}
	}
	// Begin with the table of this toolchain, if only some rules are measured.
	file := filepath.Join(o.dir, "measured", runtime.Version()+"-"+runtime.GOARCH+".json")
	table := &rules.Table{Go: runtime.Version(), Arch: runtime.GOARCH, Rules: map[string]rules.Measurement{}}
	if old, err := os.ReadFile(file); err == nil && len(o.only) > 0 {
		if err := json.Unmarshal(old, table); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	table.Links, table.Rounds = o.links, o.rounds
	// Put the cases of the rules into one program.
	b, err := newBuild(o.dir)
	if err != nil {
		return err
	}
	defer b.close()
	for _, m := range rules.All {
		if !o.wants(m.Name) {
			continue
		}
		if why, err := b.add(m.Name); err != nil {
			return err
		} else if why != "" {
			table.Rules[m.Name] = rules.Measurement{Why: why}
		}
	}
	// Measure them, and write the table.
	found, err := b.measure(o.links, o.rounds)
	if err != nil {
		return err
	}
	maps.Copy(table.Rules, found)
	return write(file, table)
}

// rounded returns a ratio with four digits.
func rounded(r beagle.Ratio) beagle.Ratio {
	return beagle.Ratio{Point: round(r.Point), Low: round(r.Low), High: round(r.High)}
}

// round keeps four digits.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(x)))
	return math.Round(x*scale) / scale
}

func write(file string, t *rules.Table) error {
	data, err := json.MarshalIndent(t, "", "") // one value a line, and no more: it is part of the binary
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o666); err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(t.Rules))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Rules[b].Ratio.Point, t.Rules[a].Ratio.Point), strings.Compare(a, b))
	})
	for _, n := range names {
		fmt.Printf("%-24s %s\n", n, t.Rules[n])
	}
	return nil
}
