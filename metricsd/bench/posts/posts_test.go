package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// TestCommands runs tables at their smallest and reads what they print.
func TestCommands(t *testing.T) {
	for _, args := range [][]string{
		{"keys"}, {"maps"}, {"tags"}, {"decompress"}, {"intake", "-names", "100"}, {"trees", "-n", "1000"},
	} {
		var out bytes.Buffer
		args = append(args[:1:1], append([]string{"-json", "-turns", "1", "-slice", "0.01"}, args[1:]...)...)
		if err := run(args, &out); err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
		var tables []table
		if err := json.Unmarshal(out.Bytes(), &tables); err != nil || len(tables) == 0 {
			t.Fatalf("%s: %v\n%s", args[0], err, out.String())
		}
		for _, table := range tables {
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s: a row of %d cells under %d columns", args[0], len(row), len(table.Columns))
				}
			}
		}
	}
	if err := run([]string{"nothing"}, new(bytes.Buffer)); err == nil {
		t.Error("a table that there is not was made")
	}
}

// TestWinsAndNothing checks that a way with half of the work counts as faster, and that an equal
// way does not.
func TestWinsAndNothing(t *testing.T) {
	o := &options{turns: 15, slice: 1}
	spin := func(rounds int) func(int) {
		return func(n int) {
			for range n * rounds {
				processor()
			}
		}
	}
	all := o.times(way{name: "twice", run: spin(20)}, way{name: "once", run: spin(10)})
	if r := ratioOf(all[0], all[1]); r.Low < 1.3 || r.High > 3 {
		t.Errorf("half the work is %.2f [%.2f to %.2f] times as fast", r.Median, r.Low, r.High)
	}
	if r := ratioOf(all[0], all[2]); r.Median < 0.7 || r.Median > 1.4 {
		t.Errorf("the same work is %.2f times as fast", r.Median)
	}
}

func TestIntervals(t *testing.T) {
	if got := interval([]float64{2, 2, 2, 2}); got != (ratio{2, 2, 2}) {
		t.Errorf("got %+v", got)
	}
	got := interval([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	if got.Median != 5 || got.Low >= 5 || got.High <= 5 || got.Low < 1 || got.High > 9 {
		t.Errorf("got %+v", got)
	}
}

// TestTheAgentsWay compares the Agent's set with the definition, for all numbers of tags that it
// treats differently, with duplicates and a full set.
func TestTheAgentsWay(t *testing.T) {
	rng, g := rand.New(rand.NewPCG(1, 2)), new(agentKeys)
	for _, n := range []int{0, 1, few, few + 1, 100, 255, 256, 257, agentSlots - 1, agentSlots, agentSlots + 1, 2000} {
		var tags []string
		for i := range n {
			tags = append(tags, fmt.Sprint("tag:", i))
		}
		for _, list := range [][]string{tags, append(slices.Clone(tags[:n/2]), tags[:n/2]...)} {
			var sum uint64
			for _, t := range slices.Compact(slices.Sorted(slices.Values(list))) {
				sum ^= murmur3.Sum64(t, 0)
			}
			list = slices.Clone(list)
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if got := g.key("m", "h", list); got != murmur3.Sum64("h", murmur3.Sum64("m", sum)) {
				t.Errorf("%d tags, %d handed over: the key is not the exclusive or of those that differ", n, len(list))
			}
		}
	}
}

// TestQuality checks that the test of quality tells good functions from bad ones.
func TestQuality(t *testing.T) {
	for _, row := range hashQuality(300_000).Rows {
		name, verdict := row[0].(string), row[len(row)-1]
		bad := strings.Contains(name, "fnv") || strings.Contains(name, "CRC")
		if want := map[bool]string{false: "passes", true: "fails"}[bad]; verdict != want {
			t.Errorf("%s %s, want %s", name, verdict, want)
		}
	}
}

func TestFlame(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "profile"), filepath.Join(t.TempDir(), "flame.svg")
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Skip(err) // the test itself is profiled
	}
	for start := processor(); processor()-start < 300*time.Millisecond; {
	}
	pprof.StopCPUProfile()
	f.Close()
	if err := flame(from, to, "a <title>"); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(to)
	if err != nil || !bytes.Contains(drawn, []byte("TestFlame")) || !bytes.Contains(drawn, []byte("a &lt;title")) {
		t.Errorf("%v\n%s", err, drawn)
	}
}
