package rollout

import (
	"fmt"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// Fix has the whole process run one version of a function until stop is called. It is for a flag
// that assigns processes, which are then the unit of randomisation. The process guards against bad
// candidates as in turns: a panic, another result, failed calls, calls that hang and a growing heap
// bring the original back for good, and over then gets the reason, once.
//
// No controller can start a rollout meanwhile.
func Fix(function string, arm Arm, over func(why string)) (stop func(), err error) {
	return thisProcess.fix(function, arm, over)
}

// fix runs an arm in the whole process until stop, without a controller. A guard that trips calls
// over.
func (p *process) fix(function string, arm Arm, over func(string)) (stop func(), err error) {
	if arm >= arms {
		return nil, fmt.Errorf("there is no arm %d", uint8(arm))
	}
	// Find the function, and begin a run that no controller ends.
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(function)
	if s == nil {
		return nil, fmt.Errorf("this program has no versions of %q: build it with beagle build --rollout", function)
	}
	o := wire.RolloutOrders{Function: function, Build: s.build, Share: 0.5,
		Arms: [][]string{{wire.Candidate, wire.Original}}}
	o, err = complete(o)
	if err != nil {
		return nil, err
	}
	r, err := p.begin(s, o)
	if err != nil {
		return nil, err
	}
	r.fixed, r.ends = true, time.Now().Add(100*365*24*time.Hour)
	// Let the whole process run the arm.
	requests.arm.Store(uint32(arm))
	r.open(uint32(arm) + 1)
	go r.watch()
	// Report why the arm was taken out, if it is.
	go func() {
		<-r.over
		p.mu.Lock()
		why := p.tripped[s]
		p.mu.Unlock()
		if why != "" && over != nil {
			over(why)
		}
	}()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.finish(r, "the flag does not assign a version any more", false)
	}, nil
}

// find returns the switch of a function, or nil. The caller holds the mutex.
func (p *process) find(function string) (found *Switch) {
	for _, s := range p.switches {
		if wire.Matches(function, s.name) {
			found = s
		}
	}
	return found
}
