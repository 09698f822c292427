package pilot

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/store"
)

// A scripted engine does what a word says, and notes what it was asked for.
type scripted struct {
	words []string
	asked []string
	at    Leg
}

var errScript = errors.New("planted")

func (s *scripted) next(what string) (string, error) {
	s.asked = append(s.asked, what)
	word := s.words[0]
	s.words = s.words[1:]
	if word == "fails" {
		return "", errScript
	}
	return word, nil
}

func (s *scripted) Begin() (string, error)  { return s.next("begin") }
func (s *scripted) Listen() (string, error) { return s.next("listen") }
func (s *scripted) Rest() bool              { return len(s.words) > 0 && s.words[0] == "rests" }
func (s *scripted) Release()                { s.asked = append(s.asked, "release") }
func (s *scripted) Enter(word string) (Leg, error) {
	s.asked = append(s.asked, "enter")
	if word == "full" {
		return s.at, errScript
	}
	s.at = Leg{Round: s.at.Round + 1, Begun: true, Over: word == "ends"}
	return s.at, nil
}

// TestFly: whatever ends the loop but a rest, the processes are released, and once.
func TestFly(t *testing.T) {
	for script, want := range map[string]string{
		"goes goes ends": "begin enter listen enter listen enter release",
		"goes rests":     "begin enter",
		"fails":          "begin release",
		"goes fails":     "begin enter listen release",
		"goes full":      "begin enter listen enter release",
	} {
		s := &scripted{words: strings.Fields(script)}
		_, err := Fly(s, Leg{})
		if got := strings.Join(s.asked, " "); got != want || (err != nil) != (strings.Contains(script, "f")) {
			t.Errorf("%s: %s, %v; want %s", script, got, err, want)
		}
	}
	s := &scripted{words: []string{"ends"}}
	if at, err := Fly(s, Leg{Round: 7, Begun: true}); err != nil || !at.Over ||
		!slices.Equal(s.asked, []string{"listen", "enter", "release"}) {
		t.Errorf("taken up: %v, %+v, %v", s.asked, at, err)
	}
	if _, err := Fly(&scripted{}, Leg{Over: true}); err != nil {
		t.Error(err)
	}
}

// TestFlight: a flight goes through its file unchanged, keeps the last warnings, and the ledger has
// one change although a decision was entered twice.
func TestFlight(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, f := Base{Store: s, ID: "x"}, &Flight{Experiment: *experiment(t, rollout.Ramping, 0)}
	var many []string
	for range maxWarnings + 3 {
		many = append(many, "w")
	}
	f.Enter(&News{Seats: []Seat{{Lease: "l"}}, Warnings: many}, time.Now())
	if err := b.Save(f); err != nil {
		t.Fatal(err)
	}
	got, err := b.Load()
	if err != nil || got.Leg() != f.Leg() || !got.Leg().Begun || got.Log.Warned != maxWarnings+3 ||
		len(got.Log.Warnings) != maxWarnings || len(got.Log.NewWarnings(maxWarnings+1)) != 2 ||
		len(got.Log.NewWarnings(0)) != maxWarnings {
		t.Errorf("%+v, %v", got, err)
	}
	o := Order{Service: "web", Predicted: ledger.Saving{Estimate: 0.1, Low: 0.1, High: 0.1}}
	for _, d := range []rollout.Decision{{Action: rollout.Hold}, {Action: rollout.Ship}, {Action: rollout.Ship}} {
		if err := b.Enter(&o, f, d, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if lines, err := store.ReadLines[ledger.Change](s.Dir() + "/ledger.jsonl"); err != nil || len(lines) != 2 ||
		lines[0].ID != "x" || lines[0].Service != "web" {
		t.Errorf("%+v, %v", lines, err)
	}
	// The state never had the ship: a roll-back takes it back, once.
	for range 2 {
		if err := b.Enter(&o, f, rollout.Decision{Action: rollout.RollBack, Cause: "why"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if lines, err := store.ReadLines[ledger.Change](s.Dir() + "/ledger.jsonl"); err != nil || len(lines) != 3 ||
		lines[2].Reverted == "" || lines[2].Why != "why" {
		t.Errorf("%+v, %v", lines, err)
	}
	told := f.Enter(StopNews(), time.Now())
	if len(told) != 1 || told[0].Action != rollout.RollBack || !f.Over() || len(f.Log.Told) != 1 {
		t.Errorf("%+v, %+v", told, f.Log)
	}
}

// TestBegin: a rollout that begins anew is not stopped, ordered or driven by what an earlier one
// left.
func TestBegin(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	b, f := Base{Store: st, ID: "x"}, &Flight{Experiment: *e}
	if err := errors.Join(b.Begin(f), b.Keep(Order{Service: "web"}), b.Write("stop", nil),
		b.Write(Placed, []byte("{}")),
		os.Remove(b.Path("state.json"))); err != nil || !b.Stopped() {
		t.Fatal(err)
	}
	if err := b.Begin(f); err != nil || b.Stopped() {
		t.Errorf("stopped: %v; %v", b.Stopped(), err)
	}
	if _, err := b.Order(); err == nil {
		t.Error("the orders are left")
	}
	if _, err := os.Stat(b.Path(Placed)); err == nil {
		t.Error("the server is left")
	}
	if err := b.Write("state.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Load(); err == nil || strings.Contains(err.Error(), "--state") {
		t.Errorf("a broken state: %v", err)
	}
}
