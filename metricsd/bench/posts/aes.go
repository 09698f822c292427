package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// aes compares Go's map with and without the AES instructions that its hash has: two processes take
// turns, the one with GODEBUG=cpu.aes=off. A third has them on again.
func aes(o *options, args []string) error {
	// The setting is read when a process starts: neither half can be measured in the other's.
	child := o.flags.Bool("child", false, "measure one turn and print it; the command starts these itself")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	if *child {
		return json.NewEncoder(o.out).Encode(aesTurn(o))
	}
	// Measure "off" twice: a gain smaller than their difference is noise.
	off := []string{"GODEBUG=cpu.aes=off,cpu.ssse3=off"}
	settings := [][]string{off, nil, off}
	all := make([]map[string][]float64, len(settings))
	// Begin each turn with another process: what follows a pause, or heats the core, changes with
	// the turn and not with the setting.
	for turn := range o.turns {
		for i := range settings {
			w := (i + turn) % len(settings)
			one, err := aesProcess(settings[w])
			if err != nil {
				return err
			}
			if all[w] == nil {
				all[w] = map[string][]float64{}
			}
			for _, r := range one {
				all[w][r.What] = append(all[w][r.What], r.Ns)
			}
		}
	}
	t := &table{
		Name:    "AES instructions for hashes of Go's map: ns an operation",
		Columns: []string{"what", "off", "on", "times as fast with them", "off again"},
	}
	for _, r := range aesTurnNames {
		t.add(r, median(all[0][r]), median(all[1][r]), ratioOf(all[0][r], all[1][r]), ratioOf(all[0][r], all[2][r]))
	}
	return o.print(t)
}

// aesResult is what a process measures.
type aesResult struct {
	What string
	Ns   float64
}

var aesTurnNames = []string{"map of strings, found, 1,000", "map of strings, found, 300,000",
	"map of strings, entered, 300,000", "map of integers, found, 300,000", "map of integers, entered, 300,000"}

func aesTurn(o *options) (all []aesResult) {
	few, many := hierarchical(1000), hierarchical(300_000)
	numbers := make([]uint64, len(many))
	for i := range numbers {
		numbers[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	found := 0
	for i, run := range []func(int){finds(few, &found), finds(many, &found), enters(many), finds(numbers, &found),
		enters(numbers)} {
		n := 300_000
		run(n)
		all = append(all, aesResult{aesTurnNames[i], cost(way{run: run}, n)})
	}
	return all
}

// aesProcess is one turn in a process of its own. It counts the names, so that a child of another
// build does not pass for a fast one.
func aesProcess(environment []string) (all []aesResult, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(program, "aes", "-child")
	c.Env = append(os.Environ(), environment...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("aes -child: %w", err)
	}
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(aesTurnNames) {
		return nil, errors.Join(errors.New("aes -child printed something else"), err)
	}
	return all, nil
}
