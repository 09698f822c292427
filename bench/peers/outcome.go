package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/llmtest"
)

// An outcome is the result of a program in a scenario. A count that does not apply is -1.
type outcome struct {
	wall     time.Duration
	wanted   int           // candidates
	calls    int           // of the model
	spacing  time.Duration // between calls, the mean
	last     time.Duration // the same of the last tenth of the calls
	evals    int           // of candidates that came of replies
	twice    int           // calls for replies that had arrived before, where that is known
	repeated int           // evaluations of what was evaluated before
	rate     float64       // evaluations that end in a minute, between the first and the last
	harmed   int           // faultless replies whose candidate was not evaluated to its end
	strays   int           // processes that outlived the run, or the kill
	overhead time.Duration // for each candidate, as the program itself counts it
	note     string
}

// An entry is a line of the evaluator's log.
type entry struct {
	At    float64 `json:"at"`
	What  string  `json:"what"`
	Reply int     `json:"reply"`
}

func readLog(path string) []entry {
	data, _ := os.ReadFile(path)
	var out []entry
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var e entry
		if json.Unmarshal(s.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// fromLogs derives the outcome from the calls of the model and the log of the evaluator.
func fromLogs(s scenario, calls []llmtest.Call, log []entry) outcome {
	o := outcome{wanted: s.n, calls: len(calls), overhead: -1, harmed: -1, twice: -1}
	if len(calls) > 1 {
		o.spacing = meanGap(calls)
		o.last = meanGap(calls[len(calls)*9/10-1:])
	}
	begun, ended := map[int]int{}, map[int]int{}
	var ends []float64
	for _, e := range log {
		switch {
		case e.Reply == 0: // the original
		case e.What == "begin":
			o.evals++
			if begun[e.Reply]++; begun[e.Reply] > 1 {
				o.repeated++
			}
		default:
			ended[e.Reply]++
			ends = append(ends, e.At)
		}
	}
	if n := len(ends) - s.slots; n > 0 {
		// The first evaluation of every slot begin together, so the rate counts the later ones.
		slices.Sort(ends)
		o.rate = float64(n) / (ends[len(ends)-1] - ends[s.slots-1]) * 60
	}
	if s.name == "hang" {
		o.harmed = 0
		for number := 1; number <= min(len(calls), s.n); number++ {
			if k := s.reply(number); !k.hang && ended[k.id] == 0 {
				o.harmed++
			}
		}
	}
	return o
}

func meanGap(calls []llmtest.Call) time.Duration {
	if len(calls) < 2 {
		return 0
	}
	return calls[len(calls)-1].At.Sub(calls[0].At) / time.Duration(len(calls)-1)
}

// strays returns the processes that mention a directory in their command line, working directory or
// environment, other than this one.
func strays(dir string) []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		cmd, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		exe, _ := os.Readlink(filepath.Join(proc, "exe"))
		status, _ := os.ReadFile(filepath.Join(proc, "stat"))
		if strings.Contains(string(status), ") Z ") {
			continue
		}
		if bytes.Contains(cmd, []byte(dir)) || bytes.Contains(env, []byte(dir)) || strings.HasPrefix(cwd, dir) ||
			strings.HasPrefix(exe, dir) {
			out = append(out, pid)
		}
	}
	return out
}

// sweep counts the processes that a run has left behind after a moment of
// grace, and ends them.
func sweep(dir string) int {
	time.Sleep(2 * time.Second)
	left := strays(dir)
	for _, pid := range left {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
	return len(left)
}
