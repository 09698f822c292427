package rt

import "time"

// Turns have two processes time in alternation, so that both see the same
// moods of the machine although they share nothing: each waits for turns of
// its own by the clock, which is common to both. A round that begins in a turn
// may end in the next one.
type Turns struct {
	Length int64  `json:"length_ns"`
	Second bool   `json:"second"` // its own are the odd turns, the even ones otherwise
	Meet   string `json:"meet"`   // file of eight zero bytes in which the processes count those that are ready
}

// longestWait bounds a process's wait for the other one. Then it goes on alone, as when the other
// died.
const longestWait = 5 * time.Second

// meet waits for the other process. Where memory cannot be shared, each begins
// when it can.
func (t *Turns) meet() {
	ready, err := mapWord(t.Meet)
	if err != nil {
		return
	}
	ready.Add(1)
	for end := time.Now().Add(longestWait); ready.Load() < 2 && time.Now().Before(end); {
		time.Sleep(200 * time.Microsecond)
	}
}

// wait waits for a turn of its own and returns its number.
func (t *Turns) wait() int64 {
	for {
		now := time.Now().UnixNano()
		n := now / t.Length
		if n%2 == 1 == t.Second {
			return n
		}
		time.Sleep(time.Duration((n+1)*t.Length - now))
	}
}
