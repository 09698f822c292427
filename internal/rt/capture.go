package rt

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Recording calls. An instrumented test calls Record at the entry of the
// target. A call that was not seen before is appended to a file at once; how
// often it was seen is a counter in memory that belongs to a second file: so
// nothing is lost when the process ends without notice, as tests do.
//
// A fixed number of many distinct calls is kept: those with the smallest hashes. That is a fair
// sample of the distinct ones, it does not depend on their order, and two samples merge into one.
// Counters of what is kept are exact, since a call is either kept from its first time on or never
// was.
//
// A limit: arguments are read at the entry, before the target takes a lock. A
// map that another goroutine writes at that moment ends the process, as the Go
// runtime wants it; what was recorded until then is kept.

// CaptureDir is the variable that names the directory to record to.
const CaptureDir = "BEAGLE_CAPTURE"

const (
	maxCalls   = 1 << 14  // distinct calls that are kept
	maxAppends = 1 << 17  // distinct calls that are written, kept or not
	maxWritten = 64 << 20 // bytes
	maxReasons = 16
)

// captureLimit bounds one recorded call.
var captureLimit = Limit{Bytes: 1 << 18, Depth: 1000}

// Words of the counter file, before one for each call in the order of the
// other file.
const (
	countCalls      = iota // all calls
	countDropped           // calls that could not be recorded
	countConcurrent        // more than zero when several goroutines called at once
	countMissed            // distinct calls that did not fit
	countHeader
)

// A Site records the calls of one function.
type Site[A any] struct {
	on bool
	c  *coder

	mu      sync.Mutex
	log     *os.File
	counts  []uint64 // shared memory
	index   map[uint64]int
	kept    hashHeap
	written int
	reasons map[string]bool
	why     *os.File

	gmu     sync.Mutex
	last    [2]uint64 // the latest two different goroutines
	changes int
}

// NewSite opens the files if the environment asks for it.
func NewSite[A any]() *Site[A] {
	s := &Site[A]{c: coderFor[A](), index: map[uint64]int{}, reasons: map[string]bool{}}
	// Without the variable, the program is run as always, and the site counts nothing.
	dir := os.Getenv(CaptureDir)
	if dir == "" {
		return s
	}
	base := filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err := s.open(base); err != nil {
		fmt.Fprintln(os.Stderr, "beagle: recording is off:", err)
		return s
	}
	s.on = true
	return s
}

func (s *Site[A]) open(base string) (err error) {
	if s.log, err = os.OpenFile(base+".calls", os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_EXCL, 0o644); err != nil {
		return err
	}
	if s.why, err = os.OpenFile(base+".why", os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_EXCL, 0o644); err != nil {
		return err
	}
	s.counts, err = mapCounts(base+".counts", countHeader+maxAppends)
	return err
}

// On reports whether calls are recorded.
func (s *Site[A]) On() bool { return s.on }

// Record notes a call with these arguments. It never panics and keeps nothing
// of a.
func (s *Site[A]) Record(a *A) {
	n := atomic.AddUint64(&s.counts[countCalls], 1)
	s.goroutines(n)
	// The caller's program must not fail because it is recorded.
	defer func() {
		if r := recover(); r != nil {
			s.drop(fmt.Sprint("recording panics: ", r))
		}
	}()
	bp := captureBuffers.Get().(*[]byte)
	defer captureBuffers.Put(bp)
	b, err := appendEncode((*bp)[:0], a, captureLimit)
	*bp = b
	if err != nil {
		s.drop(err.Error())
		return
	}
	s.note(b)
}

var captureBuffers = sync.Pool{New: func() any { return new([]byte) }}

// note counts a record that was seen before, and writes a new one to the log.
func (s *Site[A]) note(b []byte) {
	h := hashBytes(b)
	if !s.mu.TryLock() {
		atomic.AddUint64(&s.counts[countConcurrent], 1) // another goroutine is in here
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if i, ok := s.index[h]; ok {
		atomic.AddUint64(&s.counts[countHeader+i], 1)
		return
	}
	if !s.admit(h, len(b)) {
		return
	}
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	// A failed write ends the recording; the calls themselves go on.
	if _, err := s.log.Write(append(frame, b...)); err != nil {
		s.reason(err.Error())
		s.written = maxWritten
		return
	}
	s.written += len(b)
	s.index[h] = len(s.index)
	atomic.AddUint64(&s.counts[countHeader+s.index[h]], 1)
}

// admit decides whether a new distinct call is kept.
func (s *Site[A]) admit(h uint64, size int) bool {
	// All that was ever written counts, not only what is still kept: the file grows by both.
	if len(s.index) >= maxAppends || s.written+size > maxWritten {
		atomic.AddUint64(&s.counts[countMissed], 1)
		return false
	}
	if len(s.kept) < maxCalls {
		s.kept.push(h)
		return true
	}
	atomic.AddUint64(&s.counts[countMissed], 1)
	// The smallest hashes stay. As hashes are as good as random, so is this sample of the distinct
	// calls.
	if h >= s.kept[0] {
		return false
	}
	s.kept.replaceMax(h)
	return true
}

func (s *Site[A]) drop(why string) {
	atomic.AddUint64(&s.counts[countDropped], 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reason(why)
}

func (s *Site[A]) reason(why string) {
	if len(s.reasons) < maxReasons && !s.reasons[why] {
		s.reasons[why] = true
		fmt.Fprintf(s.why, "%.500s\n", why)
	}
}

// goroutines looks, now and then, whether two goroutines call in turns: that
// they are seen in the order A B A B means that both were alive.
func (s *Site[A]) goroutines(n uint64) {
	// Finding the goroutine's number is slow, so few calls look, and those in runs of four, which a
	// change of turns needs.
	if n > 512 && n%64 >= 4 {
		return
	}
	g := goroutineID()
	s.gmu.Lock()
	defer s.gmu.Unlock()
	switch g {
	case s.last[0]:
	case s.last[1]:
		s.last[0], s.last[1] = g, s.last[0]
		if s.changes++; s.changes >= 2 {
			atomic.AddUint64(&s.counts[countConcurrent], 1)
		}
	default:
		s.last[0], s.last[1], s.changes = g, s.last[0], 0
	}
}

// hashBytes returns the FNV-1a hash with a finish that spreads it, so that the smallest hashes are
// a fair sample.
func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// hashHeap holds hashes, the largest first.
type hashHeap []uint64

func (h *hashHeap) push(x uint64) {
	*h = append(*h, x)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if (*h)[up] >= (*h)[i] {
			return
		}
		(*h)[up], (*h)[i] = (*h)[i], (*h)[up]
		i = up
	}
}

// replaceMax puts x in the place of the largest hash, and restores the order of the heap.
func (h hashHeap) replaceMax(x uint64) {
	h[0] = x
	for i := 0; ; {
		// The larger of the two children goes up, as long as one is larger.
		big, l := i, 2*i+1
		for c := l; c < l+2 && c < len(h); c++ {
			if h[c] > h[big] {
				big = c
			}
		}
		if big == i {
			return
		}
		h[i], h[big] = h[big], h[i]
		i = big
	}
}
