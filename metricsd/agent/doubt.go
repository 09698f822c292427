package agent

// doubt decides when looking lines up is not worth it: where hardly any is found, as of a client
// with random tags, all but a few are read without. It counts the lines of a stretch; after one in
// which less than an eighth was found it has some stretches passed, twice as many each time that
// this happens in a row.
type doubt struct {
	looked, found int
	passed        int // lines that are still to be passed
	stretches     int // that were passed the last time
}

// A stretch costs as much as a few packets, and not more than longestPass of them are passed, so
// that what is worth it soon is.
const (
	stretch     = 2048
	longestPass = 16
)

// note takes the outcome of looks.
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
