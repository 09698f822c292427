package fleet

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// stubVariable makes the test binary a beagle-temporal without a server.
const stubVariable = "BEAGLE_FLEET_STUB"

func TestMain(m *testing.M) {
	switch os.Getenv(stubVariable) {
	case "":
		os.Exit(m.Run())
	case "silent":
		os.Exit(3)
	case "chatty":
		_, _ = io.WriteString(os.Stdout, "panic: no line of JSON\n")
		os.Exit(2)
	}
	os.Exit(Serve(context.Background(), os.Stdin, os.Stdout, func(s Session) Backend { return &stub{s} }))
}

// A stub ends a run as the run's ID says.
type stub struct{ Session }

func (s *stub) Start(ctx context.Context, id string, spec flow.Spec) (*beagle.Result, error) {
	s.Watch.Stage("search", spec.Target)
	switch id {
	case "usage":
		return nil, &beagle.UsageError{What: "no such target", Remedy: "name another"}
	case "full":
		return nil, errors.Join(errors.New("the store"), syscall.ENOSPC)
	case "canceled":
		return nil, &Canceled{id}
	case "waits":
		s.Watch.Warn("waits")
		<-ctx.Done()
		return nil, &Detached{id}
	}
	return &beagle.Result{Why: s.Server.Address + " " + s.Store.Dir()}, nil
}

func (s *stub) Resume(context.Context, string) (*beagle.Result, error) {
	return nil, errors.New("it is broken")
}
func (s *stub) Cancel(_ context.Context, id string, enough bool) error {
	if id != "run" || !enough {
		return errors.New("the request arrived changed")
	}
	return nil
}
func (s *stub) Campaign(_ context.Context, id string) error { return &Detached{id} }

func (s *stub) Rollout(_ context.Context, id string) error {
	if id != "x" {
		return errors.New("the request arrived changed")
	}
	return &Canceled{id}
}
func (s *stub) RolloutStatus(_ context.Context, id string) (RolloutStatus, error) {
	return RolloutStatus{State: "running", Round: len(id), Waits: true}, nil
}
func (s *stub) StopRollout(context.Context, string) error { return errors.New("it is broken") }

func (s *stub) Work(_ context.Context, kinds []string) error {
	if len(kinds) != len(Kinds) || s.Process != os.Getppid() {
		return errors.New("the request arrived changed")
	}
	_, err := io.WriteString(os.Stderr, "works\n")
	return err
}

// opened returns a driver whose beagle-temporal is the stub of a kind.
func opened(t *testing.T, kind string) (*Driver, *[]flow.Event) {
	t.Helper()
	s, err := store.Open(t.TempDir())
	self, serr := os.Executable()
	if err := errors.Join(err, serr); err != nil {
		t.Fatal(err)
	}
	t.Setenv(programVariable, self)
	t.Setenv(stubVariable, kind)
	events := new([]flow.Event)
	return &Driver{Store: s, Server: Server{Address: "host:1"}, Watch: func(e flow.Event) {
		*events = append(*events, e)
	}}, events
}

