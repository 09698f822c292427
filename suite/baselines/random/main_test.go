package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAlone(t *testing.T) {
	t.Setenv("BEAGLE_SUITE_SEED", "")
	if err := run(); err == nil || !strings.Contains(err.Error(), "beagle suite --against") {
		t.Errorf("%v", err)
	}
}

// TestRun checks that two tries on a small package leave a file that still declares the function.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module example.com/p\n\ngo 1.26\n",
		"p.go":          "package p\n\n// Low counts.\nfunc Low(s string) int {\n\tn := 0\n\tfor i := 0; i < len(s); i++ {\n\t\tif s[i] >= 'a' && s[i] <= 'z' {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n",
		"p_test.go":     "package p\n\nimport \"testing\"\n\nfunc TestLow(t *testing.T) {\n\tif Low(\"aBc\") != 2 {\n\t\tt.Error()\n\t}\n}\n",
		"bench_test.go": "package p\n\nimport \"testing\"\n\nfunc BenchmarkLow(b *testing.B) {\n\tfor b.Loop() {\n\t\tLow(\"abcDEF\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	file := filepath.Join(dir, "p.go")
	for name, value := range map[string]string{"SEED": "1", "CANDIDATES": "2", "SECONDS": "300", "FILE": file,
		"FUNC": "Low"} {
		t.Setenv("BEAGLE_SUITE_"+name, value)
	}
	t.Setenv("GOWORK", "off")
	if err := run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "func Low(s string) int {") {
		t.Errorf("%v\n%s", err, text)
	}
}
