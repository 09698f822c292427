package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/suite"
)

var updateSuite = flag.Bool("update-suite-list", false, "write testdata/suite/list.golden")

// suitesDrawn is the number of scripts of testdata/suite that a run tries.
const suitesDrawn = 1

// TestSuiteScripts runs the command on a small suite of its own.
func TestSuiteScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("whole searches")
	}
	sampletest.Rarely(t, 2)
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               sampletest.Of(t, scripts(t, "testdata/suite"), suitesDrawn),
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status,
			"reports": reports,
		},
		Setup: setup,
	})
}

// reports checks a field of a printed report: reports FILE PATH REGEXP. Numbers
// in the path are places in a list. All fields of the report must be known.
func reports(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(new(suite.Report)))
	var value any
	ts.Check(json.Unmarshal([]byte(text), &value))
	for part := range strings.SplitSeq(args[1], ".") {
		if i, err := strconv.Atoi(part); err == nil {
			value = value.([]any)[i]
		} else {
			value = value.(map[string]any)[part]
		}
	}
	if shown := fmt.Sprint(value); regexp.MustCompile(args[2]).MatchString(shown) == neg {
		ts.Fatalf("%s is %s, want %s (not: %v)", args[1], shown, args[2], neg)
	}
}

// TestSuiteList: the suite of the repository, as --list shows it.
func TestSuiteList(t *testing.T) {
	const golden = "testdata/suite/list.golden"
	var out, errs bytes.Buffer
	if status := run([]string{"suite", "--list", "--dir", "../../suite/tasks"}, stdio{&out, &errs}); status != exitOK {
		t.Fatalf("status %d: %s", status, &errs)
	}
	if *updateSuite {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("--list prints\n%swant\n%s", &out, want)
	}
}
