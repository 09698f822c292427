package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// TestMain lets scripts call beagle as a command of their own.
func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(m, map[string]func(){
		"beagle": func() { os.Exit(run(os.Args[1:], stdio{os.Stdout, os.Stderr})) },
	})
}

// TestScripts runs the command as its users do: testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			cache, err := os.UserCacheDir()
			if err != nil {
				return err
			}
			// The build cache is shared: without it each script would compile the standard library anew.
			e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOWORK", "off")
			e.Setenv("BEAGLE_HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
	})
}
