package flow

import (
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// TestStartFromKeepsBlobs: a run that starts from another store's preparation keeps the names that
// its own store has for the recorded calls, those of a group's functions too.
func TestStartFromKeepsBlobs(t *testing.T) {
	dir := t.TempDir()
	u := &source.Unit{Target: beagle.Target{Dir: dir, PkgDir: dir, Source: "root"}, Copies: new(source.Copies)}
	a := &Activities{Store: openStore(t), Watch: func(Event) {}}
	x := newSession("run", Defaults(), a.Store, a.Watch, u, &lab{}, nil)
	x.inputs.hold(&beagle.Corpus{}, 0)
	x.preparer.ready.CorpusBlob, x.preparer.ready.Recorded = "mine", []Recorded{{"Encode", "also mine"}}
	a.sessions = map[string]*session{"run": x}
	theirs := Prepared{CorpusBlob: "theirs", Recorded: []Recorded{{"Encode", "theirs"}}}
	p, err := a.StartFrom(t.Context(), "run", theirs)
	if err != nil {
		t.Fatal(err)
	}
	if p.CorpusBlob != "mine" || len(p.Recorded) != 1 || p.Recorded[0].CorpusBlob != "also mine" {
		t.Errorf("%q, %v", p.CorpusBlob, p.Recorded)
	}
}
