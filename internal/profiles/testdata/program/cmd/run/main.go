// Run works for a while and writes its profiles.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"example.com/program/generated"
	"example.com/program/work"
)

//go:noinline
func ranged(n int) (s int) {
	for x := range work.Each(n) {
		for k := range 50 {
			s += x * k
		}
	}
	return s
}

//go:noinline
func spawned(n int) int {
	done := make(chan int)
	go func() {
		s := 0
		for i := range n {
			s = s*5 + i
		}
		done <- s
	}()
	return <-done
}

//go:noinline
func call(f func(int) int, n int) int { return f(n) }

func main() {
	runtime.MemProfileRate = 4096
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	point, ptr, set := work.Point{X: 3}, &work.Ptr{X: 4}, work.NewSet[string]()
	var turner work.Turner = &point
	total := 0
	const n = 60_000
	for range 2500 {
		total += work.Sum([]int{1, 2, 3, 4}, n/4) + int(work.Sum([]float64{1, 2, 3, 4}, n/8))
		set.Add("a", n/8)
		total += work.Mixed(n)
		total += call(point.Turn, n) + turner.Turn(n/8) + call(ptr.Move, n)
		total += work.Inlines(n)
		total += ranged(n/50) + spawned(n) + generated.Spin(n)
		total += len(work.Alloc(400))
	}
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil {
		panic(err)
	}
	if f, err = os.Create(os.Args[2]); err != nil {
		panic(err)
	}
	if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
		panic(err)
	}
	fmt.Println(total)
}
