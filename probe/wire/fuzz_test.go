package wire

import (
	"bytes"
	"testing"
)

func seeds() [][]byte {
	value := []byte{TagStruct, 2, 2, 'A', '0', 2, 'A', '1', TagString, 1, 'x', TagList, 1, 0, TagInt, 4}
	holed := []byte{TagStruct, 1, 2, 'A', '0', TagHole, Cut, TagString, Lower, 40, 0, 0, 1, TagString, 1, 'x'}
	a := Event{Seq: 1, Site: 2, Time: -3, Args: value}
	b := Event{Seq: 300, Time: 1 << 60, Flags: HasResults | HasHoles, Args: holed, Results: value}
	return [][]byte{nil, a.Append(nil), b.Append(a.Append(nil)), value, holed}
}

// FuzzReadEvents checks that any bytes are read without a panic, and that the events are written
// the same again.
func FuzzReadEvents(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		events, _ := ReadEvents(b)
		var again []byte
		for _, e := range events {
			again = e.Append(again)
		}
		twice, err := ReadEvents(again)
		if err != nil || len(twice) != len(events) {
			t.Fatalf("%d events became %d: %v", len(events), len(twice), err)
		}
		for i := range twice {
			if !bytes.Equal(twice[i].Args, events[i].Args) || twice[i].Time != events[i].Time {
				t.Fatalf("%+v became %+v", events[i], twice[i])
			}
		}
	})
}

// FuzzFill checks that any bytes are read without a panic, and that bytes without holes stay the
// same.
func FuzzFill(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		holes, err := Holes(b)
		if err != nil || len(holes) > 0 {
			return
		}
		if out, err := Fill(nil, b, nil); err != nil || !bytes.Equal(out, b) {
			t.Fatalf("%q became %q: %v", b, out, err)
		}
	})
}

func TestFill(t *testing.T) {
	var parts []string
	out, err := Fill([]byte("+"), seeds()[4], func(h Hole, part []byte) ([]byte, error) {
		parts = append(parts, string(part))
		if h.Reason != Cut || h.Kind != TagString || h.Class != Lower || h.Len != 40 {
			t.Errorf("hole %+v", h)
		}
		return []byte{TagNil}, nil
	})
	want := string([]byte{'+', TagStruct, 1, 2, 'A', '0', TagNil})
	if err != nil || string(out) != want || len(parts) != 1 || parts[0] != string([]byte{TagString, 1, 'x'}) {
		t.Errorf("%q %q %v", out, parts, err)
	}
	for i := range seeds()[2] {
		if events, err := ReadEvents(seeds()[2][:i]); err == nil && i > 0 && len(events) != 1 {
			t.Errorf("the first %d bytes are %d events", i, len(events))
		}
	}
}
