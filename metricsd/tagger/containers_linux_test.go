package tagger

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOneSlowProcessHoldsUpNobody gives one process a file of /proc that does not end: a FIFO.
// Another process's answer comes meanwhile.
func TestOneSlowProcessHoldsUpNobody(t *testing.T) {
	proc := t.TempDir()
	for _, pid := range []string{"7", "8"} {
		os.Mkdir(filepath.Join(proc, pid), 0o700)
	}
	slow := filepath.Join(proc, "7", "cgroup")
	if err := unix.Mkfifo(slow, 0o600); err != nil {
		t.Skipf("no FIFO can be made (%v): a slow /proc is not tested", err)
	}
	text := []byte("0::/docker/" + id + "\n")
	if err := os.WriteFile(filepath.Join(proc, "8", "cgroup"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewContainers(proc)
	got := make(chan string)
	go func() { got <- c.ContainerOf(7, 100) }()
	writer, err := os.OpenFile(slow, os.O_WRONLY, 0) // returns when the reader has opened it
	if err != nil {
		t.Fatal(err)
	}
	if other := c.ContainerOf(8, 100); other != id { // with the lock held it would wait for ever
		t.Errorf("the other process is in %q", other)
	}
	writer.Write(text)
	writer.Close()
	if slowly := <-got; slowly != id {
		t.Errorf("the slow one is in %q", slowly)
	}
}
