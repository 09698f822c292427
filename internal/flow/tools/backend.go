// Package tools does what package mcp offers to coding agents: it describes and judges functions of
// one module in this process, and reads its runs. It hides values from production that agents may
// not see.
package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A Backend carries out the tools of 'beagle mcp'.
type Backend struct {
	*judge
	dir     string // of the module, absolute
	search  string // ID of the run that asked the agent, the only run that it sees; empty for a user's
	redact  bool
	lessons []string
	module  func() (mcp.Module, error)
	placed  sync.Map // by the directory of a search: where that has the module
}

// Options say whom a backend serves.
type Options struct {
	Search  string   // directory of the run that asked the agent; empty for a user's agent
	Lessons []string // directories of lessons besides the user's own
}

// New opens a spec's module and the user's store for agents. The spec lacks a target: tools name
// it.
func New(spec flow.Spec, o Options) (*Backend, error) {
	home, err := store.Home()
	if o.Search != "" {
		home, err = filepath.Dir(filepath.Dir(o.Search)), nil
	}
	if err != nil {
		return nil, err
	}
	s, err := store.Open(home)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(spec.Dir)
	if err != nil {
		return nil, err
	}
	b := &Backend{judge: newJudge(spec, s), dir: dir, redact: spec.Redacted(), lessons: llm.LessonDirs(home, o.Lessons)}
	if o.Search != "" {
		b.search = filepath.Base(o.Search)
	}
	b.module = sync.OnceValues(func() (mcp.Module, error) { return findModule(dir) })
	if _, err := b.module(); err != nil {
		return nil, err
	}
	_, err = b.Lessons()
	return b, err
}

// findModule asks the go command which module a directory belongs to.
func findModule(dir string) (mcp.Module, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{if .Main}}{{.Path}}\n{{.Dir}}{{end}}")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return mcp.Module{}, &beagle.UsageError{
			What:   fmt.Sprintf("%s: %s", dir, cmp.Or(strings.TrimSpace(stderr.String()), err.Error())),
			Remedy: "start the server in a Go module, or name one with -C",
		}
	}
	var found mcp.Module
	lines := strings.Fields(string(out))
	for i := 0; i+1 < len(lines); i += 2 { // a workspace has several: the innermost around dir counts
		rel, err := filepath.Rel(lines[i+1], dir)
		if err == nil && (rel == "." || filepath.IsLocal(rel)) && len(lines[i+1]) > len(found.Dir) {
			found = mcp.Module{Path: lines[i], Dir: lines[i+1]}
		}
	}
	if found.Path == "" {
		return found, &beagle.UsageError{
			What:   dir + " is in no module",
			Remedy: "start the server in a Go module, or name one with -C",
		}
	}
	return found, nil
}

// Redacted reports whether agents see shapes in place of captured values.
func (b *Backend) Redacted() bool { return b.redact }

// Close ends the work in progress.
func (b *Backend) Close() { b.judge.close() }

// Module returns the module that is served.
func (b *Backend) Module(context.Context) (mcp.Module, error) { return b.module() }

// Profile opens a file below the module; links that lead out of it are not
// followed.
func (b *Backend) Profile(name string) (io.ReadCloser, error) {
	m, err := b.module()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(m.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Open the file. An error names it as the agent does.
	refuse := func(why string) error {
		return &beagle.UsageError{
			What:   fmt.Sprintf("profile %.200q: %s", name, why),
			Remedy: "name a CPU profile below " + m.Dir + " with a relative path",
		}
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, refuse(err.Error())
	}
	// Refuse anything but a file of moderate size.
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, refuse(err.Error())
	case !info.Mode().IsRegular():
		f.Close()
		return nil, refuse("it is not a file")
	case info.Size() > mcp.MaxProfile:
		f.Close()
		return nil, refuse(fmt.Sprintf("it has %d bytes, more than %d", info.Size(), mcp.MaxProfile))
	}
	return f, nil
}

