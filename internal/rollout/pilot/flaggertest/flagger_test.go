// Package flaggertest asks the judge of a rollout with Flagger's own client of webhooks. It is a
// module of its own: Flagger brings Kubernetes along, and another one than Argo.
package flaggertest

import (
	"net/http/httptest"
	"strings"
	"testing"

	flagger "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	"github.com/fluxcd/flagger/pkg/controller"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// TestFlagger: Flagger advances and rolls back as the judge says, and shows why not.
func TestFlagger(t *testing.T) {
	for _, row := range []struct {
		phase             rollout.Phase
		step              int
		advance, rollback bool
	}{
		{rollout.Ramping, 0, false, false}, {rollout.Ramping, 3, true, false}, {rollout.Holdout, 4, true, false},
		{rollout.RolledBack, 0, false, true},
	} {
		e, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1"})
		if err != nil {
			t.Fatal(err)
		}
		e.State.Phase, e.State.Step, e.State.Cause = row.phase, row.step, "because"
		s := httptest.NewServer(pilot.Handler("x", func(f func(*rollout.Experiment, rollout.Decision)) {
			f(e, rollout.Decision{Action: rollout.Hold, Cause: "because of that"})
		}))
		call := func(path string, phase flagger.CanaryPhase) error {
			return controller.CallWebhook(flagger.Canary{}, phase, flagger.CanaryWebhook{
				URL: s.URL + "/v1/rollouts/x/flagger/" + path, Timeout: "10s"})
		}
		err = call("advance?share=0.10", flagger.CanaryPhaseProgressing)
		if (err == nil) != row.advance || err != nil && !strings.Contains(err.Error(), "because") {
			t.Errorf("%s, step %d: advance: %v", row.phase, row.step, err)
		}
		if err := call("rollback", flagger.CanaryPhaseProgressing); (err == nil) != row.rollback {
			t.Errorf("%s, step %d: rollback: %v", row.phase, row.step, err)
		}
		s.Close()
	}
}
