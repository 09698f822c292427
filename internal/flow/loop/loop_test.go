package loop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/store"
)

// A fake is an engine without a search: the number of the rules' candidates and the times of
// replies and evaluations are fixed. Its clock moves when the loop waits.
type fake struct {
	now      time.Time
	rules    int           // candidates that the rules still have ideas for
	call     time.Duration // of a call
	judging  time.Duration // of an evaluation
	calls    int           // that may still be asked for
	reserved int           // candidates that the rules may not have
	budget   int

	next    int // proposal
	due     map[int]time.Time
	done    time.Time // of the evaluation; zero while nothing is evaluated
	draft   int
	replies int // in the draft
	round   int
	begun   *GenerationParts
	told    int
	lent    int
	trims   int

	again  []Action // taken before
	noted  []Action
	events []string
	fails  string // the method that fails
	warns  []string
}

func newFake() *fake {
	return &fake{now: time.Unix(0, 0), due: map[int]time.Time{}, call: 10 * time.Second,
		judging: time.Second, budget: 40}
}

func (f *fake) note(format string, args ...any) {
	f.events = append(f.events, fmt.Sprintf("%v ", f.now.Sub(time.Unix(0, 0)))+fmt.Sprintf(format, args...))
}

func (f *fake) fail(method string) error {
	if f.fails == method {
		return errors.New(method + " failed")
	}
	return nil
}

func (f *fake) Now() time.Time { return f.now }
func (f *fake) Enough() bool   { return false }
func (f *fake) Pause() bool    { return false }
func (f *fake) End(calls int)  { f.note("end with %d calls", calls) }
func (f *fake) Behind() bool   { return len(f.again) > 0 }
func (f *fake) NextAction() (Action, error) {
	x := f.again[0]
	f.again = f.again[1:]
	return x, f.fail("Again")
}
func (f *fake) Note(x Action) error {
	f.noted = append(f.noted, x)
	return f.fail("Note")
}
func (f *fake) Keep(bool) error            { return f.fail("Keep") }
func (f *fake) Relaunch() (int, error)     { return 0, f.fail("Relaunch") }
func (f *fake) Visited() bool              { return false }
func (f *fake) Guests() []store.Submission { return nil }
func (f *fake) Show(int)                   {}
func (f *fake) Warn(text string)           { f.warns = append(f.warns, text) }
func (f *fake) Say(text string)            { f.warns = append(f.warns, text) }

func (f *fake) Standing() Standing {
	open := f.calls > 0 || len(f.due) > 0
	room := min(f.rules, f.budget-f.reserved*min(1, f.calls+len(f.due)))
	return Standing{
		Done: f.budget <= 0 || !open && f.rules == 0, Open: open, Asks: f.calls > 0 && f.budget > 0,
		Room: max(0, room), Told: f.told, Members: f.told,
	}
}

func (f *fake) Take(x Action) (int, error) {
	n := min(x.Ask, f.calls)
	for range n {
		f.next++
		f.calls--
		f.due[f.next] = f.now.Add(f.call)
		f.note("ask %d", f.next)
	}
	if x.Closed != "" {
		f.calls = 0
	}
	f.lent += x.Lend
	return n, f.fail("Take")
}

// Await moves the clock to what comes first.
func (f *fake) Await(most time.Duration, _ bool) (Wakeup, error) {
	if err := f.fail("Await"); err != nil {
		return Wakeup{}, err
	}
	first, at := 0, time.Time{}
	for id, due := range f.due {
		if first == 0 || due.Before(at) || due.Equal(at) && id < first {
			first, at = id, due
		}
	}
	end := f.now.Add(most)
	if !f.done.IsZero() && (first == 0 || !at.Before(f.done)) && (most < 0 || !f.done.After(end)) {
		f.now, f.done = f.done, time.Time{}
		return Wakeup{Evaluated: true}, nil
	}
	if first > 0 && (most < 0 || !at.After(end)) {
		if at.After(f.now) {
			f.now = at
		}
		delete(f.due, first)
		f.note("reply %d", first)
		return Wakeup{Reply: &Reply{Proposal: first, Model: "m"}}, nil
	}
	if most < 0 {
		return Wakeup{}, errors.New("the loop waits for ever")
	}
	f.now = end
	return Wakeup{}, nil
}

func (f *fake) Draw(b *GenerationParts, replies []Reply) (DraftProgress, error) {
	f.begun, f.round, f.draft, f.replies = b, 0, len(replies), len(replies)
	return f.Redraw()
}
func (f *fake) Make() error { return f.fail("Make") }
func (f *fake) Redraw() (DraftProgress, error) {
	f.round++
	if f.begun.Trim && f.round == 1 && f.trims > 0 {
		f.trims--
		f.draft = 1
		return DraftProgress{More: true, Made: 1}, nil
	}
	more := !f.begun.Trim && f.round == 1 && f.begun.Rules > 0 && f.rules > 0
	if more {
		n := min(f.begun.Rules, f.rules)
		f.rules -= n
		f.draft += n
	}
	return DraftProgress{More: more, Outside: f.replies, Made: f.draft}, f.fail("Redraw")
}

func (f *fake) Evaluate() error {
	f.done = f.now.Add(f.judging)
	f.note("evaluate %d, %d of them replies", f.draft, f.replies)
	return f.fail("Evaluate")
}

func (f *fake) Tell(Telling, bool) error {
	f.told++
	f.budget -= f.draft
	f.note("told %d", f.told)
	return f.fail("Tell")
}

// at returns the place of the first event that holds a text, or -1.
func (f *fake) at(text string) int {
	return slices.IndexFunc(f.events, func(e string) bool { return strings.Contains(e, text) })
}

