package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// onlyShelf returns the one shelf of a kind.
func onlyShelf(t *testing.T, dir, kind string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "cache", kind, "shelf-*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d shelves, %v", len(found), err)
	}
	return found[0]
}

func shelved(s *Store, k Key) string {
	v := ""
	s.Shelved(k, &v)
	return v
}

// TestShelf checks that what is shelved is one file, which the next process and those beside it
// read.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	key := func(i int) Key { return Key{Kind: "kind", Candidate: fmt.Sprint("c", i), Extra: "run"} }
	lock, err := s.Lock("test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if got := shelved(s, key(i)); got != "" {
			t.Fatalf("%d is %q before it is shelved", i, got)
		}
		if err := s.Shelve(key(i), fmt.Sprint("value ", i)); err != nil {
			t.Fatal(err)
		}
		if a, b := shelved(s, key(i)), shelved(other, key(i)); a != fmt.Sprint("value ", i) || b != a {
			t.Fatalf("%d is %q, beside it %q", i, a, b)
		}
	}
	if err := s.Shelve(key(3), "another"); err != nil || shelved(s, key(3)) != "another" {
		t.Error("the last value counts:", shelved(s, key(3)), err)
	}
	onlyShelf(t, dir, "kind")
	lock.Unlock()
	if got := shelved(open(t, dir), key(42)); got != "value 42" {
		t.Errorf("another process reads %q", got)
	}
	if got := shelved(s, Key{Kind: "kind", Candidate: "c1", Extra: "another run"}); got != "" {
		t.Errorf("another key has %q", got)
	}
}

// TestShelfWithoutLock checks that a process without the lock writes one file per result and reads
// files and shelves.
func TestShelfWithoutLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	k := Key{Kind: "kind", Candidate: "c"}
	if err := s.Shelve(k, "file"); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "cache", "kind", "shelf-*")); len(found) != 0 {
		t.Errorf("there is a shelf: %v", found)
	}
	if got := shelved(open(t, dir), k); got != "file" {
		t.Errorf("%q", got)
	}
}

// TestShelfChangesHands checks that a new holder of the lock sees what the last one added, and that
// a process that lost the lock adds to no shelf, not even to one that it has open.
func TestShelfChangesHands(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	key := func(name string) Key { return Key{Kind: "kind", Candidate: name} }
	shelve := func(s *Store, name string) {
		t.Helper()
		if err := s.Shelve(key(name), "value of "+name); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := first.Lock("test")
	if err != nil {
		t.Fatal(err)
	}
	shelve(first, "a")
	if got := shelved(second, key("a")); got != "value of a" {
		t.Errorf("a is %q", got)
	}
	shelve(first, "b")
	atHand := first.shelf(key(""))
	lock.Unlock()
	if lock, err = second.Lock("test"); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if got := shelved(second, key("b")); got != "value of b" {
		t.Errorf("b is %q", got)
	}
	if err := atHand.add(book{Candidate: "c"}); err != errNotMine {
		t.Errorf("added without the lock: %v", err)
	}
	shelve(first, "d") // to a file
	shelve(second, "e")
	for _, name := range []string{"a", "b", "d", "e"} {
		if got := shelved(second, key(name)); got != "value of "+name {
			t.Errorf("%s is %q", name, got)
		}
	}
	onlyShelf(t, dir, "kind")
}

// TestShelfDamaged checks that a line that was torn off at the end or damaged in the middle is as
// if it had never been.
func TestShelfDamaged(t *testing.T) {
	dir := t.TempDir()
	key := func(name string) Key { return Key{Kind: "kind", Candidate: name} }
	write := func(s *Store, name string) {
		t.Helper()
		lock, err := s.Lock("test")
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Unlock()
		if err := s.Shelve(key(name), "value of "+name); err != nil {
			t.Fatal(err)
		}
	}
	write(open(t, dir), "first")
	path := onlyShelf(t, dir, "kind")
	whole, _ := os.ReadFile(path)
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)-4] ^= 1 // in the value
	content := append(append(append([]byte(nil), damaged...), "soup\n"...), whole[:20]...)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if got := shelved(s, key("first")); got != "" {
		t.Errorf("a damaged value is read: %q", got)
	}
	write(s, "second")
	write(s, "first")
	for _, name := range []string{"first", "second"} {
		if got := shelved(open(t, dir), key(name)); got != "value of "+name {
			t.Errorf("%s is %q", name, got)
		}
	}
}
