// Package argotest asks the judge of a rollout with Argo Rollouts' own client of web metrics. It is
// a module of its own: Argo brings Kubernetes along.
package argotest

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/argoproj/argo-rollouts/metricproviders/webmetric"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	log "github.com/sirupsen/logrus"
	"sigs.k8s.io/yaml"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// template returns the metric of the template that the command prints.
func template(t *testing.T) v1alpha1.Metric {
	t.Helper()
	cmd := exec.Command("go", "run", "./cmd/beagle", "rollout", "template", "argo", "--id", "x")
	cmd.Dir = "../../../.."
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var a v1alpha1.AnalysisTemplate
	if err := yaml.UnmarshalStrict(text, &a); err != nil || len(a.Spec.Metrics) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	return a.Spec.Metrics[0]
}

// TestArgo: Argo succeeds, fails or stays inconclusive as the judge says.
func TestArgo(t *testing.T) {
	metric := template(t)
	for _, row := range []struct {
		phase rollout.Phase
		step  int
		want  v1alpha1.AnalysisPhase
	}{
		{rollout.Ramping, 0, v1alpha1.AnalysisPhaseInconclusive},
		{rollout.Ramping, 3, v1alpha1.AnalysisPhaseSuccessful},
		{rollout.Holdout, 4, v1alpha1.AnalysisPhaseSuccessful},
		{rollout.RolledBack, 0, v1alpha1.AnalysisPhaseFailed},
	} {
		e, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1"})
		if err != nil {
			t.Fatal(err)
		}
		e.State.Phase, e.State.Step, e.State.Cause = row.phase, row.step, "because"
		s := httptest.NewServer(pilot.Handler("x", func(f func(*rollout.Experiment, rollout.Decision)) {
			f(e, rollout.Decision{Action: rollout.Hold, Cause: "not yet"})
		}))
		metric.Provider.Web.URL = s.URL + "/v1/rollouts/x/argo?share=0.10"
		parser, err := webmetric.NewWebMetricJsonParser(metric)
		if err != nil {
			t.Fatal(err)
		}
		client, err := webmetric.NewWebMetricHttpClient(metric)
		if err != nil {
			t.Fatal(err)
		}
		p := webmetric.NewWebMetricProvider(*log.NewEntry(log.New()), client, parser)
		m := p.Run(&v1alpha1.AnalysisRun{}, metric)
		if m.Phase != row.want {
			t.Errorf("%s, step %d: %s, want %s: %s %s", row.phase, row.step, m.Phase, row.want, m.Value, m.Message)
		}
		s.Close()
		if m := p.Run(&v1alpha1.AnalysisRun{}, metric); m.Phase != v1alpha1.AnalysisPhaseError {
			t.Errorf("without a judge: %s", m.Phase)
		}
	}
}
