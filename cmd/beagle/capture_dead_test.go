package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// A normalizing site is the example's function, as a service with a probe has it.
var normalizing probe.Site

const normalizingName = "github.com/beagle-go/beagle/examples/tags.NormalizeTagArbTagValue"

type normalizeArgs struct{ A0 string }
type normalizeResults struct{ A0 string }

func init() {
	probe.Register[normalizeArgs, normalizeResults](&normalizing, normalizingName)
}

// An armable is this process as a service with a probe.
type armable struct {
	client *capture.Client
	dir    string
	flags  []string // that reach it, after a process that is dead
}

// besideDead serves this process's probe. A dead process comes first in its flags.
func besideDead(t *testing.T) *armable {
	t.Helper()
	const text = "0123456789abcdef0123456789abcdef"
	dir := t.TempDir()
	socket, token := filepath.Join(dir, "p.sock"), filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	probe.AllowRaw()
	d, err := probe.Listen(socket, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	clients, err := capture.New([]string{socket}, token)
	if err != nil {
		t.Fatal(err)
	}
	return &armable{clients[0], dir, []string{"--at", filepath.Join(dir, "dead.sock") + "," + socket, "--token", token}}
}

// arm begins a capture, which the test ends. Its controller beats meanwhile: a verb may take longer
// than a silent controller counts as alive.
func (h *armable) arm(t *testing.T) {
	t.Helper()
	q := wire.Start{Sites: []string{normalizingName}, Rate: 1000, Raw: true}
	r, _, err := h.client.Do(t.Context(), wire.Request{Verb: wire.VerbStart, Start: &q})
	if err != nil {
		t.Fatal(err)
	}
	var beats sync.WaitGroup
	over := make(chan struct{})
	beats.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Second):
				h.client.Do(context.Background(), wire.Request{Verb: wire.VerbBeat, Lease: r.Lease})
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		beats.Wait()
		h.client.Do(context.Background(), wire.Request{Verb: wire.VerbStop})
	})
}

// session returns the capture that is armed, or nil.
func (h *armable) session(t *testing.T) *wire.Session {
	t.Helper()
	r, _, err := h.client.Do(t.Context(), wire.Request{Verb: wire.VerbStatus})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Session
}

