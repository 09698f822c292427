package pilot

import (
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// TestPlanGuardsLateCalls: where calls are timed, every plan watches those beyond the cap once,
// with the margin that the plan gives, and a note says what no guardrail shows.
func TestPlanGuardsLateCalls(t *testing.T) {
	late := func(margin float64) rollout.Guardrail {
		return rollout.Guardrail{Metric: rollout.LateCalls, Margin: margin}
	}
	speed := rollout.Guardrail{Metric: rollout.FunctionTime, Margin: 0.02}
	for name, row := range map[string]struct {
		times bool
		unit  rollout.Unit
		own   []rollout.Guardrail
		want  float64 // margin; 0: none
		gets  bool    // the plan says that it gets one
		note  string
	}{
		"none given":      {true, rollout.Slices, nil, lateMargin, false, "if they wait"},
		"its own":         {true, rollout.Slices, []rollout.Guardrail{speed}, lateMargin, true, "0.1 %"},
		"an empty list":   {true, rollout.Slices, []rollout.Guardrail{}, lateMargin, true, "if they wait"},
		"its own margin":  {true, rollout.Slices, []rollout.Guardrail{late(0.05), speed}, 0.05, true, "5 %"},
		"by request":      {true, rollout.Requests, []rollout.Guardrail{speed}, lateMargin, true, "by request"},
		"without a clock": {false, rollout.Slices, []rollout.Guardrail{speed}, 0, false, ""},
	} {
		p, notes := Plan(rollout.Plan{Unit: row.unit, Guardrails: row.own}, &wire.RolloutSwitch{Times: row.times})
		var got []float64
		for _, g := range p.Guardrails {
			if g.Metric == rollout.LateCalls {
				got = append(got, g.Margin)
			}
		}
		want := slices.DeleteFunc([]float64{row.want}, func(m float64) bool { return m == 0 })
		if !slices.Equal(got, want) {
			t.Errorf("%s: margins of late calls %v, want %v", name, got, want)
		}
		said := strings.Join(notes, "\n")
		if strings.Contains(said, "gets one") != row.gets || !strings.Contains(said, row.note) ||
			strings.Contains(said, "beyond the cap may be") != row.times {
			t.Errorf("%s: %s", name, said)
		}
		if row.own != nil && len(p.Guardrails) > len(row.own)+2 {
			t.Errorf("%s: %v", name, p.Guardrails)
		}
		times := slices.IndexFunc(p.Guardrails, func(g rollout.Guardrail) bool { return g.Metric == rollout.LateTime })
		if row.times != (times >= 0 && p.Guardrails[times].HarmOnly) {
			t.Errorf("%s: the time of late calls: %v", name, p.Guardrails)
		}
	}
}
