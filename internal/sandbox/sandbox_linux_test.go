package sandbox

import (
	"context"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func TestTrue(t *testing.T) {
	s, err := New(Options{Require: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(context.Background(), Command{Profile: Test, Path: "/bin/sh", Args: []string{"-c", "id; ls -la / /box; env; cat /proc/self/status | egrep 'Cap|NoNew|Secc'; mount"}})
	t.Logf("%v %+v\n%s\n%s", err, r.Ended, r.Stdout, r.Stderr)
}