func (f *fake) log() string { return strings.Join(f.events, "\n") }

func run(t *testing.T, f *fake, terms Terms) {
	t.Helper()
	if ended, err := Run(f, terms); err != nil || !ended {
		t.Fatalf("ended %v, %v\n%s", ended, err, f.log())
	}
}

// TestRulesAlone checks that a search without models evaluates what the rules have, and then
// trims until nothing is left to trim.
func TestRulesAlone(t *testing.T) {
	f := newFake()
	f.rules, f.trims = 20, 2
	run(t, f, Terms{Batch: 8})
	if want := 3 + 2; f.told != want || f.budget > 20 {
		t.Errorf("%d generations, want %d; budget left %d\n%s", f.told, want, f.budget, f.log())
	}
}

// TestAskedAfterTheRules checks that models are first asked when the first generation of the
// rules is judged, and at once when there are no rules.
func TestAskedAfterTheRules(t *testing.T) {
	f := newFake()
	f.rules, f.calls = 16, 2
	run(t, f, Terms{Batch: 8, InFlight: 2})
	if f.at("ask 1") < f.at("told 1") || f.at("ask 1") < 0 {
		t.Errorf("the first call was made before the first verdicts\n%s", f.log())
	}
	f = newFake()
	f.calls = 2
	run(t, f, Terms{Batch: 8, InFlight: 2, NoRules: true})
	if f.at("0s ask 1") != 0 {
		t.Errorf("models alone were not asked at once\n%s", f.log())
	}
}

// TestPromptsKnowTheLastVerdict checks that no call begins while a reply waits for its
// verdict.
func TestPromptsKnowTheLastVerdict(t *testing.T) {
	f := newFake()
	f.rules, f.calls, f.reserved = 200, 6, 30
	run(t, f, Terms{Batch: 8, InFlight: 2})
	waiting, asked := 0, 0
	for _, e := range f.events {
		switch {
		case strings.Contains(e, "reply"):
			waiting++
		case strings.Contains(e, "told"):
			waiting = 0
		case strings.Contains(e, "ask"):
			if asked++; waiting > 0 {
				t.Errorf("%s: a reply waits for its verdict\n%s", e, f.log())
			}
		}
	}
	if asked != 6 {
		t.Errorf("%d of 6 calls were made\n%s", asked, f.log())
	}
}

// TestLongEvaluationsHoldNoCalls checks that calls go on where an evaluation takes longer
// than a call.
func TestLongEvaluationsHoldNoCalls(t *testing.T) {
	f := newFake()
	f.rules, f.calls, f.judging, f.call = 200, 6, time.Minute, 10*time.Second
	run(t, f, Terms{Batch: 8, InFlight: 1})
	if first, last := f.at("ask 1"), f.at("ask 6"); first < 0 || last < 0 || f.at("told 4") < last {
		t.Errorf("calls waited for long evaluations\n%s", f.log())
	}
}

// TestNothingIsLentThatIsReserved checks that a search whose rules have had their part waits
// for a slow model, and makes all its calls.
func TestNothingIsLentThatIsReserved(t *testing.T) {
	f := newFake()
	f.rules, f.calls, f.reserved, f.call = 200, 5, 20, 3*time.Minute
	run(t, f, Terms{Batch: 8, InFlight: 1})
	if f.lent > 0 || f.at("reply 5") < 0 {
		t.Errorf("lent %d\n%s", f.lent, f.log())
	}
}

// TestFailures checks that whatever fails ends the loop with its error, and that what is
// under way is ended.
func TestFailures(t *testing.T) {
	for _, method := range []string{"Note", "Take", "Await", "Make", "Redraw", "Evaluate", "Tell", "Keep", "Relaunch"} {
		f := newFake()
		f.rules, f.calls, f.fails = 20, 3, method
		if _, err := Run(f, Terms{Batch: 8, InFlight: 2}); err == nil || err.Error() != method+" failed" {
			t.Errorf("%s failed, and the loop says %v", method, err)
		}
		if f.at("end with") < 0 {
			t.Errorf("%s failed, and nothing was ended", method)
		}
	}
}

// TestActionsAreTakenAgain checks that a search that is taken up repeats its actions, ends in
// the state where it was, and goes on.
func TestActionsAreTakenAgain(t *testing.T) {
	f := newFake()
	f.rules, f.calls = 24, 3
	run(t, f, Terms{Batch: 8, InFlight: 1})
	cut := slices.IndexFunc(f.noted, func(x Action) bool { return x.Ask > 0 }) + 1
	again := newFake()
	again.rules, again.calls = 24, 3
	for i, x := range f.noted[:cut] {
		if again.again = append(again.again, x); x.Begin != nil && i+1 < cut {
			again.again = append(again.again, Action{Telling: &Telling{Took: time.Second}})
		}
	}
	run(t, again, Terms{Batch: 8, InFlight: 1})
	if again.told != f.told || again.budget != f.budget {
		t.Errorf("told %d and %d times, budget left %d and %d", f.told, again.told, f.budget, again.budget)
	}
}

// TestTimeIsUp checks that a search ends when its time is over, with a call under way.
func TestTimeIsUp(t *testing.T) {
	f := newFake()
	f.rules, f.calls, f.call = 8, 1, time.Hour
	run(t, f, Terms{Batch: 8, InFlight: 1, Time: 30 * time.Second})
	if f.at("end with 1 calls") < 0 {
		t.Errorf("the call under way was not ended\n%s", f.log())
	}
	if left := f.now.Sub(time.Unix(0, 0)); left > 2*time.Minute {
		t.Errorf("it went on for %v", left)
	}
}
