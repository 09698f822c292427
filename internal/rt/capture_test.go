package rt

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type captureArgs struct {
	A0 string
	A1 any
}

// TestCaptureChild runs as the recorded program of the tests below: it ends by os.Exit, which runs
// no deferred function.
func TestCaptureChild(t *testing.T) {
	mode := os.Getenv("CAPTURE_MODE")
	if mode == "" {
		t.Skip("runs as a child of other tests")
	}
	s := NewSite[captureArgs]()
	switch mode {
	case "exit":
		for i := range 1000 {
			s.Record(&captureArgs{A0: fmt.Sprint(i % 10)})
		}
		s.Record(&captureArgs{A1: func() {}})
		s.Record(&captureArgs{A0: strings.Repeat("x", 1<<20)})
	case "many":
		for i := range 40000 {
			s.Record(&captureArgs{A0: fmt.Sprint(i)})
			s.Record(&captureArgs{A0: fmt.Sprint(i)})
		}
	case "parallel":
		var wg sync.WaitGroup
		began := time.Now()
		for g := range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				// On one processor they meet when one is preempted in here.
				for i := 0; atomic.LoadUint64(&s.counts[countConcurrent]) == 0 && time.Since(began) < time.Minute; i++ {
					s.Record(&captureArgs{A0: fmt.Sprint(g, i%7)})
				}
			}()
		}
		wg.Wait()
	case "in turn":
		for g := range 100 {
			done := make(chan bool)
			go func() { s.Record(&captureArgs{A0: fmt.Sprint(g)}); close(done) }()
			<-done
		}
	}
	os.Exit(0)
}

func capture(t *testing.T, mode string) *Captured {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCaptureChild$")
	cmd.Env = append(os.Environ(), CaptureDir+"="+dir, "CAPTURE_MODE="+mode)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, err := LoadCaptured(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCaptureSurvivesExit(t *testing.T) {
	c := capture(t, "exit")
	if len(c.Records) != 10 || c.Calls != 1002 || c.Dropped != 2 || c.Concurrent {
		t.Fatalf("got %d records of %v calls, %v dropped, concurrent %v", len(c.Records), c.Calls,
			c.Dropped, c.Concurrent)
	}
	for _, r := range c.Records {
		var a captureArgs
		if err := Decode(r.Args, &a, nil); err != nil || r.Weight != 100 {
			t.Errorf("%+v stands for %v calls (%v)", a, r.Weight, err)
		}
	}
	why := strings.Join(c.Reasons, "\n")
	if !strings.Contains(why, "A1 cannot be recorded: a func value") ||
		!strings.Contains(why, "A0 cannot be recorded: a string of 1048576 bytes") {
		t.Errorf("reasons: %s", why)
	}
}

func TestCaptureKeepsAFairSample(t *testing.T) {
	c := capture(t, "many")
	if len(c.Records) != maxCalls || c.Calls != 80000 {
		t.Fatalf("got %d records of %v calls", len(c.Records), c.Calls)
	}
	late := 0
	for _, r := range c.Records {
		var a captureArgs
		if err := Decode(r.Args, &a, nil); err != nil || r.Weight != 2 {
			t.Fatalf("%+v stands for %v calls (%v)", a, r.Weight, err)
		}
		if len(a.A0) == 5 && a.A0 >= "20000" {
			late++
		}
	}
	if share := float64(late) / maxCalls; share < 0.45 || share > 0.55 {
		t.Errorf("%.2f of the sample are from the second half", share)
	}
}

func TestCaptureSeesConcurrency(t *testing.T) {
	if !capture(t, "parallel").Concurrent {
		t.Error("two goroutines at once were not seen")
	}
	if capture(t, "in turn").Concurrent {
		t.Error("goroutines one after another were taken for concurrent ones")
	}
}

func TestCaptureTornFile(t *testing.T) {
	dir := t.TempDir()
	b, _ := Encode(&captureArgs{A0: "whole"})
	frame := append([]byte{byte(len(b)), 0, 0, 0}, b...)
	torn := append(frame, frame[:len(frame)-2]...)
	os.WriteFile(filepath.Join(dir, "1.calls"), torn, 0o644)
	os.WriteFile(filepath.Join(dir, "1.counts"), make([]byte, 64), 0o644)
	c, err := LoadCaptured(dir)
	if err != nil || len(c.Records) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.Setenv(CaptureDir, b.TempDir())
	s := NewSite[smallArgs]()
	a := &smallArgs{"some.tag:value", []string{"one", "two", "three"}, 42}
	for b.Loop() {
		s.Record(a)
	}
}

func FuzzCaptured(f *testing.F) {
	b, _ := Encode(&captureArgs{A0: "x"})
	f.Add(append([]byte{byte(len(b)), 0, 0, 0}, b...), make([]byte, 40), "why\n")
	f.Fuzz(func(t *testing.T, calls, counts []byte, why string) {
		c := &Captured{}
		c.merge(map[string]int{}, calls, counts, why)
		c.keep()
		for _, r := range c.Records {
			if !(r.Weight >= 1) {
				t.Fatalf("a record stands for %v calls", r.Weight)
			}
		}
	})
}
