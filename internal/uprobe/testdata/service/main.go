// Service calls functions with arguments that follow from a counter, until it is killed.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/service/calls"
	"github.com/beagle-go/beagle/probe"
)

func main() {
	workers := flag.Int("workers", 1, "goroutines that call")
	pause := flag.Duration("pause", time.Millisecond, "between rounds")
	fresh := flag.Bool("fresh", false, "make each round in a new goroutine, whose stack must grow")
	risky := flag.Bool("risky", false, "call a function of which every other call panics")
	hot := flag.Bool("hot", false, "call one function all the time")
	flag.Parse()
	probe.FromEnvironment()
	var all sync.WaitGroup
	for w := range *workers {
		all.Go(func() {
			for i := w; ; i += *workers {
				switch {
				case *hot:
					calls.Text(calls.Word(i))
				case *risky:
					for n := range 16 {
						calls.Attempt(16*i + n)
					}
				case *fresh:
					done := make(chan bool)
					go func() { round(i); close(done) }()
					<-done
				default:
					round(i)
				}
				if !*hot {
					time.Sleep(*pause)
				}
			}
		})
	}
	fmt.Println("ready")
	all.Wait()
}

func round(i int) {
	calls.Text(calls.Word(i))
	calls.Many(i, []string{calls.Word(i), "", "ü"}, i%2 == 0, []byte(calls.Word(i+1)), 'x', uint8(i), -int16(i%1000))
	s := &calls.Set{ID: i, Tags: []string{"a", calls.Word(i)}, Level: int8(-i % 100), Ratio: float64(i) / 3,
		Next: &calls.Set{ID: -i, Pairs: []calls.Pair{{Key: "k", N: uint32(i)}, {Key: calls.Word(i), N: 2}}}}
	s.Merge(i, strings.Repeat("z", i%400))
	calls.Stack(i, [3]int32{1, int32(i), 3}, calls.Big{A: i, B: "b", C: []int{i, 2}, D: "d", E: 5, F: 6}, "last")
	calls.Long(i, make([]string, 100+i%50), strings.Repeat("long", 200))
	calls.Sum(make([]byte, 8))
	calls.Mixed(i, float64(i)/2, "text")
	calls.Login(i, "alice", "hunter2hunter2", "Bearer abcdefghijklmnop")
	calls.Box(i, fmt.Errorf("failed"), nil, map[string]int{"a": 1, "b": 2}, func() {})
	if calls.First([]string{"a"}) != "a" || calls.Small(os.Args[0]) > 1000 {
		os.Exit(3)
	}
	if i%16 == 0 {
		calls.Deep(200, i)
	}
}