// call calls the function until n calls wait.
func (h *armable) call(t *testing.T, n int) {
	t.Helper()
	for h.session(t).Waiting < n {
		for range 1000 {
			if normalizing.Gate() {
				args, results := normalizeArgs{"A Tag"}, normalizeResults{"a_tag"}
				c := probe.Enter(&normalizing, &args)
				probe.Leave(&c, &args, &results)
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// TestDeadProcess: a verb goes over all processes that answer, although the first one is dead. The
// error names that one, and what to look at.
func TestDeadProcess(t *testing.T) {
	h := besideDead(t)
	beagle := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		status := run(append([]string{"capture"}, append(h.flags, args...)...), stdio{&out, &errs})
		if status != exitNo || !strings.Contains(errs.String(), "dead.sock: ") ||
			!strings.Contains(errs.String(), "check that the service runs, and this is its socket") {
			t.Errorf("%q: status %d\n%s%s", args, status, &out, &errs)
		}
		return out.String()
	}
	h.arm(t)
	if out := beagle("status"); !strings.Contains(out, "armed for") {
		t.Errorf("the status of the other process is missing:\n%s", out)
	}
	h.call(t, 3)
	file := filepath.Join(h.dir, "calls.jsonl")
	const target = "./examples/tags.NormalizeTagArbTagValue"
	if out := beagle("-C", "../..", "--out", file, "pull", target); h.session(t) == nil {
		t.Errorf("the capture is over:\n%s", out)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"A Tag"`) ||
		!strings.Contains(string(b), `"results":["a_tag"]`) {
		t.Errorf("the calls of the other process are lost: %v\n%s", err, b)
	}
	if out := beagle("stop"); !strings.Contains(out, "p.sock: disarmed") || h.session(t) != nil {
		t.Errorf("the other process stays armed:\n%s", out)
	}
	beagle("ask", normalizingName, "len(A0) > 3")
	beagle("start", "--for", "1s", normalizingName)
	if h.session(t) != nil {
		t.Error("a start that failed leaves a process armed")
	}
}

// TestBadFile: a file that cannot take the calls is refused before anything is armed.
func TestBadFile(t *testing.T) {
	h := besideDead(t)
	live := h.flags[1][strings.Index(h.flags[1], ",")+1:]
	foreign := filepath.Join(h.dir, "foreign.jsonl")
	if err := os.WriteFile(foreign, []byte(`{"args":{"n":1}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		foreign:                                  "foreign.jsonl:1: ",
		h.dir:                                    "is not a regular file",
		"/dev/zero":                              "is not a regular file",
		filepath.Join(h.dir, "none", "x.jsonl"):  "name a file in a directory that can be written",
		filepath.Join(h.dir, "token", "x.jsonl"): "not a directory",
		os.DevNull:                               "not a regular file", // which must not be replaced
	} {
		var out, errs bytes.Buffer
		status := run([]string{"capture", "start", "--at", live, "--token", h.flags[3], "-C", "../..", "--for", "1h",
			"--out", file, "./examples/tags.NormalizeTagArbTagValue"}, stdio{&out, &errs})
		if status == exitOK || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d\n%s", file, status, &errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, ".beagle-*")); h.session(t) != nil || len(left) > 0 {
		t.Errorf("armed, or files are left: %q", left)
	}
}

// TestEmptyFile: calls go to an empty file, as mktemp makes one, and a link to it stays a link.
func TestEmptyFile(t *testing.T) {
	u, err := source.Load(t.Context(), source.Options{Dir: "../..",
		Spec: "./examples/tags.NormalizeTagArbTagValue"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "calls.jsonl"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	o := &captureFlags{out: link}
	if err := o.openFile(u); err != nil {
		t.Fatal(err)
	}
	defer o.file.discard()
	if err := o.file.write(u, &capture.Records{List: []beagle.Record{keptCall()}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if info, bad := os.Lstat(link); err != nil || bad != nil || info.Mode().IsRegular() ||
		!strings.Contains(string(b), `"kept"`) {
		t.Errorf("%v %v\n%s", err, bad, b)
	}
}

// keptCall is a call of the example's function with the argument "kept".
func keptCall() beagle.Record {
	args := rt.Value{Kind: rt.KindStruct, Names: []string{"A0"}, Elems: []rt.Value{{Kind: rt.KindString, Str: "kept"}}}
	return beagle.Record{Weight: 2, Args: args.Append(nil)}
}

// TestCallsAreSaved: when the file cannot be written in the end, the calls are elsewhere.
func TestCallsAreSaved(t *testing.T) {
	u, err := source.Load(t.Context(), source.Options{Dir: "../..",
		Spec: "./examples/tags.NormalizeTagArbTagValue"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := &captureFlags{out: filepath.Join(dir, "calls.jsonl")}
	if err := o.openFile(u); err != nil {
		t.Fatal(err)
	}
	defer o.file.discard()
	if err := os.RemoveAll(dir); err != nil { // as a full disk, the write fails
		t.Fatal(err)
	}
	err = o.file.write(u, &capture.Records{List: []beagle.Record{keptCall()}})
	saved, _ := filepath.Glob(filepath.Join(os.TempDir(), "beagle-calls-*.jsonl"))
	if err == nil || len(saved) != 1 || !strings.Contains(err.Error(), "the captured calls are in "+saved[0]) {
		t.Fatalf("%v; %q", err, saved)
	}
	b, err := os.ReadFile(saved[0])
	if err != nil || !strings.Contains(string(b), `{"args":{"tag":"kept"},"weight":2}`) {
		t.Errorf("%v\n%s", err, b)
	}
}
