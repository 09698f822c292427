package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

const ioModule = `package p

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

func Sets(k string) { os.Setenv(k, "1") }

func Deep(s string) string { return first(s) }

func first(s string) string  { return second(s) }
func second(s string) string { fmt.Println(s); return first(s) }

func Method(b []byte) (int, error) { return std().Write(b) }

func std() *os.File { return os.Stdout }

func Value(s string) string { f := os.Getenv; return f(s) }

func Both(l *log.Logger, s string) string { l.Print(s); return os.Getenv(s) }

func Logs(n int) int { slog.Info("n"); return n }

func Walks(s string) (string, error) { return filepath.Abs(s) }

func Computes(s string) (string, error) {
	if errors.Is(fs.ErrExist, fs.ErrNotExist) {
		return "", os.ErrNotExist
	}
	return fmt.Sprint(filepath.Join(s, time.Duration(len(s)).String()), os.IsNotExist(nil)), nil
}

func Writes(w io.Writer, s string) { fmt.Fprint(w, s) }

func Asserts(n int) int {
	if n < 0 {
		log.Fatalf("n is %d", n)
	}
	return n
}

func Clock(t time.Time) bool { return time.Since(t) > 0 }
`

// TestIO checks that a target that does input or output is refused, wherever in its package the
// call stands: no check would compare what it does there.
func TestIO(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/p\n\ngo 1.24\n", "p.go": ioModule} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, reaches := range map[string]string{
		"Sets": "os.Setenv (p.go:15)", "Deep": "fmt.Println (p.go:20)", "Method": "os.File.Write", "Value": "os.Getenv",
		"Logs": "slog.Info", "Both": "log.Logger.Print", "Walks": "filepath.Abs", "Computes": "",
		"Writes": "", "Clock": "", "Asserts": "",
	} {
		o := Options{Dir: dir, Spec: "." + "/." + name}
		_, err := Load(context.Background(), o)
		var bad *beagle.UsageError
		switch {
		case reaches == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case reaches != "" && (!errors.As(err, &bad) || !strings.Contains(bad.What, "reaches "+reaches)):
			t.Errorf("%s: %v, want that it reaches %s", name, err, reaches)
		}
		o.InPlace = true
		mild := map[string]bool{"Deep": true, "Value": true, "Walks": true}[name]
		u, err := Load(context.Background(), o)
		switch {
		case (err == nil) != (reaches == "" || mild):
			t.Errorf("%s in place: %v", name, err)
		case mild && (u.Unrecordable == nil || u.Outside == "" || !strings.HasPrefix(reaches, u.Outside)):
			t.Errorf("%s in place: outside is %q: %v", name, u.Outside, u.Unrecordable)
		}
		o.Ignore = []string{beagle.IgnoreIO}
		if _, err := Load(context.Background(), o); err != nil {
			t.Errorf("%s under a contract: %v", name, err)
		}
	}
}
