package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/beagle-go/beagle/internal/scratch"
)

// A recording is a file in a [Recorder]'s directory: a request and its outcome. Its name is the
// request's ID.
type recording struct {
	ID      string  `json:"id"`
	Request Request `json:"request"`
	Reply   *Reply  `json:"reply,omitempty"`
	Error   *Error  `json:"error,omitempty"`
}

// A Recorder keeps the answers of models in a directory, one JSON file a request. It does not ask
// by itself, so that the caller can save a paid answer before it is recorded.
type Recorder struct{ Dir string }

// Keep records the outcome of a request, in place of an earlier one. It records errors too, even a
// spent budget, because a replay has to come to the same end. It does not record that a caller has
// gone.
func (r *Recorder) Keep(q Request, reply Reply, err error) error {
	rec := recording{ID: q.ID(), Request: q}
	var e *Error
	switch {
	case err == nil:
		rec.Reply = &reply
	case errors.As(err, &e) && e.Kind != NotRecorded:
		rec.Error = e
	default:
		return nil
	}
	return rec.write(r.Dir)
}

// Has reports whether there is a recording for a request.
func (r *Recorder) Has(q Request) bool {
	_, err := os.Stat(filepath.Join(r.Dir, q.ID()+".json"))
	return err == nil
}

// write puts a recording into its place at once and whole.
func (r recording) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if err := scratch.Replace(filepath.Join(dir, r.ID+".json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// A Replayer answers from a [Recorder]'s directory and never asks a model.
type Replayer struct {
	Dir string

	once  sync.Once
	all   []recording // read if a request is missing
	index error
}

// Ask returns the recorded outcome of the request. An [*Error] of kind [NotRecorded] names the most
// similar recorded request, and where the two differ.
func (r *Replayer) Ask(_ context.Context, q Request) (Reply, error) {
	rec, err := readRecording(filepath.Join(r.Dir, q.ID()+".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Reply{}, r.missingError(q)
	case err != nil:
		return Reply{}, err
	case rec.Reply != nil:
		return *rec.Reply, nil
	}
	return Reply{}, rec.Error
}

func readRecording(path string) (recording, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return recording{}, err
	}
	var rec recording
	if err = json.Unmarshal(data, &rec); err == nil &&
		rec.Request.ID() != strings.TrimSuffix(filepath.Base(path), ".json") {
		err = errors.New("its name is not the ID of its request")
	}
	if err == nil && (rec.Reply == nil) == (rec.Error == nil) {
		err = errors.New("it holds neither a reply nor an error")
	}
	if err != nil {
		return recording{}, usage(fmt.Sprintf("recording %s: %v", path, err), "Record it anew with --record.")
	}
	return rec, nil
}

// missingError returns the error for a request without a recording.
func (r *Replayer) missingError(q Request) error {
	r.once.Do(func() { r.index = r.read() })
	e := &Error{Kind: NotRecorded, Model: q.Model,
		Message: fmt.Sprintf("nothing is recorded for request %s in %s", q.ID(), r.Dir),
		Remedy:  "replay with the options and the version of the recorded run, or record anew with --record"}
	if r.index != nil {
		e.Message += ": " + r.index.Error()
		return e
	}
	best, at := "", -1
	for _, rec := range r.all {
		if where, same := parting(q, rec.Request); same > at {
			best, at = fmt.Sprintf("; the nearest is %s, which differs in %s", rec.ID, where), same
		}
	}
	e.Message += best
	return e
}

func (r *Replayer) read() error {
	paths, err := filepath.Glob(filepath.Join(r.Dir, "*.json"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("there are no recordings")
	}
	for _, p := range paths {
		if rec, err := readRecording(p); err == nil {
			r.all = append(r.all, rec)
		}
	}
	return nil
}

// parting returns where two requests differ, and how much they have in common.
func parting(a, b Request) (where string, same int) {
	var out []string
	differ := func(name string, x, y any) {
		if x == y {
			same += 1000
			return
		}
		out = append(out, fmt.Sprintf("%s (%v, recorded %v)", name, x, y))
	}
	differ("model", a.Model, b.Model)
	differ("seed", a.Seed, b.Seed)
	differ("sample", a.Sample, b.Sample)
	differ("temperature", a.Temperature, b.Temperature)
	differ("max tokens", a.MaxTokens, b.MaxTokens)
	differ("turns", len(a.History), len(b.History))
	texts := func(name, x, y string) {
		n := commonPrefix(x, y)
		same += n
		if x != y {
			out = append(out, fmt.Sprintf("%s from line %d on (%q)", name, strings.Count(x[:n], "\n")+1, lineAt(x, n)))
		}
	}
	texts("system", a.System, b.System)
	for i := range min(len(a.History), len(b.History)) {
		texts(fmt.Sprintf("turn %d", i+1), a.History[i].Text, b.History[i].Text)
	}
	texts("prompt", a.User, b.User)
	return strings.Join(out, ", "), same
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lineAt returns the line around a place, shortened.
func lineAt(s string, at int) string {
	start := strings.LastIndexByte(s[:at], '\n') + 1
	line, _, _ := strings.Cut(s[start:], "\n")
	return shorten(strings.TrimSpace(line))
}
