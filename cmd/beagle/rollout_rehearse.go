package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/procgroup"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/probe"
)

// rolloutRehearse starts the service, puts load on it, and lets the versions take turns. It looks
// for harm: whether there is a gain is for live traffic to say.
func rolloutRehearse(ctx context.Context, o *rolloutFlags) (int, error) {
	switch {
	case o.program == "" || o.load == "":
		return exitUsage, &beagle.UsageError{What: "rehearse: --run or --load is missing",
			Remedy: "beagle rollout rehearse --run './service' --load 'vegeta attack -targets calls.txt' PKG.F"}
	case len(o.at) > 0 || o.server.Address != "":
		return exitUsage, &beagle.UsageError{What: "rehearse: --at or --temporal is given",
			Remedy: "leave it out: the rehearsal starts a process of its own"}
	case o.lasts < 5*time.Second || o.lasts > 24*time.Hour:
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("--for %s is not between 5s and 24h", o.lasts),
			Remedy: "1m is common"}
	}
	// Start the service and its load.
	dir, err := scratch.New("rehearsal")
	if err != nil {
		return exitNo, err
	}
	defer dir.Remove()
	s, err := o.stage(ctx, dir.Path)
	if err != nil {
		return exitUsage, err
	}
	defer s.clear()
	// Drive a rollout on it that cannot ship.
	l := &flight{rolloutFlags: o, rehearses: true}
	defer l.unlock()
	if err := l.prepare(s.ctx); err != nil {
		return exitUsage, s.endReason(err)
	}
	p, err := l.pilot()
	if err != nil {
		return exitUsage, err
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(s.ctx, o.lasts)
	defer cancel()
	_, err = p.Run(limited)
	l.watch.stop()
	switch fault := s.endReason(nil); {
	case ctx.Err() != nil:
		return exitInterrupted, nil
	case fault != nil:
		return exitNo, fault
	case err != nil && limited.Err() == nil:
		return exitNo, err
	}
	// Keep the outcome for rollout start, and nothing of the rollout.
	r := &pilot.Rehearsal{Build: l.f.Plan.Build, At: began.UTC(), Seconds: time.Since(began).Seconds(),
		Requests: l.f.State.Exposure.Requests}
	if l.f.State.Phase == rollout.RolledBack {
		r.Harm = l.f.State.Cause
	}
	l.unlock()
	os.RemoveAll(filepath.Dir(l.base.Path("state.json"))) // it is no rollout that status should list
	return o.keepRehearsal(l.base.Store, r)
}

// A rehearsal ends by harm or by its time: it never ships.
const (
	rehearsedShare = 0.3
	neverBlocks    = 10_000_000
)

// keepRehearsal keeps and prints the results of a rehearsal.
func (o *rolloutFlags) keepRehearsal(s *store.Store, r *pilot.Rehearsal) (int, error) {
	// Keep the rehearsal under its build, where rollout start looks for it.
	text, err := json.Marshal(r)
	if err != nil {
		return exitNo, err
	}
	if err := os.MkdirAll(filepath.Dir(rehearsalFile(s, r.Build)), 0o755); err != nil {
		return exitNo, err
	}
	if err := s.WriteFile(rehearsalFile(s, r.Build), append(text, '\n')); err != nil {
		return exitNo, err
	}
	if o.asJSON {
		if err := printJSON(o.std.out, r); err != nil {
			return exitNo, err
		}
	}
	// Print harm, a load that did not arrive, or the absence of harm.
	switch {
	case r.Harm != "":
		if !o.asJSON {
			fmt.Fprintf(o.std.out, "Harm after %.0f requests on the candidate: %s\n", r.Requests, clean(r.Harm))
		}
		return exitNo, nil
	case r.Requests == 0:
		return exitUsage, &beagle.UsageError{What: "no request of the load reached the candidate",
			Remedy: "check --load, or give more time with --for"}
	}
	if !o.asJSON {
		fmt.Fprintf(o.std.out, "No harm in %.0f requests on the candidate, in %.0f s of load.\n", r.Requests, r.Seconds)
	}
	return exitOK, nil
}

// A stage is a service under load.
type stage struct {
	ctx   context.Context // ends when one of the programs fails
	clear func()          // ends both
	mu    sync.Mutex
	fault error
}

// endReason returns why a program ended, or else err.
func (s *stage) endReason(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return s.fault
	}
	return err
}

// stage starts the service with a probe that this command alone can reach, and the load.
func (o *rolloutFlags) stage(ctx context.Context, dir string) (*stage, error) {
	socket, token := filepath.Join(dir, "s"), filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stage{ctx: ctx}
	var running sync.WaitGroup
	s.clear = func() { cancel(); running.Wait() }
	// start runs a command line until the stage is cleared. A command that ends early is a fault.
	start := func(flag, line string, again bool, env ...string) {
		running.Go(func() {
			for ctx.Err() == nil {
				var out tail.Writer
				cmd := exec.CommandContext(ctx, "sh", "-c", line)
				cmd.Dir, cmd.Stdout, cmd.Stderr = o.dir, &out, &out
				cmd.Env = append(os.Environ(), env...)
				cmd.WaitDelay = 5 * time.Second
				procgroup.Own(cmd)
				err := cmd.Run()
				if ctx.Err() != nil || err == nil && again {
					continue // load that is over begins again
				}
				s.mu.Lock()
				s.fault = &beagle.UsageError{Remedy: "it must run until the rehearsal is over",
					What: fmt.Sprintf("--%s %q ended: %v\n%s", flag, line, err, clean(out.String()))}
				s.mu.Unlock()
				cancel()
			}
		})
	}
	// Start the service, wait for its socket, and then put load on it.
	start("run", o.program, false, probe.EnvSocket+"="+socket, probe.EnvToken+"="+token)
	o.at, o.token = []string{socket}, token
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		// The file is there before the service listens.
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		}
		if ctx.Err() != nil || time.Since(began) > 30*time.Second {
			s.clear()
			return nil, s.endReason(&beagle.UsageError{What: fmt.Sprintf("--run %q opens no socket within 30 s",
				o.program),
				Remedy: "build the service with beagle build --rollout CANDIDATE.go PKG.F, and let --run run that"})
		}
	}
	start("load", o.load, true)
	return s, nil
}

func rehearsalFile(s *store.Store, build string) string {
	return filepath.Join(s.Dir(), "rehearsals", build+".json")
}
