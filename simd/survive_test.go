package simd

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"
)

// grow calls kernels on a stack-allocated buffer at every depth, so that the
// stack is copied between and around the calls.
func grow(depth int) int {
	var buf [200]byte
	for i := range buf {
		buf[i] = 'a' + byte(depth+i)%26
	}
	buf[depth%200] = 0x80
	n := IndexNonASCII(buf[:]) - depth%200
	n += IndexNonTag(buf[:]) - depth%200
	LowerASCIIInPlace(buf[:])
	if depth > 0 {
		n += grow(depth - 1)
	}
	if IndexNonASCII(buf[:]) != depth%200 {
		return 1 << 20
	}
	return n
}

// TestGoroutinesGrowing: two thousand goroutines grow their stacks under preemption signals and a
// collector that never rests.
func TestGoroutinesGrowing(t *testing.T) {
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(stop)
	var wg sync.WaitGroup
	var mu sync.Mutex
	bad, goroutines := 0, 2000
	if raceEnabled {
		goroutines = 100 // the race detector makes the collector crawl
	}
	for range goroutines {
		wg.Go(func() {
			if n := grow(60); n != 0 {
				mu.Lock()
				bad++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if bad != 0 {
		t.Errorf("%d of %d goroutines read something else than they wrote", bad, goroutines)
	}
}

//go:noinline
func profiledCaller(b []byte, tags []string, d time.Duration) (n int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		n += IndexNonASCII(b) + IndexInvalidTag(tags)
	}
	return n
}

// TestProfileShowsCallers checks that a profile shows the Go caller of a kernel; the batch kernel
// has a frame of its own to unwind. On a loaded machine a short profile has too few samples to show
// anything.
func TestProfileShowsCallers(t *testing.T) {
	if testing.Short() || Tier() == PureGo {
		t.Skip("needs a kernel and 300 ms")
	}
	tags := make([]string, 5000)
	for i := range tags {
		tags[i] = "service:web-frontend.prod"
	}
	var missing []string
	for d := 300 * time.Millisecond; d < time.Minute; d *= 3 {
		text := profiled(t, func() { profiledCaller(make([]byte, 256<<10), tags, d) })
		missing = nil
		for _, name := range []string{"simd.profiledCaller", "simd.TestProfileShowsCallers", "simd.tagsIndex"} {
			if !bytes.Contains(text, []byte(name)) {
				missing = append(missing, name)
			}
		}
		if missing == nil {
			return
		}
	}
	t.Errorf("the profile does not mention %q", missing)
}

// profiled is the CPU profile of a function, unpacked.
func profiled(t *testing.T, f func()) []byte {
	t.Helper()
	var prof bytes.Buffer
	if err := pprof.StartCPUProfile(&prof); err != nil {
		t.Skip("a profile is running: ", err)
	}
	f()
	pprof.StopCPUProfile()
	z, err := gzip.NewReader(&prof)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestNilAndEmpty(t *testing.T) {
	if !ASCII(nil) || !TagValid(nil) || !ASCIIString("") || IndexNonASCII(nil) != -1 || IndexNonTagString("") != -1 {
		t.Error("an empty input has a bad byte")
	}
	if IndexInvalidTag(nil) != -1 || IndexInvalidTag([]string{"", "a", ""}) != -1 {
		t.Error("an empty tag is bad")
	}
	if Count(nil, 0) != 0 || SumInt64(nil) != 0 || SumFloat64(nil) != 0 || !new(Class).All(nil) {
		t.Error("nothing is not nothing")
	}
	LowerASCIIInPlace(nil)
	EqualMask(nil, nil, 0)
}

// TestMisusePanics checks that misuse panics before anything is written.
func TestMisusePanics(t *testing.T) {
	b := []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ")
	before := string(b)
	for name, f := range map[string]func(){
		"short destination":    func() { LowerASCII(b[:3], b) },
		"overlap":              func() { LowerASCII(b[1:], b[:50]) },
		"overlap behind":       func() { LowerASCII(b[:50], b[1:51]) },
		"short overlap":        func() { LowerASCII(b[1:], b[:2]) },
		"short overlap behind": func() { LowerASCII(b, b[6:13]) },
		"short mask":           func() { EqualMask(make([]uint64, 1), make([]byte, 65), 0) },
		"no numbers":           func() { MinMaxInt64(nil) },
		"no floats":            func() { MinMaxFloat64(nil) },
		"different lengths":    func() { lower(b[:3], b[:4]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	if string(b) != before {
		t.Error("a refused call wrote")
	}
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race hooks make buffers escape")
	}
	if n := testing.AllocsPerRun(100, func() {
		var buf [100]byte
		if !ASCII(buf[:]) || TagValid(buf[:]) || Count(buf[:], 1) != 0 {
			t.Error("wrong")
		}
	}); n != 0 && Tier() != PureGo {
		t.Errorf("%v allocations for a buffer on the stack", n)
	}
}
