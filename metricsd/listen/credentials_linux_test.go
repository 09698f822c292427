package listen

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCredentials asks for the sender, and then does not ask. A sender that passes open files along
// must not fill this process with them.
func TestCredentials(t *testing.T) {
	for _, asked := range []bool{false, true} {
		s, err := Open("unixgram", filepath.Join(t.TempDir(), "s"), Options{Credentials: asked})
		if err != nil {
			t.Fatal(err)
		}
		c, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		batch, want := NewBatch(4, 64), int32(0)
		if asked {
			want = int32(os.Getpid())
		}
		before := openFiles(t)
		for range 5 {
			for range 3 {
				if err := unix.Sendmsg(c, []byte("a:1|c"), unix.UnixRights(0, 1, 2), &unix.SockaddrUnix{
					Name: s.Address(),
				}, 0); err != nil {
					t.Fatal(err)
				}
			}
			n, err := s.Receive(batch)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if d, truncated := batch.Datagram(i); string(d) != "a:1|c" || truncated || batch.PID(i) != want {
					t.Errorf("asked %v: %q from %d, want %d", asked, d, batch.PID(i), want)
				}
			}
		}
		if after := openFiles(t); after != before {
			t.Errorf("asked %v: %d files are open, %d before", asked, after, before)
		}
		unix.Close(c)
		s.Close()
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// FuzzSender reads any bytes in place of the kernel's credentials.
func FuzzSender(f *testing.F) {
	f.Add([]byte{})
	f.Add(unix.UnixCredentials(&unix.Ucred{Pid: 7}))
	// nothing where the credentials belong
	f.Add([]byte("\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, control []byte) { sender(control) })
}
