package rt

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Progress tells the parent process which input a harness was at when it
// died: a crash, an exit or a limit leaves no time for a reply. The place is a
// word of shared memory, so that telling costs a store for each input.
//
// Modes call Begin before an input and Idle when they turn to work of their own.

// idle is the place between inputs.
const idle = -1

// progress is the word: bits 0 to 31 the input's index, bits 32 to 63 the variant's. Without a
// file it is a variable that no process reads.
var progress = new(atomic.Int64)

// Begin says that a variant is about to get an input.
func Begin(variant, record int) {
	progress.Store(int64(variant)<<32 | int64(uint32(record)))
}

// Idle says that no variant runs.
func Idle() { progress.Store(idle) }

// Place splits what a progress file holds. Both are -1 between inputs.
func Place(word int64) (variant, record int) {
	if word < 0 {
		return -1, -1
	}
	return int(word >> 32), int(uint32(word))
}

// openProgress puts the word into a file, which must exist.
func openProgress(path string) error {
	word, err := mapWord(path)
	if err != nil {
		return fmt.Errorf("progress file: %w", err)
	}
	word.Store(progress.Load())
	progress = word
	return nil
}

// StallStatus is the exit status of a harness that its watchdog ended.
const StallStatus = 97

// watch ends the process when one input takes longer than the limit, in processor time: a loaded
// machine does not turn a short call into a stall. Wall time counts for a call that sleeps. The
// scheduler preempts loops, so that this goroutine gets its turn even on one processor.
func watch(limit time.Duration) {
	var last int64 = idle
	var watched time.Duration
	spent, tick := ProcessCPU(), limit/4
	for range time.Tick(tick) {
		now := progress.Load()
		// Another place, or none: the clock begins anew.
		if now != last || now == idle {
			last, watched, spent = now, 0, ProcessCPU()
			continue
		}
		if watched += tick; watched > limit && overdue(ProcessCPU()-spent, watched, limit) {
			fmt.Fprintf(os.Stderr, "harness: one input took more than %v\n", limit)
			os.Exit(StallStatus)
		}
	}
}
