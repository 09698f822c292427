package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("BEAGLE_TEST_WRITER"); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func usage(t *testing.T, err error, want ...string) {
	t.Helper()
	var u *beagle.UsageError
	if !errors.As(err, &u) {
		t.Fatalf("not a usage error: %v", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestHome(t *testing.T) {
	t.Setenv("BEAGLE_HOME", "/somewhere")
	if got, err := Home(); got != "/somewhere" || err != nil {
		t.Error(got, err)
	}
	t.Setenv("BEAGLE_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "/caches")
	t.Setenv("HOME", "/me")
	if got, err := Home(); err != nil || filepath.Base(got) != "beagle" {
		t.Error(got, err)
	}
}

func TestFormat(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	open(t, dir)
	os.WriteFile(filepath.Join(dir, "format"), []byte("2\n"), 0o644)
	_, err := Open(dir)
	usage(t, err, dir, "newer", "format 2")
	os.WriteFile(filepath.Join(dir, "format"), []byte("soup"), 0o644)
	_, err = Open(dir)
	usage(t, err, "soup")
}

func TestBlobs(t *testing.T) {
	s := open(t, t.TempDir())
	id, err := s.PutJSON(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]int
	if err := s.GetJSON(id, &v); err != nil || v["a"] != 1 {
		t.Error(v, err)
	}
	if again, _ := s.Put([]byte(`{"a":1}`)); again != id {
		t.Errorf("the same content has two IDs: %s and %s", id, again)
	}
	os.WriteFile(s.BlobPath(id), []byte(`{"a":2}`), 0o644)
	if _, err := s.Get(id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged blob: %v", err)
	}
	if _, err := s.Get("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that is not there: %v", err)
	}
}

func TestCache(t *testing.T) {
	s := open(t, t.TempDir())
	k := Key{Kind: "quick", Candidate: "c", Corpus: "k", Toolchain: "go1.26", Machine: "m"}
	var got beagle.Verdict
	if s.Cached(k, &got) {
		t.Error("a hit in an empty cache")
	}
	if err := s.Cache(k, beagle.Verdict{Candidate: "c", Status: beagle.Equal}); err != nil {
		t.Fatal(err)
	}
	if !s.Cached(k, &got) || got.Status != beagle.Equal {
		t.Errorf("%+v", got)
	}
	for _, other := range []Key{{Kind: "quick"},
		{Kind: "full", Candidate: "c", Corpus: "k", Toolchain: "go1.26", Machine: "m"},
		{Kind: "quick", Candidate: "c", Corpus: "k", Toolchain: "go1.27", Machine: "m"}} {
		if s.Cached(other, &got) {
			t.Errorf("%+v hits", other)
		}
	}
	path := s.cachePath(k)
	text, _ := os.ReadFile(path)
	os.WriteFile(path, []byte(strings.Replace(string(text), "equal", "accepted", 1)), 0o644)
	if s.Cached(k, &got) {
		t.Error("a damaged entry hits")
	}
}

func TestRuns(t *testing.T) {
	s := open(t, t.TempDir())
	for i, id := range []string{"ab12", "ab34", "cd56"} {
		r := Run{ID: id, Target: "t", State: Running, Created: time.Unix(int64(i), 0)}
		if err := s.SaveRun(r); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(s.RunDir("half"), 0o755)
	runs, err := s.Runs()
	if err != nil || len(runs) != 3 || runs[0].ID != "cd56" {
		t.Errorf("%+v, %v", runs, err)
	}
	if r, err := s.Run("c"); err != nil || r.ID != "cd56" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = s.Run("ab")
	usage(t, err, "ab34", "ab12")
	_, err = s.Run("zz")
	usage(t, err, "zz", "beagle runs")
	if s.SaveRun(Run{ID: "../x"}) == nil {
		t.Error("a run outside the store was saved")
	}
	if s.CancelRequested("cd56") || s.RequestCancel("cd56") != nil || !s.CancelRequested("cd56") {
		t.Error("cancel")
	}
}

func TestJournalTornTail(t *testing.T) {
	s := open(t, t.TempDir())
	j, err := s.Journal("r", "events")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		j.Append(i)
	}
	j.Close()
	path := s.journalPath("r", "events")
	for _, tail := range []string{"12", "{\"half\": ", "\x00\x00\x00\n", "\x00\n\x00\x00\n\x00"} {
		f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		f.WriteString(tail)
		f.Close()
		if got, err := ReadJournal[int](s, "r", "events"); err != nil || len(got) != 3 {
			t.Errorf("tail %q: %v, %v", tail, got, err)
		}
		j, err := s.Journal("r", "events")
		if err != nil {
			t.Fatal(err)
		}
		j.Append(3)
		j.Close()
		if got, err := ReadJournal[int](s, "r", "events"); err != nil || fmt.Sprint(got) != "[0 1 2 3]" {
			t.Errorf("tail %q, then one more: %v, %v", tail, got, err)
		}
		os.WriteFile(path, []byte("0\n1\n2\n"), 0o644)
	}
	os.WriteFile(path, []byte("0\nsoup\n2\n"), 0o644)
	if _, err := ReadJournal[int](s, "r", "events"); err == nil || !strings.Contains(err.Error(), ":2:") {
		t.Errorf("damage in the middle: %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	l, err := s.Lock("beagle evolve x.F")
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, dir).Lock("another")
	usage(t, err, fmt.Sprint("process ", os.Getpid()), "beagle evolve x.F", dir, "Ctrl-C")
	if err := l.Runs("3f2a"); err != nil {
		t.Fatal(err)
	}
	_, err = open(t, dir).Lock("another")
	usage(t, err, fmt.Sprint("process ", os.Getpid()), "beagle evolve x.F", "stop it with `beagle cancel 3f2a`, or set")
	l.Unlock()
	if l, err = s.Lock("again"); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

// TestRelativeHome checks that a store that would be another one in every directory is refused.
func TestRelativeHome(t *testing.T) {
	t.Setenv("BEAGLE_HOME", "store")
	_, err := Home()
	usage(t, err, "BEAGLE_HOME=store", "absolute path")
}

// TestLockMachine: whatever their stores, one process measures.
func TestLockMachine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, err := LockMachine("beagle worker")
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockMachine("another")
	usage(t, err, "this machine", "beagle worker", fmt.Sprint("process ", os.Getpid()))
	l.Unlock()
	if l, err = LockMachine("again"); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

// writeForever is the process that is killed.
func writeForever(dir string) {
	s, err := Open(dir)
	if err == nil {
		_, err = s.Lock("writer")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	j, err := s.Journal("r", "events")
	if err != nil {
		panic(err)
	}
	old, err := ReadJournal[int](s, "r", "events")
	if err != nil {
		panic(err)
	}
	for i := len(old); ; i++ {
		id, _ := s.Put([]byte(strings.Repeat(fmt.Sprint(i), 5000)))
		j.Append(i)
		s.Save("r", "state", map[string]any{"i": i, "blob": id, "pad": strings.Repeat("x", 100_000)})
		s.SaveRun(Run{ID: "r", State: Running, Created: time.Unix(1, 0)})
		if i == len(old) {
			fmt.Println("writing")
		}
	}
}

func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	last := -1
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BEAGLE_TEST_WRITER="+dir)
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
			t.Fatalf("round %d: the writer says %q", round, line)
		}
		time.Sleep(time.Duration(5+7*round) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		last = checkKilled(t, open(t, dir), last)
	}
}

// checkKilled asserts that all is whole and nothing is lost, and returns the
// last entry.
func checkKilled(t *testing.T, s *Store, before int) int {
	t.Helper()
	events, err := ReadJournal[int](s, "r", "events")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e != i {
			t.Fatalf("entry %d is %d", i, e)
		}
	}
	var st struct {
		I    int
		Blob string
	}
	if ok, err := s.Load("r", "state", &st); !ok || err != nil {
		t.Fatalf("state: %v, %v", ok, err)
	}
	last := len(events) - 1
	if last <= before || st.I != last && st.I != last-1 {
		t.Errorf("journal ends with %d, the state is %d, before it was %d", last, st.I, before)
	}
	if _, err := s.Get(st.Blob); err != nil {
		t.Error(err)
	}
	if _, err := s.Run("r"); err != nil {
		t.Error(err)
	}
	return last
}