// Describe returns what a prompt would say of a target.
func (b *Backend) Describe(ctx context.Context, target string, tell mcp.Progress) (*mcp.Description, error) {
	v := b.veil(target)
	d, err := b.judge.describe(ctx, target, v.progress(tell))
	if err != nil || !b.redact {
		return d, v.error(err)
	}
	if d.Briefing != nil {
		d.Briefing.Redact = true
	}
	if d.Refused != nil {
		d.Refused = v.usage(d.Refused)
	}
	for i, f := range d.Findings {
		d.Findings[i].Figure = llm.RedactText(f.Figure, nil, target)
	}
	return d, nil
}

// Evaluate judges a version of a target.
func (b *Backend) Evaluate(
	ctx context.Context, target, source, note string, tell mcp.Progress,
) (*mcp.Evaluation, error) {
	v := b.veil(target)
	e, err := b.judge.evaluate(ctx, target, source, note, v.progress(tell))
	return b.redacted(e, v.error(err))
}

// Evaluation returns a judgement by its ID.
func (b *Backend) Evaluation(id string) (*mcp.Evaluation, error) {
	return b.redacted(b.judge.evaluation(id))
}

// redacted returns an evaluation as agents may see it.
func (b *Backend) redacted(e *mcp.Evaluation, err error) (*mcp.Evaluation, error) {
	if err != nil || !b.redact {
		return e, err
	}
	out := *e
	out.Verdict = *shapes(&e.Verdict, e.Target)
	return &out, nil
}

// shapes returns a verdict with shapes instead of values. The function's own name stays: the
// asker knows it.
func shapes(v *beagle.Verdict, target string) *beagle.Verdict {
	return llm.RedactVerdict(v, &beagle.Target{Name: path.Base(target)})
}

// Lessons returns the recorded ways to a gain.
func (b *Backend) Lessons() ([]llm.Lesson, error) { return llm.LoadLessons(b.lessons...) }

// Runs lists the runs of the module.
func (b *Backend) Runs() ([]mcp.Run, error) {
	runs, err := b.store.Runs()
	if err != nil {
		return nil, err
	}
	fleet.MarkKilled(b.store, runs)
	var out []mcp.Run
	for _, r := range runs {
		if !b.ours(r) {
			continue
		}
		if b.redact {
			r.Note = llm.RedactText(r.Note, nil, r.ID, r.Spec)
		}
		out = append(out,
			mcp.Run{
				ID:      r.ID,
				Target:  r.Spec,
				State:   string(r.State),
				Note:    r.Note,
				Created: r.Created.UTC().Format(time.RFC3339),
			})
	}
	return out, nil
}

// ours reports whether a run is of the module that is served: agents hear of no
// other.
func (b *Backend) ours(r store.Run) bool {
	m, err := b.module()
	switch {
	case b.search != "": // the agent works in a copy of its module
		return r.ID == b.search
	case err != nil:
		return false
	}
	var spec flow.Spec
	if ok, err := b.store.Load(r.ID, "spec", &spec); ok && err == nil && filepath.IsAbs(spec.Dir) &&
		!b.searched(m, spec.Dir) {
		return false
	}
	return r.Spec == m.Path || strings.HasPrefix(r.Spec, m.Path+"/") || strings.HasPrefix(r.Spec, m.Path+".") ||
		strings.HasPrefix(r.Spec, ".")
}

// searched reports whether a search that was started in a directory searched the module: the
// directory lies below the module, or in a workspace that has it, or is its root.
func (b *Backend) searched(m mcp.Module, dir string) bool {
	home, dir := unlinked(m.Dir), unlinked(dir)
	if holds(home, dir) {
		return true
	}
	if !holds(dir, home) {
		return false
	}
	known, ok := b.placed.Load(dir)
	if !ok {
		cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		cmd.Dir = dir
		out, _ := cmd.Output() // a directory that knows no such module has no search in it
		known = unlinked(strings.TrimSpace(string(out)))
		b.placed.Store(dir, known)
	}
	return known == home
}

