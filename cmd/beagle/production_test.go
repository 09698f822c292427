package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// writeHistory makes hourly profiles of a sketch, whose samples vary as samples do:
// history DIR FIRST COUNT SKETCH. FIRST is an hour since the sketch's start.
func writeHistory(ts *testscript.TestScript, _ bool, args []string) {
	first, err := strconv.Atoi(args[1])
	ts.Check(err)
	count, err := strconv.Atoi(args[2])
	ts.Check(err)
	text := ts.ReadFile(args[3])
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o777))
	rng := rand.New(rand.NewPCG(uint64(first), 18))
	for i := range count {
		s, err := sketch.Parse(text)
		ts.Check(err)
		s.Start = s.Start.Add(time.Duration(first+i) * time.Hour)
		for k, stack := range s.Stacks {
			n, rest, _ := strings.Cut(stack, " ")
			samples, err := strconv.ParseFloat(n, 64)
			ts.Check(err)
			samples += rng.NormFloat64() * math.Sqrt(samples)
			s.Stacks[k] = fmt.Sprintf("%.0f %s", max(1, samples), rest)
		}
		data, err := s.Bytes()
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("%04d.pprof", first+i)), data, 0o666))
	}
}

// writeBlocks makes blocks of slices of a service whose candidate takes FACTOR of the processor
// time and fails ERRORS of its requests: blocks FILE FIRST COUNT FACTOR ERRORS.
func writeBlocks(ts *testscript.TestScript, _ bool, args []string) {
	var number [4]float64
	for i := range number {
		var err error
		number[i], err = strconv.ParseFloat(args[i+1], 64)
		ts.Check(err)
	}
	rng := rand.New(rand.NewPCG(uint64(number[0]), 18))
	var out bytes.Buffer
	for i := range int(number[1]) {
		seq := int64(number[0]) + int64(i)
		b := rollout.Block{ID: "pod-1", Seq: seq, Planned: []rollout.Arm{rollout.Candidate, rollout.Original,
			rollout.Placebo}}
		start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).Add(time.Duration(seq) * time.Second)
		for k, arm := range b.Planned {
			const requests = 5000
			factor, failed := 1.0, 0.0
			if arm == rollout.Candidate {
				factor, failed = number[2], requests*number[3]
			}
			cpu := 1e9 * factor * (1 + 0.02*rng.NormFloat64())
			b.Slices = append(b.Slices, rollout.Slice{Arm: arm, Pod: "pod-1", Build: "b1",
				Start: start.Add(time.Duration(k) * 300 * time.Millisecond),
				End:   start.Add(time.Duration(k+1) * 300 * time.Millisecond),
				Counts: rollout.Counts{Requests: requests, Errors: failed, Slow: 5, CPUNanos: cpu, GCNanos: cpu / 20,
					AllocBytes: 1e8 * (1 + 0.001*rng.NormFloat64()), HeapBytes: 1e7,
					HeapGrowth: 1e3 * rng.NormFloat64(),
					Slices:     1}})
		}
		line, err := json.Marshal(b)
		ts.Check(err)
		out.Write(append(line, '\n'))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o666))
}

// resting waits until no rollout runs in a process, and prints why the last one ended:
// resting SOCKET REASON. With "running" as the reason it waits until one runs.
func resting(ts *testscript.TestScript, _ bool, args []string) {
	clients, err := capture.New([]string{ts.MkAbs(args[0])}, ts.Getenv("BEAGLE_PROBE_TOKEN"))
	ts.Check(err)
	const most = 5 * time.Minute // it waits for another process on a shared machine, not for a clock
	for start := time.Now(); time.Since(start) < most; time.Sleep(50 * time.Millisecond) {
		r, _, err := clients[0].Do(context.Background(), wire.Request{Verb: wire.VerbRolloutStatus})
		ts.Check(err)
		s := r.Rollout.Switches[0]
		switch {
		case s.Running == (args[1] == "running") && (s.Running || strings.Contains(s.Ended, args[1])):
			return
		case !s.Running && args[1] != "running" && s.Ended != "":
			ts.Fatalf("it ended by %q, not by %q", s.Ended, args[1])
		}
	}
	ts.Fatalf("%s: nothing happened", args[0])
}
