package runner

import (
	"os"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/suite"
)

// TestMain lets this program run others inside walls.
func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// TestExperts checks that the judge accepts the behaviour of the experts' versions: a task whose
// expert is refused compares nothing. Each new check of the judge is tried on people's work here.
func TestExperts(t *testing.T) {
	tasks, err := suite.Load("../tasks")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range sampletest.Of(t, tasks, 1) {
		t.Run(task.Name, func(t *testing.T) {
			s, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(task.ExpertFile())
			if err != nil {
				t.Fatal(err)
			}
			spec := flow.Defaults()
			spec.Dir, spec.Target, spec.NoMeasure, spec.Fuzz = task.Dir, task.Target, true, time.Second
			d := &local.Driver{Store: s}
			version := local.SourceFile{Name: "expert.go", Source: string(text)}
			err = d.Verify(t.Context(), spec, []local.SourceFile{version}, func(_ int, v *beagle.Verdict) {
				if !v.OK() {
					t.Errorf("the expert's version is %s by %s: %s", v.Status, v.Stage, v.Reason)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
