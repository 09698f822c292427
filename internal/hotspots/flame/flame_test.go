package flame

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
)

var keep = flag.String("keep", "", "write the page to this file, to look at it")

func table(t *testing.T) *hotspots.Table {
	t.Helper()
	data, err := sketch.Sketch{Kind: "cpu", Seconds: 10, Stacks: []string{
		"600 ex.com/svc/parse.Fields@/src/parse.go:7 ex.com/svc/serve.Handle@/src/serve.go:9",
		"300 runtime.mallocgc@/go/malloc.go:1 ex.com/svc/store.Put@/src/put.go:3 ex.com/svc/serve.Handle@/src/serve.go:9",
		"100 runtime.gcDrain@/go/mgc.go:1 runtime.gcBgMarkWorker@/go/mgc.go:1",
		"1 ex.com/svc/<script>alert(1)</script>.F@/src/x.go:1",
	}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	p, err := hotspots.Parse("cpu.pprof", data)
	if err != nil {
		t.Fatal(err)
	}
	price, err := hotspots.ParsePrice("0.10")
	if err != nil {
		t.Fatal(err)
	}
	h, err := hotspots.Rank([]*hotspots.Profile{p}, hotspots.Options{
		Checkout: &hotspots.Checkout{Module: "ex.com/svc"}, Service: hotspots.Service{Name: "in&out", Price: price,
			Cores: 1001},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHTML: the page holds all that it needs, the money, and no code of the profile.
func TestHTML(t *testing.T) {
	h := table(t)
	p, unit, scale := h.Costs()
	var cents int64
	for _, s := range p.Sample {
		cents += s.Value[0]
	}
	if want := 1001 * 0.10 * 8760; float64(cents)*scale < want-0.1 || float64(cents)*scale > want+0.1 {
		t.Errorf("the frames add up to %g%s, the service costs %g", float64(cents)*scale, unit, want)
	}
	page, err := HTML(p, "hot spots of in&out", unit, scale)
	if err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		if err := os.WriteFile(*keep, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text := string(page)
	for _, want := range []string{"hot spots of in&amp;out", `"Unit":" USD a year"`, "ex.com/svc/parse.Fields",
		"[garbage collection caused here]", "default-src 'none'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(text, "<script>alert") {
		t.Error("a function's name is code")
	}
	if found := regexp.MustCompile(`(src|href)="(https?:)?//[^"]*"`).FindAllString(text, -1); len(found) > 0 {
		t.Errorf("the page loads %q", found)
	}
}
