package lift

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

// study studies a file of functions: it builds and runs their regions.
func study(t *testing.T, src string, o Options) (*mutate.Pass, Report) {
	t.Helper()
	p, err := mutate.Check(src, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Regions = 1000
	s := NewStudy(p, o)
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module lifted\n\ngo 1.26\n", "code.go": src, "lifted.go": s.Program("main"),
		"main.go": "package main\n\nfunc main() { " + Entry + "() }\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "program", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, files["lifted.go"])
	}
	request := s.Request()
	run := exec.Command(filepath.Join(dir, "program"))
	run.Stdin = bytes.NewReader(request)
	reply, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	s.Read(reply)
	return p, s.Find()
}
