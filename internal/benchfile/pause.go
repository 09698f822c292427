package benchfile

import (
	"fmt"
	"strings"
)

// A service takes a few calls, waits, and takes the next ones. Meanwhile others have the processor,
// and its caches: the next call finds neither its code there nor what it keeps from call to call. A
// benchmark is never interrupted for long. So it pauses itself, and takes its own caches away.

// pauses are tried as calls between two pauses.
var pauses = []int{256, 64, 16, 4, 1}

// pauseBytes are touched in a pause: more than the caches hold that a core has alone.
const pauseBytes = 4 << 20

// pause returns the most alike form with pauses. It makes them more frequent as long as that gains,
// and then tries half a step to each side. Rare pauses may not be seen.
func (f *Fitter) pause(from *try, attempt func(Plan, string) (*try, error)) (best *try, err error) {
	best = from
	gains := func(every int) (bool, error) {
		p := from.plan
		p.Pause = every
		t, err := attempt(p, "the recorded shares")
		if err != nil || !better(t, best) {
			return false, err
		}
		best = t
		return true, nil
	}
	for _, every := range pauses {
		more, err := gains(every)
		if err != nil {
			return nil, err
		}
		if !more && best != from {
			break
		}
	}
	if best == from {
		return from, nil
	}
	for _, every := range []int{best.plan.Pause * 2, best.plan.Pause / 2} {
		if every == 0 || !unlike(best) {
			continue
		}
		if _, err := gains(every); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// writePause declares the function that takes the caches away.
func (p *Plan) writePause(b *strings.Builder) {
	comment(b, fmt.Sprintf("%[1]sPause touches %[2]d MB after each %[3]d calls, as others do while a service waits. "+
		"It counts in ns/op.", p.lower(), pauseBytes>>20, p.Pause))
	fmt.Fprintf(b, `func %[1]sPause() {
	if %[1]sSince++; %[1]sSince < %[2]d {
		return
	}
	%[1]sSince = 0
	for k := 0; k < len(%[1]sTaken); k += 64 {
		%[1]sTaken[k]++
	}
}

var (
	%[1]sSince int
	%[1]sTaken [%[3]d]byte
)

`, p.lower(), p.Pause, pauseBytes)
}
