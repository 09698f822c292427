package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	key := keyOf("a", "b")
	if key == keyOf("ab") || key == keyOf("a", "b", "") || readArchive(key) != nil {
		t.Error("keys are not told apart")
	}
	keep(key, []byte("archive"))
	if got := string(readArchive(key)); got != "archive" {
		t.Errorf("kept %q", got)
	}
	path := filepath.Join(cacheDir(), key+".a")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil || readArchive(key) != nil {
		t.Errorf("a damaged file was taken: %v", err)
	}
	if err := os.Truncate(path, 10); err != nil || readArchive(key) != nil {
		t.Errorf("a torn file was taken: %v", err)
	}
	torn, old := filepath.Join(cacheDir(), "new1"), time.Now().Add(-2*time.Hour)
	if err := errors.Join(os.WriteFile(torn, []byte("x"), 0o600), os.Chtimes(torn, old, old)); err != nil {
		t.Fatal(err)
	}
	for i := range maxKept + 5 {
		keep(keyOf(fmt.Sprint(i)), []byte("x"))
	}
	if left, _ := os.ReadDir(cacheDir()); len(left) != maxKept {
		t.Errorf("%d archives are kept, want %d", len(left), maxKept)
	}
}

// TestArchivesServeOthers: rt is compiled once for all targets; the main
// package once for all targets of a package with the same arguments and
// results, whatever else changes there, unless a type of its own is among them.
func TestArchivesServeOthers(t *testing.T) {
	own := "\ntype Own struct{ N int }\n\nfunc Of(o Own) int { return o.N }\n"
	key := func(f *fixture) (rt, main string) {
		b, err := f.b.newBatch(f.variants())
		if err != nil {
			t.Fatal(err)
		}
		w := f.b.worlds["off"]
		return w.rtKey, b.mainKey(w)
	}
	first := sum(t)
	first.build(t, Link{}) // keeps its main package
	changed := load(t, "./sum.Sum", map[string]string{"sum/sum.go": sumFile + own})
	elsewhere := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go": sumFile,
		"go.mod":     "module ex.com/elsewhere\n\ngo 1.24\n",
	})
	rt0, main0 := key(first)
	rt1, main1 := key(changed)
	rt2, main2 := key(elsewhere)
	if rt0 != rt1 || rt0 != rt2 {
		t.Error("each target has an rt of its own")
	}
	if main0 != main1 || main0 == main2 {
		t.Errorf("main packages: %s, after a change that they do not see %s, elsewhere %s", main0, main1, main2)
	}
	if readArchive(main0) == nil {
		t.Fatal("the main package was not kept")
	}
	bin := changed.build(t, Link{}, changed.edit(t, "i < n", "i <= n"))
	if reply, exit := changed.replay(t, bin, 1, records(t, sumArgs{[]int{1, 2, 3}, 2})); exit != nil ||
		reply.Diff == nil {
		t.Errorf("with the main package of another text: %+v %v", reply, exit)
	}
	_, before := key(load(t, "./sum.Of", map[string]string{"sum/sum.go": sumFile + own}))
	_, after := key(load(t, "./sum.Of", map[string]string{
		"sum/sum.go": sumFile + strings.Replace(own, "{ N int }", "{ M, N int }", 1),
	}))
	if before == after {
		t.Error("a type of the target's package changed and the main package did not")
	}
}