// TestOutcomes: events, results and errors of each kind cross the two processes.
func TestOutcomes(t *testing.T) {
	d, events := opened(t, "engine")
	ctx := t.Context()
	r, err := d.Start(ctx, "run", flow.Spec{Target: "p.F"})
	if err != nil || r.Why != "host:1 "+d.Store.Dir() {
		t.Errorf("%+v, %v", r, err)
	}
	if len(*events) != 1 || (*events)[0].Stage.Detail != "p.F" {
		t.Errorf("events %+v", *events)
	}
	var usage *beagle.UsageError
	if _, err := d.Start(ctx, "usage", flow.Spec{}); !errors.As(err, &usage) || usage.Remedy != "name another" {
		t.Errorf("bad input: %v", err)
	}
	if _, err := d.Start(ctx, "full", flow.Spec{}); !errors.Is(err, syscall.ENOSPC) ||
		!strings.HasPrefix(err.Error(), "the store") {
		t.Errorf("a full disk: %v", err)
	}
	var canceled *Canceled
	if _, err := d.Start(ctx, "canceled", flow.Spec{}); !errors.As(err, &canceled) || canceled.Run != "canceled" {
		t.Errorf("canceled: %v", err)
	}
	if _, err := d.Resume(ctx, "run"); err == nil || err.Error() != "it is broken" {
		t.Errorf("failed: %v", err)
	}
	if err := d.Cancel(ctx, "run", true); err != nil {
		t.Error(err)
	}
	var away *Detached
	if err := d.Campaign(ctx, "c"); !errors.As(err, &away) || away.Run != "c" {
		t.Errorf("a campaign: %v", err)
	}
	if err := d.Rollout(ctx, "x"); !errors.As(err, &canceled) || canceled.Run != "x" {
		t.Errorf("a rollout: %v", err)
	}
	want := RolloutStatus{State: "running", Round: 3, Waits: true}
	if s, err := d.RolloutStatus(ctx, "abc"); err != nil || s != want {
		t.Errorf("its status: %+v, %v", s, err)
	}
	if err := d.StopRollout(ctx, "x"); err == nil || err.Error() != "it is broken" {
		t.Errorf("its end: %v", err)
	}
	log := new(strings.Builder)
	if d.Log = log; d.Work(ctx, Kinds) != nil || log.String() != "works\n" {
		t.Errorf("work: log %q", log)
	}
}

// TestDetach: an interrupted command lets go of the run.
func TestDetach(t *testing.T) {
	d, _ := opened(t, "engine")
	ctx, stop := context.WithCancel(t.Context())
	d.Watch = func(e flow.Event) {
		if e.Warning != "" {
			stop()
		}
	}
	var away *Detached
	if _, err := d.Start(ctx, "waits", flow.Spec{}); !errors.As(err, &away) || away.Run != "waits" {
		t.Errorf("%v", err)
	}
}

// TestForeignProgram: a program that is no beagle-temporal is named.
func TestForeignProgram(t *testing.T) {
	for _, kind := range []string{"silent", "chatty"} {
		d, _ := opened(t, kind)
		_, err := d.Start(t.Context(), "run", flow.Spec{})
		if err == nil || !strings.Contains(err.Error(), os.Getenv(programVariable)+" ended without an answer") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestOtherVersion: programs of two versions say so, and nothing is done.
func TestOtherVersion(t *testing.T) {
	out := new(strings.Builder)
	status := Serve(t.Context(), strings.NewReader(`{"protocol":99,"verb":"start"}`+"\n"), out, func(Session) Backend {
		t.Error("it began")
		return nil
	})
	if status == 0 || !strings.Contains(out.String(), "protocols 99 and 2") {
		t.Errorf("status %d, %s", status, out)
	}
	out.Reset()
	if status := Serve(t.Context(), strings.NewReader(""), out, nil); status != 2 ||
		!strings.Contains(out.String(), "beagle evolve --temporal") {
		t.Errorf("without a request: status %d, %s", status, out)
	}
}

// TestFind: the program is found where the environment says, or on the PATH. If it is missing, the
// error tells how to get it.
func TestFind(t *testing.T) {
	var usage *beagle.UsageError
	t.Setenv("PATH", t.TempDir())
	if _, err := find(); !errors.As(err, &usage) || !strings.Contains(usage.Remedy, "go install") {
		t.Errorf("nowhere: %v", err)
	}
	t.Setenv(programVariable, filepath.Join(t.TempDir(), "none"))
	if _, err := find(); !errors.As(err, &usage) || !strings.Contains(usage.What, programVariable) {
		t.Errorf("a wrong name: %v", err)
	}
	t.Setenv(programVariable, "")
	dir := t.TempDir()
	program := filepath.Join(dir, "beagle-temporal")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got, err := find(); err != nil || got != program {
		t.Errorf("on the PATH: %s, %v", got, err)
	}
}
