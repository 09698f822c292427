package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/profiles"
)

// showProfiling returns what shows how far live profiles are. A user waits minutes for one in
// slices, so it says first for how long, and what else he can do.
func showProfiling(watch *progress, remedy string) func(profiles.Progress) {
	var mu sync.Mutex
	sources := map[string]profiles.Progress{}
	chosen := false
	return func(now profiles.Progress) {
		if now.Plan.Slices < 2 {
			if now.Taken > 0 {
				watch.pause()
			} else {
				watch.waits("profile", fmt.Sprintf("%d s of %s", now.Plan.Seconds, now.Source))
			}
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if len(sources) == 0 {
			text := fmt.Sprintf("Profiling for %v, in %d short slices at random moments: the load of a service "+
				"drifts.\n%s", now.Plan.Over, now.Plan.Slices, remedy)
			watch.note(strings.TrimSpace(text)) // there may be no remedy
		}
		if now.Taken == 1 && !chosen {
			chosen = true
			watch.note(fmt.Sprintf("Slices of %d s: %d s of profile in all.", now.Plan.Seconds,
				now.Plan.Seconds*now.Plan.Slices))
		}
		// Sum up the services, and wait for the last.
		sources[now.Source] = now
		var taken, all int
		var until time.Time
		for _, p := range sources {
			taken, all = taken+p.Taken, all+p.Plan.Slices
			if p.Until.After(until) {
				until = p.Until
			}
		}
		watch.passing(fmt.Sprintf("%s profile  %s %d of %d slices, %v left", watch.clock(), bar(taken, all), taken, all,
			max(0, time.Until(until)).Round(time.Second)))
	}
}
