// Package proxytest makes the go command of a test download from a module proxy of
// files, so that no test needs a network.
package proxytest

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A Module is a module of the proxy: files by path in the module.
type Module struct {
	Path, Version string
	Files         map[string]string
}

// Serve points the environment of a test at a proxy with these modules, and at a
// module cache of its own.
func Serve(t *testing.T, modules ...Module) {
	t.Helper()
	proxy := t.TempDir()
	for _, m := range modules {
		at := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		mod := m.Files["go.mod"]
		if mod == "" {
			mod = "module " + m.Path + "\n"
		}
		for name, text := range map[string][]byte{
			".info": []byte(`{"Version":"` + m.Version + `"}`), ".mod": []byte(mod), ".zip": zipped(t, m),
		} {
			if err := os.WriteFile(filepath.Join(at, m.Version+name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "-mod=mod -modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
}

func zipped(t *testing.T, m Module) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range m.Files {
		f, err := w.Create(m.Path + "@" + m.Version + "/" + name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
