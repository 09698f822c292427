// Proxy writes a module as a file proxy holds it: proxy DIR MODULE VERSION OUT.
package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: proxy DIR MODULE VERSION OUT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

// write writes a module as files of a Go module proxy.
func write(dir, module, version, out string) error {
	at := filepath.Join(out, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `"}`),
		version + ".mod":  mod,
	} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	if err := addAll(z, os.DirFS(dir), module+"@"+version+"/"); err != nil {
		return err
	}
	return z.Close()
}

// addAll leaves nested modules out, as the go command does.
func addAll(z *zip.Writer, tree fs.FS, prefix string) error {
	return fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := fs.Stat(tree, path+"/go.mod"); err == nil && path != "." {
				return fs.SkipDir
			}
			return nil
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		w, err := z.Create(prefix + path)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}