// unlinked returns a path without symbolic links, or as it is when nothing is there.
func unlinked(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// holds reports whether a path is a directory or something below it.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// entry finds a run of the module.
func (b *Backend) entry(id string) (store.Run, error) {
	r, err := b.store.Run(id)
	if err == nil && !b.ours(r) {
		err = &beagle.UsageError{
			What:   fmt.Sprintf("run %s is of another module", r.ID),
			Remedy: "list_runs lists the searches of this one",
		}
	}
	return r, err
}

// Submit hands a version in to a running search.
func (b *Backend) Submit(run, source, note string) (*mcp.Submission, error) {
	entry, err := b.entry(run)
	if err != nil {
		return nil, err
	}
	state := []store.Run{entry}
	if fleet.MarkKilled(b.store, state); state[0].State != entry.State {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("the process of run %s is gone", entry.ID),
			Remedy: "'beagle resume " + entry.ID +
				"' goes on with it; or judge the version by itself with evaluate_candidate",
		}
	}
	v := store.Submission{ID: beagle.HashOf("submission", source)[:16], Source: source, Note: note, At: time.Now()}
	waiting, err := b.store.Submit(entry.ID, v)
	if err != nil {
		return nil, err
	}
	return &mcp.Submission{ID: v.ID, Run: entry.ID, Waiting: waiting}, nil
}

// Submitted looks where a version that was handed in stands.
func (b *Backend) Submitted(run, id string) (*beagle.Verdict, error) {
	entry, err := b.entry(run)
	if err != nil {
		return nil, err
	}
	// The inbox first: a submission that has left it has a fate.
	waiting, err := b.store.Inbox(entry.ID)
	if err != nil {
		return nil, err
	}
	fate, taken := flow.FateOf(b.store, entry.ID, id)
	if taken && fate.Verdict.Status != "" {
		if b.redact {
			return shapes(&fate.Verdict, entry.Spec), nil
		}
		return &fate.Verdict, nil
	}
	if taken || slices.ContainsFunc(waiting, func(v store.Submission) bool { return v.ID == id }) {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("run %s has not judged %.40s yet", entry.ID, id),
			Remedy: "ask again in some seconds; if the search has ended or was stopped, judge it with " +
				"evaluate_candidate",
		}
	}
	return nil, nil
}

// Result returns the result of a run.
func (b *Backend) Result(run string) (*beagle.Result, error) {
	entry, err := b.entry(run)
	if err != nil {
		return nil, err
	}
	r, err := local.Result(b.store, entry.ID)
	if err == nil && b.redact {
		hideValues(r)
	}
	return r, err
}

// hideValues removes captured values from a result for agents: from the reasons of its attempts,
// the tests and benchmarks of its patch, and from the patch itself if it is for the frequent case
// and so spells that out.
func hideValues(r *beagle.Result) {
	for i, t := range r.Attempts {
		r.Attempts[i].Reason = llm.RedactText(t.Reason, nil, r.Target.Spec)
	}
	r.Why = llm.RedactText(r.Why, nil, r.Target.Spec)
	if r.Patch = llm.SourceDiff(r); addsValue(r) {
		r.Patch = ""
		r.Why = strings.TrimSuffix(r.Why, ".") + ". The patch holds a captured value and is not shown; 'beagle show " +
			r.Run + "' has it."
	}
}

// addsValue reports whether a patch adds a frequent captured value to the source,
// on one line or spread over several. Each line counts by itself too: a hunk may
// begin within a comment or a raw string.
func addsValue(r *beagle.Result) bool {
	var had, has, added strings.Builder
	var lines []string
	for line := range strings.Lines(r.Patch) {
		switch text := line[1:]; line[0] {
		case '-':
			had.WriteString(text)
		case ' ':
			had.WriteString(text)
			has.WriteString(text)
		case '+':
			has.WriteString(text)
			added.WriteString(text)
			lines = append(lines, text)
		}
	}
	e := llm.Briefing{Redact: true, Facets: &r.Corpus.Facets, Target: &beagle.Target{Source: had.String()}}
	return slices.ContainsFunc(append(lines, added.String(), has.String()), e.Leaks)
}
