package beagle

// A UsageError is bad input from the user: it names the input, the place and
// the remedy. Commands exit with status 2 and write nothing.
type UsageError struct {
	What   string // the mistake, with the input and the place: `corpus.jsonl:3: field "args": ...`
	Remedy string // a way to make it work
}

func (e *UsageError) Error() string {
	if e.Remedy == "" {
		return e.What
	}
	return e.What + "\n" + e.Remedy
}
