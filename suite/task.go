// Package suite describes tasks for optimisers of Go code, and the results of running one on them.
// A task is a folder with a package: a function as an ordinary author wrote it, tests and
// benchmarks that call it as production does, an expert's version, and a description. README.md
// tells how to add one. `beagle suite` runs them.
package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
)

// A Task is one function to be made faster. Its JSON form is the folder's
// task.json, in which name, dir and goal are left out.
type Task struct {
	Name      string    `json:"name,omitempty"`  // of the folder
	Dir       string    `json:"dir,omitempty"`   // the folder
	About     string    `json:"about"`           // one sentence: what the function does, on which inputs
	Target    string    `json:"target"`          // "Func" or "Type.Method" of the folder's package
	Expert    string    `json:"expert"`          // candidate file of the expert's version, relative to the folder
	Technique string    `json:"technique"`       // how the expert's version is faster
	Published Published `json:"published"`       // gains of others
	Known     *Known    `json:"known,omitempty"` // the gain that the goal is half of; none for no goal
	// the advisory that must be named because no rewrite is safe; "" where rewriting applies
	Advice string  `json:"advice,omitempty"`
	Goal   float64 `json:"goal,omitempty"` // times as fast as the original, from Known; 0 is no goal
}

// Published is the gain that the source of a task reports.
type Published struct {
	Gain   string `json:"gain"`
	Source string `json:"source"`
}

// Known is a gain that was reached by hand. One of its two figures is given.
type Known struct {
	TimeSaved float64 `json:"time_saved,omitempty"` // share of the original's time, 0 to 1
	Factor    float64 `json:"factor,omitempty"`     // times as fast
	How       string  `json:"how"`
}

// factor returns the known gain as a factor.
func (k *Known) factor() float64 {
	if k.Factor > 0 {
		return k.Factor
	}
	return 1 / (1 - k.TimeSaved)
}

// Rewrites reports whether the task is to be solved by rewriting, and counts in
// the means; otherwise it is to be answered with advice.
func (t *Task) Rewrites() bool { return t.Advice == "" }

// description is the file that makes a folder a task.
const description = "task.json"

// Load reads the tasks in the folders of dir, in the order of their names. names
// chooses some; none is all. Mistakes are a *beagle.UsageError.
func Load(dir string, names ...string) ([]Task, error) {
	// Find the folders.
	found, err := filepath.Glob(filepath.Join(dir, "*", description))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s has no folder with a %s", dir, description),
			Remedy: "name the suite's folder with --dir; in Beagle's repository it is suite/tasks",
		}
	}
	// Choose by name, or take all in order.
	all := map[string]string{}
	var order []string
	for _, path := range found {
		name := filepath.Base(filepath.Dir(path))
		all[name], order = path, append(order, name)
	}
	if len(names) == 0 {
		names = order
	}
	// Read the chosen ones.
	var out []Task
	for _, name := range names {
		path, ok := all[name]
		if !ok {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("there is no task %q in %s", name, dir),
				Remedy: "there are " + strings.Join(order, ", "),
			}
		}
		t, err := readTask(path)
		if err != nil {
			return nil, err
		}
		out = append(out, *t)
	}
	return out, nil
}

// readTask reads one description.
func readTask(path string) (*Task, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	if err != nil {
		return nil, &beagle.UsageError{What: path + ": " + err.Error(), Remedy: "suite/README.md describes the fields"}
	}
	t.Dir = filepath.Dir(path)
	t.Name = filepath.Base(t.Dir)
	if _, err := os.Stat(t.ExpertFile()); errors.Is(err, fs.ErrNotExist) {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s: the expert's version %s is not there", path, t.Expert),
			Remedy: "write it: a candidate file as `beagle verify` takes it",
		}
	}
	return t, nil
}

// ExpertFile is the path of the expert's version.
func (t *Task) ExpertFile() string { return filepath.Join(t.Dir, filepath.FromSlash(t.Expert)) }

// parse reads and checks a description. Errors name the field.
func parse(text []byte) (*Task, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	t := new(Task)
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one object")
	}
	switch {
	case t.Name != "" || t.Dir != "" || t.Goal != 0:
		return nil, errors.New("name, dir and goal are not given: they follow from the folder and from known")
	case t.About == "":
		return nil, errors.New("about is empty")
	case t.Target == "" || strings.ContainsAny(t.Target, "/ "):
		return nil, fmt.Errorf("target %q is not a function of the folder's package", t.Target)
	case t.Expert == "" || !filepath.IsLocal(filepath.FromSlash(t.Expert)):
		return nil, fmt.Errorf("expert %q is not a file in the folder", t.Expert)
	case t.Technique == "":
		return nil, errors.New("technique is empty")
	}
	return t, t.setGoal()
}

// setGoal takes half of the known gain: the factor in the middle between 1 and the known one.
func (t *Task) setGoal() error {
	k := t.Known
	if k == nil {
		return nil
	}
	switch {
	case (k.TimeSaved == 0) == (k.Factor == 0):
		return errors.New("known takes either time_saved or factor")
	case k.TimeSaved < 0 || k.TimeSaved >= 1:
		return fmt.Errorf("known.time_saved %g is not between 0 and 1", k.TimeSaved)
	case k.Factor != 0 && k.Factor <= 1:
		return fmt.Errorf("known.factor %g is no gain", k.Factor)
	}
	t.Goal = 1 + (k.factor()-1)/2
	return nil
}
