package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// searchesDrawn is the number of scripts of testdata/evolve that a run tries: each runs several
// searches.
const searchesDrawn = 1

// TestEvolveScripts runs whole searches on small modules.
func TestEvolveScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("whole searches")
	}
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               sampletest.Of(t, scripts(t, "testdata/evolve"), searchesDrawn),
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "field": field, "same": same, "await": await, "latest": latest, "once": once,
		},
		Setup: setup,
	})
}

// field checks a printed object: field FILE result|verdict PATH REGEXP. All
// its fields must be known ones, and those that are documented must be there.
func field(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	objects := map[string]any{"result": new(beagle.Result), "verdict": new(beagle.Verdict)}
	known := objects[args[1]]
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(known))
	if rest, _ := d.Token(); rest != nil {
		ts.Fatalf("%s holds more than one object", args[0])
	}
	value := fieldOf(ts, args[0], args[2])
	if value == nil && !neg {
		ts.Fatalf("%s has no field %s", args[0], args[2])
	}
	shown := fmt.Sprint(value)
	if regexp.MustCompile(args[3]).MatchString(shown) == neg {
		ts.Fatalf("%s: %s is %s, want %s (not: %v)", args[0], args[2], shown, args[3], neg)
	}
}

// fieldOf returns a field of the object in a file, nil if it has none.
func fieldOf(ts *testscript.TestScript, file, path string) (value any) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &value))
	for part := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			ts.Fatalf("%s has no field %s", file, path)
		}
		value = object[part]
	}
	return value
}

// same checks that two objects have the same value in a field: same FILE FILE PATH.
func same(ts *testscript.TestScript, neg bool, args []string) {
	one, other := fieldOf(ts, args[0], args[2]), fieldOf(ts, args[1], args[2])
	if one == nil || other == nil || reflect.DeepEqual(one, other) == neg {
		ts.Fatalf("%s: %v in %s and %v in %s (not: %v)", args[2], one, args[0], other, args[1], neg)
	}
}

// await waits until a file is there: await PATTERN.
func await(ts *testscript.TestScript, _ bool, args []string) {
	const most = 10 * time.Minute // it waits for work, not for a clock
	for start := time.Now(); time.Since(start) < most; time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(ts.MkAbs(args[0])); len(found) > 0 {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// latest sets a variable to the ID of the newest run in a store: latest NAME
// HOME.
func latest(ts *testscript.TestScript, _ bool, args []string) {
	var newest time.Time
	found, _ := filepath.Glob(ts.MkAbs(args[1] + "/runs/*/run.json"))
	for _, path := range found {
		var run struct {
			ID      string    `json:"id"`
			Created time.Time `json:"created"`
		}
		text, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(json.Unmarshal(text, &run))
		if run.Created.After(newest) {
			newest = run.Created
			ts.Setenv(args[0], run.ID)
		}
	}
	if newest.IsZero() {
		ts.Fatalf("there is no run")
	}
}

// once checks that the search was told no candidate of a result twice, and that those of an earlier
// log of the run are the first ones: once FILE LOG.
func once(ts *testscript.TestScript, _ bool, args []string) {
	var result, earlier struct {
		Candidates int              `json:"candidates"`
		Trials     []beagle.Attempt `json:"trials"`
	}
	ts.Check(json.NewDecoder(bytes.NewBufferString(ts.ReadFile(args[0]))).Decode(&result))
	ts.Check(json.NewDecoder(bytes.NewBufferString(ts.ReadFile(args[1]))).Decode(&earlier))
	seen := map[string]bool{}
	for i, trial := range result.Trials {
		if seen[trial.Candidate] {
			ts.Fatalf("candidate %s was evaluated twice", trial.Candidate)
		}
		seen[trial.Candidate] = true
		if i < len(earlier.Trials) && trial.Candidate != earlier.Trials[i].Candidate {
			ts.Fatalf("candidate %d is %s; it was %s before the kill", i, trial.Candidate, earlier.Trials[i].Candidate)
		}
	}
	// Finalists without some of their steps are tried too, beyond the budget that is counted.
	if len(earlier.Trials) == 0 || len(result.Trials) < len(earlier.Trials) || len(result.Trials) < result.Candidates {
		ts.Fatalf("%d candidates before the kill, %d in the end, %d counted", len(earlier.Trials), len(result.Trials),
			result.Candidates)
	}
}
