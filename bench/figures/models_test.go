package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/suite"
)

// TestGoodAnswerAmongNineBad checks that one good answer among nine bad ones is found and
// confirmed. The bad ones do not parse, do not fit, do not compile, reach for what is forbidden,
// panic, hang or change nothing. They must neither stop the search nor cost more than they have to.
// It searches as users do, with the whole judgement, so it runs at night.
func TestGoodAnswerAmongNineBad(t *testing.T) {
	if !sampletest.All() {
		t.Skip("a whole search as users have it: .ci/night tries it, by -sample.all")
	}
	l, err := openLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	tasks, err := suite.Load(filepath.Join(l.root, "suite", "tasks"))
	if err != nil {
		t.Fatal(err)
	}
	task := &tasks[slices.IndexFunc(tasks, func(one suite.Task) bool { return one.Name == "tagascii" })]
	replies, err := tenReplies(task)
	if err != nil || len(replies) != 10 {
		t.Fatalf("%d replies: %v", len(replies), err)
	}
	got, err := l.search(t.Context(), task, modelAlone, replies, "--fuzz", "1s", "--measure", "3s")
	if err != nil {
		t.Fatal(err)
	}
	at := got.foundAt()
	t.Logf("found at evaluation %d of %d after %d calls: %s", at, got.Result.Candidates, got.Calls, got.Result.Why)
	if at == 0 || !got.confirmed() {
		t.Errorf("the good answer was not found and confirmed: %+v", got.Result.Attempts)
	}
	if at > len(replies) || got.Calls > modelCalls {
		t.Errorf("found at evaluation %d after %d calls: of ten replies no more than ten are evaluated", at, got.Calls)
	}
}
