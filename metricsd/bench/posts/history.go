package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/beagle-go/beagle/metricsd/intake/history"
	"golang.org/x/sys/unix"
)

// histories are the sets of seen names. Each takes the i-th of many names.
var histories = []struct {
	name string
	make func(n int) (see func(i int))
}{
	{"map of names", func(int) func(int) {
		m := map[string]struct{}{}
		return func(i int) { m[nthName(i)] = struct{}{} }
	}},
	{"map of numbers", func(int) func(int) {
		m := map[uint64]struct{}{}
		return func(i int) { m[uint64(i)*0x9e3779b97f4a7c15] = struct{}{} }
	}},
	{"metricsd's history, by names", func(n int) func(int) {
		s := history.New(n + n/4)
		return func(i int) { s.See(s.Key(0, nthName(i)), 1) }
	}},
	{"metricsd's history, by numbers", func(n int) func(int) {
		s := history.New(n + n/4)
		return func(i int) { s.See(uint64(i)*0x9e3779b97f4a7c15, 1) }
	}},
}

// nthName returns a name of a metric. The figures of names include the time to make it.
func nthName(i int) string { return "service.checkout.request." + strconv.Itoa(i) }

// historyResult is the result of a process.
type historyResult struct{ Entered, Again, Megabytes float64 }

// keep fills each kind of history in a process of its own, and then has it see a tenth of the names
// again.
func keep(o *options, args []string) error {
	n := o.flags.Int("n", 40_000_000, "names")
	child := o.flags.Int("child", -1, "fill this history and print; the command starts these itself")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	if *child >= 0 {
		// Each history is measured by the memory of its whole process, which never shrinks: a
		// second one in the same process would be measured against what the first left.
		return json.NewEncoder(o.out).Encode(fill1(histories[*child].make(*n), *n))
	}
	t := &table{
		Name:    fmt.Sprintf("A history of %d names", *n),
		Columns: []string{"history", "ns to enter one, grown", "ns to see one again", "MB", "bytes a name"},
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	// Each turn has a row of its own: so few turns show their spread better than a median would.
	for turn := range o.turns {
		for i, h := range histories {
			out, err := exec.Command(program, "history", "-n", strconv.Itoa(*n), "-child", strconv.Itoa(i)).Output()
			if err != nil {
				return fmt.Errorf("%s, turn %d: %w", h.name, turn, err)
			}
			var r historyResult
			if err := json.Unmarshal(out, &r); err != nil {
				return err
			}
			t.add(h.name, r.Entered, r.Again, r.Megabytes, r.Megabytes*1e6/float64(*n))
		}
	}
	return o.print(t)
}

// fill1 enters the names and looks up a tenth of them again, in an order in which no cache line
// helps.
func fill1(see func(int), n int) historyResult {
	entered := cost(way{run: func(n int) {
		for i := range n {
			see(i)
		}
	}}, n)
	again := cost(way{run: func(count int) {
		for i := range count {
			see(i * 7919 % n)
		}
	}}, n/10)
	// Count the peak of the process, with memory that the collector had not yet freed: the machine
	// must have it.
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it cannot fail
	}
	return historyResult{entered, again, float64(usage.Maxrss) * 1024 / 1e6}
}
