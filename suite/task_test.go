package suite

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

const good = `{"about": "a", "target": "F", "expert": "expert/expert.go", "technique": "t", "published": {"gain": "g", "source": "s"}}`

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, wrong string }{
		{good, ""},
		{`{`, "EOF"},
		{good + good, "more than one object"},
		{strings.Replace(good, `"about"`, `"abuot"`, 1), `unknown field "abuot"`},
		{strings.Replace(good, `"about": "a"`, `"about": ""`, 1), "about is empty"},
		{strings.Replace(good, `"F"`, `"./p.F"`, 1), `target "./p.F"`},
		{strings.Replace(good, `"F"`, `""`, 1), `target ""`},
		{strings.Replace(good, `"expert/expert.go"`, `"../e.go"`, 1), `expert "../e.go"`},
		{strings.Replace(good, `"t"`, `""`, 1), "technique is empty"},
		{with(`"name": "x"`), "name, dir and goal are not given"},
		{with(`"goal": 2`), "name, dir and goal are not given"},
		{with(`"known": {"how": "h"}`), "either time_saved or factor"},
		{with(`"known": {"time_saved": 0.5, "factor": 2, "how": "h"}`), "either time_saved or factor"},
		{with(`"known": {"time_saved": 1, "how": "h"}`), "not between 0 and 1"},
		{with(`"known": {"factor": 0.5, "how": "h"}`), "no gain"},
	} {
		_, err := parse([]byte(c.text))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.text, err, c.wrong)
		}
	}
}

func with(field string) string { return "{" + field + ", " + good[1:] }

func TestGoal(t *testing.T) {
	for field, want := range map[string]float64{
		`"known": {"time_saved": 0.75, "how": "h"}`: 2.5, // 4 times as fast; the middle between 1 and 4
		`"known": {"factor": 5, "how": "h"}`:        3,
		`"advice": "a"`:                             0,
	} {
		task, err := parse([]byte(with(field)))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(task.Goal-want) > 1e-9 || task.Rewrites() == (task.Advice != "") {
			t.Errorf("%s: goal %g, want %g", field, task.Goal, want)
		}
	}
}

// FuzzParse checks that a description from outside is read or refused with a reason, and that every
// task that was read can run.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(with(`"known": {"time_saved": 0.99999999999999999, "how": "h"}`)))
	f.Add([]byte(with(`"known": {"factor": 1e308, "how": "h"}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		task, err := parse(text)
		if err != nil {
			return
		}
		if task.Target == "" || !filepath.IsLocal(filepath.FromSlash(task.Expert)) || math.IsNaN(task.Goal) ||
			task.Goal < 0 || task.Known != nil && task.Goal < 1 {
			t.Errorf("%s: read as %+v", text, task)
		}
	})
}

// TestTasks checks that every folder of the suite is a task, and that none is missing.
func TestTasks(t *testing.T) {
	tasks, err := Load("tasks")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("tasks")
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) < 12 || len(tasks) != len(folders) {
		t.Errorf("%d tasks in %d folders, want at least 12 and no folder without", len(tasks), len(folders))
	}
	for _, task := range tasks {
		if task.Published.Gain == "" {
			t.Errorf("%s: published.gain is empty", task.Name)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	wants := func(what string, names ...string) {
		t.Helper()
		_, err := Load(dir, names...)
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(bad.What, what) || bad.Remedy == "" {
			t.Errorf("Load: %v, want a usage error with %q", err, what)
		}
	}
	wants("no folder with a task.json")
	put(t, filepath.Join(dir, "one", "task.json"), good)
	wants("the expert's version expert/expert.go is not there")
	put(t, filepath.Join(dir, "one", "expert", "expert.go"), "package one\n")
	wants(`no task "two"`, "two")
	put(t, filepath.Join(dir, "two", "task.json"), "{")
	wants(filepath.Join("two", "task.json"))
	tasks, err := Load(dir, "one")
	if err != nil || len(tasks) != 1 || tasks[0].Name != "one" || tasks[0].Dir != filepath.Join(dir, "one") {
		t.Errorf("Load = %+v, %v", tasks, err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
