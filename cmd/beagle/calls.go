package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/probe/wire"
)

// readCalls reads how often functions are called: calls a second of the whole service, by target.
// The file has lines of a target and a number, or the states of probes. N@FILE multiplies them.
func readCalls(name string) (map[string]float64, error) {
	if name == "" {
		return nil, nil
	}
	stands, file, err := profiles.Instances(name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &beagle.UsageError{
			What:   "--calls: " + tail.FileError(err),
			Remedy: "give a file with lines of TARGET CALLS-A-SECOND, or of 'beagle capture status --json'",
		}
	}
	// The states of probes are JSON objects, and no target begins like one.
	var calls map[string]float64
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		calls, err = callsOfProbes(file, data)
	} else {
		calls, err = callsOfLines(file, data)
	}
	for target := range calls {
		calls[target] *= stands
	}
	return calls, err
}

// callsOfLines reads one function a line, and skips comments.
func callsOfLines(file string, data []byte) (map[string]float64, error) {
	calls := map[string]float64{}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		words := strings.Fields(text)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		// Refuse what is no number of calls.
		n := -1.0
		if len(words) == 2 {
			if v, err := strconv.ParseFloat(words[1], 64); err == nil {
				n = v
			}
		}
		if !(n >= 0 && n < 1e15) {
			return nil, &beagle.UsageError{
				What: fmt.Sprintf("%s:%d: %q is not a target and calls a second", file, line,
					strings.TrimSpace(text)),
				Remedy: "write example.com/service/tags.Normalize 125000",
			}
		}
		calls[words[0]] = n
	}
	return calls, nil
}

// callsOfProbes adds up the rates that the probes of several processes counted.
func callsOfProbes(file string, data []byte) (map[string]float64, error) {
	calls := map[string]float64{}
	// Each process has an object of its own. Their rates add up to that of the service.
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var s wire.Status
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("%s, at byte %d: %v", file, d.InputOffset(), err),
				Remedy: "give the whole output of 'beagle capture status --json'",
			}
		}
		for _, site := range s.Sites {
			if site.Counts != nil && site.Counts.Rate > 0 {
				calls[site.Name] += site.Counts.Rate
			}
		}
	}
	// A function without calls is no fact about it: nothing was counted.
	if len(calls) == 0 {
		return nil, &beagle.UsageError{
			What:   file + " has no function whose calls were counted",
			Remedy: "probes count while a capture runs: ask for their state then",
		}
	}
	return calls, nil
}
