// Agree sends the same made-up datagrams through both shapes of the agent, the one that knows lines
// again by their bytes and the plain one, and compares all that comes out, in its order: points,
// what a scrape sees, counters, and lines that were refused. Meanwhile contexts expire, limits and
// tags of containers change, and senders take turns.
//
//	go run ./bench/agree -datagrams 10000000
package main

import (
	"flag"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
)

func main() {
	log.SetFlags(0)
	datagrams := flag.Int("datagrams", 100_000, "how many datagrams")
	seed := flag.Uint64("seed", 1, "of what is made up")
	at := flag.Int("at", 2, "how many streams of datagrams at a time, each with agents of its own")
	flag.Parse()
	const stretch = 100_000 // one stream
	var next atomic.Int64
	var streams sync.WaitGroup
	var known atomic.Uint64
	for range *at {
		streams.Go(func() {
			for i := next.Add(1) - 1; i*stretch < int64(*datagrams); i = next.Add(1) - 1 {
				p := newPair(*seed + uint64(i))
				if err := p.run(min(stretch, *datagrams-int(i)*stretch)); err != nil {
					log.Fatalf("agree: seed %d: %v", *seed+uint64(i), err)
				}
				known.Add(p.fast.Counters.Known.Load())
			}
		})
	}
	streams.Wait()
	fmt.Printf("%d datagrams: the shapes agree; %d lines were known by their bytes\n", *datagrams, known.Load())
}
