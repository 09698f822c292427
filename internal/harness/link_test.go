package harness

import (
	"strings"
	"testing"
)

func TestLinkerFlags(t *testing.T) {
	for want, link := range map[string]Link{
		"-s -w":                             {Race: true, PGO: "cpu.pprof"},
		"-s -w -funcalign=64":               {FuncAlign: 64},
		"-s -w -randlayout=7":               {Layout: 7},
		"-s -w -funcalign=32 -randlayout=1": {FuncAlign: 32, Layout: 1<<63 + 1}, // the linker takes 62 bits
	} {
		if got := strings.Join(link.LinkerFlags(), " "); got != want {
			t.Errorf("%+v: %s, want %s", link, got, want)
		}
	}
}
