package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// openers open an empty queue of every built-in kind, and open it again.
var openers = map[string]func(t *testing.T) func() Bus{
	"nats": func(t *testing.T) func() Bus {
		dir := t.TempDir()
		return func() Bus { return opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: dir, Bytes: 64 << 20})) }
	},
}

func opened(t *testing.T) func(Bus, error) Bus {
	return func(b Bus, err error) Bus {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

func TestBus(t *testing.T) {
	for name, start := range openers {
		t.Run(name, func(t *testing.T) {
			open := start(t)
			b := open()
			publish(t, b, 0, 30)
			all, places := readAll(t, b, nil, 30)
			if !slices.Equal(all, texts(0, 30)) {
				t.Errorf("read %q", all)
			}
			if fill, err := b.Fill(t.Context()); err != nil || fill.Messages != 30 {
				t.Errorf("fill %+v, %v; nothing is done yet", fill, err)
			}
			if err := b.Done(t.Context(), places); err != nil {
				t.Fatal(err)
			}
			if fill, err := b.Fill(t.Context()); err != nil || fill.Messages != 0 {
				t.Errorf("fill %+v, %v; all is done", fill, err)
			}
			publish(t, b, 30, 40)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			again := open()
			defer again.Close()
			publish(t, again, 40, 50)
			if rest, _ := readAll(t, again, places, 20); !slices.Equal(rest, texts(30, 50)) {
				t.Errorf("after opening again: read %q", rest)
			}
			if err := again.Publish(t.Context(), make([]byte, MaxMessage+1)); err == nil {
				t.Error("a message over the bound was taken")
			}
			if err := again.Publish(t.Context(), make([]byte, MaxMessage)); err != nil {
				t.Errorf("the longest message was not taken: %v", err)
			}
		})
	}
}

func publish(t *testing.T, b Bus, from, to int) {
	t.Helper()
	for _, s := range texts(from, to) {
		if err := b.Publish(t.Context(), []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("message %03d", i))
	}
	return out
}

var errEnough = errors.New("enough")

// patience bounds a wait for work of a machine that may be busy.
const patience = 5 * time.Minute

// readAll reads n messages after places and sorts them, since partitions have no
// order among them; within one, places must grow.
func readAll(t *testing.T, b Bus, after map[int32]int64, n int) (all []string, places map[int32]int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	places = map[int32]int64{}
	err := b.Read(ctx, after, func(m Message) error {
		if last, ok := places[m.Partition]; ok && m.Place <= last {
			t.Errorf("place %d came after %d", m.Place, last)
		}
		m.Note(places)
		all = append(all, string(m.Data))
		if len(all) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%d of %d messages read: %v", len(all), n, err)
	}
	slices.Sort(all)
	return all, places
}

// awaits waits until all texts have come; others may come between.
func awaits(t *testing.T, got <-chan string, want []string) {
	t.Helper()
	end := time.After(patience)
	for missing := slices.Clone(want); len(missing) > 0; {
		select {
		case s := <-got:
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == s })
		case <-end:
			t.Fatalf("%q do not come", missing)
		}
	}
}

func TestAFullQueueSaysSo(t *testing.T) {
	b := opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: t.TempDir(), Bytes: 1 << 20}))
	defer b.Close()
	kept := 0
	for {
		err := b.Publish(t.Context(), bytes.Repeat([]byte("x"), 100_000))
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil || kept > 20 {
			t.Fatalf("after %d messages: %v", kept, err)
		}
		kept++
	}
	if all, _ := readAll(t, b, nil, kept); len(all) != kept {
		t.Errorf("%d messages accepted, %d there", kept, len(all))
	}
}

// TestPlacesOfAnotherStreamSayNothing checks that a queue whose files were removed begins anew, and
// that an old place does not hide its messages.
func TestPlacesOfAnotherStreamSayNothing(t *testing.T) {
	old := opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: t.TempDir(), Bytes: 1 << 20}))
	publish(t, old, 0, 9)
	_, places := readAll(t, old, nil, 9)
	old.Close()
	fresh := opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: t.TempDir(), Bytes: 1 << 20}))
	defer fresh.Close()
	publish(t, fresh, 0, 3)
	if all, _ := readAll(t, fresh, places, 3); len(all) != 3 {
		t.Errorf("read %q", all)
	}
}

// TestAStreamLosesItsEnd restores the embedded queue's files from a copy without the last messages
// that were read, as a power cut may. New messages then get numbers that were read before. All of
// them must be read, and none removed because of the old places.
func TestAStreamLosesItsEnd(t *testing.T) {
	o := NATSOptions{Dir: t.TempDir(), Bytes: 1 << 20}
	copied := t.TempDir()
	b := opened(t)(OpenNATS(t.Context(), o))
	publish(t, b, 0, 5)
	b.Close()
	if err := os.CopyFS(copied, os.DirFS(o.Dir)); err != nil {
		t.Fatal(err)
	}
	b = opened(t)(OpenNATS(t.Context(), o))
	publish(t, b, 5, 10)
	_, places := readAll(t, b, nil, 10)
	b.Close()
	for _, came := range []int{1, 5, 9} {
		o.Dir = t.TempDir()
		if err := os.CopyFS(o.Dir, os.DirFS(copied)); err != nil {
			t.Fatal(err)
		}
		b := opened(t)(OpenNATS(t.Context(), o))
		publish(t, b, 20, 20+came)
		for range 2 { // with the old places again, too
			if err := b.Done(t.Context(), places); err != nil {
				t.Fatal(err)
			}
			want := append(texts(0, 5), texts(20, 20+came)...)
			if all, _ := readAll(t, b, places, len(want)); !slices.Equal(all, want) {
				t.Errorf("%d came: read %q", came, all)
			}
			if m := b.Moves(); m.EndLost == 0 {
				t.Errorf("%d came: the operator is told of %+v", came, m)
			}
		}
		b.Close()
	}
}
