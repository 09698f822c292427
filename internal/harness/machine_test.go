package harness

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// wordOf reads a word as the machine has it, so that machines differ.
const wordOf = `package p

import "unsafe"

func Word(s string) int {
	if len(s) < 8 {
		return 0
	}
	return *(*int)(unsafe.Pointer(unsafe.StringData(s)))
}
`

// inOrder is right where a word has eight bytes and the lowest comes first.
const inOrder = `package p

func Word(s string) int {
	if len(s) < 8 {
		return 0
	}
	n := 0
	for i := range 8 {
		n |= int(s[i]) << (8 * i)
	}
	return n
}
`

// TestMachines: a program runs on each machine that is there, and is that
// machine's.
func TestMachines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/m\n\ngo 1.24\n", "p.go": wordOf} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: ".Word"})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBuilder(t.Context(), u, box, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := "\x01\x02\x03\x04\x05\x06\x07\x08"
	top := rt.Value{Kind: rt.KindStruct, Names: []string{"A0"}, Elems: []rt.Value{{Kind: rt.KindString, Str: text}}}
	file := filepath.Join(dir, "records")
	if err := rt.WriteRecords(file, []rt.Record{{Args: top.Append(nil), Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	same := map[string]bool{"386": true, "s390x": false, "arm64": true} // bits of no int are shifted out of one
	for _, m := range Machines {
		t.Run(m.GOARCH, func(t *testing.T) {
			other, err := b.ForMachine(t.Context(), m)
			if errors.Is(err, ErrNoMachine) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			bin, err := other.Build(t.Context(), []Variant{{"original", wordOf}, {"in-order", inOrder}}, Link{})
			if err != nil {
				t.Fatal(err)
			}
			var reply rt.ReplayReply
			q := &rt.Replay{Variant: 1, Records: []string{"one"}}
			exit, err := bin.Run(t.Context(), box, &rt.Request{
				Replay: q,
			}, &reply, RunOptions{CPU: -1, Files: map[string]string{"one": file}})
			if err != nil || exit != nil {
				t.Fatal(err, exit)
			}
			t.Logf("%+v", reply.Diff)
			if got := reply.Diff == nil; got != same[m.GOARCH] {
				t.Errorf("the versions agree: %v, want %v", got, same[m.GOARCH])
			}
		})
	}
}
