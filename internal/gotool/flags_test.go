package gotool

import "testing"

// TestFlag: GOFLAGS may have quotes, and the last value counts.
func TestFlag(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                 "",
		"-mod=mod":                         "",
		"-pgo=off":                         "off",
		"  -mod=mod\t--pgo=off -trimpath ": "off",
		"-pgo=off -pgo=auto":               "auto",
		"'-pgo=my file.pgo' -v":            "my file.pgo",
		`"-pgo=it's.pgo"`:                  "it's.pgo",
		"-pgo='one.pgo'":                   "'one.pgo'", // the go command looks for a file of that name
		"'-ldflags=-pgo=off -s'":           "",
		"-pgofile=x":                       "",
	} {
		if got, err := (&Toolchain{GOFLAGS: flags}).Flag("pgo"); got != want || err != nil {
			t.Errorf("GOFLAGS=%q: %q, %v, want %q", flags, got, err, want)
		}
	}
	if _, err := (&Toolchain{GOFLAGS: "'-pgo=off"}).Flag("pgo"); err == nil {
		t.Error("a quote without its end is taken")
	}
}
