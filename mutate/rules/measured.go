package rules

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/version"
	"runtime"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Table holds what the rewrites gained with one toolchain on one architecture.
// mutate/rules/measure writes it.
type Table struct {
	Go     string                 `json:"go"`     // "go1.26.8"
	Arch   string                 `json:"arch"`   // "amd64"
	Links  int                    `json:"links"`  // programs, each of another layout, that measured each pair
	Rounds int                    `json:"rounds"` // pairs of slices in each program
	Rules  map[string]Measurement `json:"rules"`
}

// A Measurement holds what a rewrite gained on its own example.
type Measurement struct {
	Ratio beagle.Ratio `json:"ratio"`          // time before over time after; zero without a measurement
	Case  string       `json:"case,omitempty"` // of the golden archive
	Why   string       `json:"why,omitempty"`  // why there is no measurement
	// an older toolchain with which the rewrite paid, if it no longer does; the files do not hold
	// it
	Paid string `json:"paid,omitempty"`
}

// Pays reports whether the rewrite is certainly faster: the whole interval lies above 1.
func (m Measurement) Pays() bool { return m.Ratio.Low > 1 }

// Vain reports whether the rewrite certainly gains too little to be worth the change: the whole
// interval lies below 1.05.
func (m Measurement) Vain() bool { return m.Ratio.Point > 0 && m.Ratio.High < 1.05 && !m.Pays() }

// String says in one line what the measurement showed, with the interval where there is one.
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

// Tables returns the tables for an architecture, the oldest toolchain first. A later compiler may
// make a rewrite worthless that pays with an earlier one.
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
	// Compare each table with the older ones, once they are in order.
	inorder.By(list, func(a, b *Table) int { return version.Compare(a.Go, b.Go) })
	for i, t := range list {
		t.compare(list[:i])
	}
	return list
}

// compare notes what paid with older toolchains and no longer does.
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

// Measured returns the table for a toolchain ("go1.26.8") and an architecture, or nil. The
// toolchain's release decides, not its patch level.
func Measured(toolchain, arch string) *Table {
	var found *Table
	for _, t := range Tables(arch) {
		if t.Go == toolchain || found == nil && version.Lang(t.Go) == version.Lang(toolchain) {
			found = t
		}
	}
	return found
}

// MeasuredHere returns the table for the toolchain that built this program.
func MeasuredHere() *Table { return Measured(runtime.Version(), runtime.GOARCH) }

// Of returns a rule's measurement.
func (t *Table) Of(rule string) Measurement {
	if Named(rule) == nil { // the calls of the library, which are no rule of this package
		return Measurement{Why: "it has no example of its own"}
	}
	if t == nil {
		return Measurement{Why: "no table for this toolchain; go run ./mutate/rules/measure makes it"}
	}
	m, ok := t.Rules[rule]
	if !ok {
		return Measurement{Why: "the rule is newer than the table"}
	}
	return m
}
