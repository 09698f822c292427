package rules

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/version"
	"runtime"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// A Table is what the rewrites bought with one toolchain on one architecture.
// mutate/rules/measure writes it.
type Table struct {
	Go     string                 `json:"go"`     // "go1.26.8"
	Arch   string                 `json:"arch"`   // "amd64"
	Links  int                    `json:"links"`  // programs in which each pair was measured, of other layout each
	Rounds int                    `json:"rounds"` // pairs of slices in each program
	Rules  map[string]Measurement `json:"rules"`
}

// A Measurement is what a rewrite bought on its own example.
type Measurement struct {
	Ratio beagle.Ratio `json:"ratio"`          // time before over time after; zero when not measured
	Case  string       `json:"case,omitempty"` // of the golden archive
	Why   string       `json:"why,omitempty"`  // why it was not measured
	Paid  string       `json:"paid,omitempty"` // the older toolchain with which it did pay, when it does not any more; no table has it
}

// Pays reports whether the rewrite is faster beyond doubt: the whole interval
// lies above 1.
func (m Measurement) Pays() bool { return m.Ratio.Low > 1 }

// Vain reports whether a gain worth the change can be excluded: the whole
// interval lies below 1.05.
func (m Measurement) Vain() bool { return m.Ratio.Point > 0 && m.Ratio.High < 1.05 && !m.Pays() }

func (m Measurement) String() string {
	switch r := m.Ratio; {
	case m.Why != "":
		return "not measured: " + m.Why
	case r.Point == 0:
		return "not measured"
	case m.Pays():
		return fmt.Sprintf("%.3gx (95 %%: %.3g to %.3g)", r.Point, r.Low, r.High)
	case m.Paid != "":
		return fmt.Sprintf("stopped paying: %.3gx (95 %%: %.3g to %.3g)", r.Point, r.Low, r.High)
	case m.Vain():
		return fmt.Sprintf("no gain: %.3gx (95 %%: %.3g to %.3g)", r.Point, r.Low, r.High)
	default:
		return fmt.Sprintf("unsure: %.3gx (95 %%: %.3g to %.3g)", r.Point, r.Low, r.High)
	}
}

//go:embed measured
var measuredFiles embed.FS

// Tables are the tables for an architecture, the oldest toolchain first: what a
// rewrite buys with one release, a later compiler may give away.
func Tables(arch string) []*Table {
	files, err := measuredFiles.ReadDir("measured")
	if err != nil {
		return nil
	}
	var list []*Table
	for _, f := range files {
		data, err := measuredFiles.ReadFile("measured/" + f.Name())
		if err != nil || !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		t := new(Table)
		if json.Unmarshal(data, t) == nil && t.Arch == arch {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Table) int { return version.Compare(a.Go, b.Go) })
	for i, t := range list {
		t.compare(list[:i])
	}
	return list
}

// compare notes what paid with older toolchains, and does not any more.
func (t *Table) compare(older []*Table) {
	for name, m := range t.Rules {
		for _, o := range older {
			if m.Vain() && o.Rules[name].Pays() {
				m.Paid = o.Go
			}
		}
		t.Rules[name] = m
	}
}

// Measured is the table for a toolchain ("go1.26.8") and an architecture; nil
// when there is none. The toolchain's release decides, not its patch level.
func Measured(toolchain, arch string) *Table {
	var found *Table
	for _, t := range Tables(arch) {
		if t.Go == toolchain || found == nil && version.Lang(t.Go) == version.Lang(toolchain) {
			found = t
		}
	}
	return found
}

// MeasuredHere is the table for the toolchain that built this program.
func MeasuredHere() *Table { return Measured(runtime.Version(), runtime.GOARCH) }

// Of is a rule's measurement.
func (t *Table) Of(rule string) Measurement {
	if t == nil {
		return Measurement{Why: "no table for this toolchain; go run ./mutate/rules/measure makes it"}
	}
	m, ok := t.Rules[rule]
	if !ok {
		return Measurement{Why: "the rule is newer than the table"}
	}
	return m
}
