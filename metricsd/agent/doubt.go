package agent

// doubt decides when looking lines up is not worth it. Where hardly any line is found, as with a
// client that sends random tags, only a few lines are looked up. doubt counts the lines of a
// stretch. If less than an eighth of them was found, it skips some stretches, and twice as many
// each time that this happens in a row.
type doubt struct {
	looked, found int
	passed        int // lines that are still to be skipped
	stretches     int // lines that were skipped the last time
}

// A stretch costs as much as a few packets. At most longestPass stretches are skipped, so that the
// cache soon helps again where it can.
const (
	stretch     = 2048
	longestPass = 16
)

// note records the outcome of looking lines up.
func (d *doubt) note(looked, found int) {
	d.looked += looked
	d.found += found
	if d.looked < stretch {
		return
	}
	if d.found*8 >= d.looked {
		d.stretches = 0
	} else {
		d.stretches = min(max(1, 2*d.stretches), longestPass)
	}
	d.passed = d.stretches * stretch
	d.looked, d.found = 0, 0
}
