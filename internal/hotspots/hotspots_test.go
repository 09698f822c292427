package hotspots

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
)

var update = flag.Bool("update", false, "write the golden files")

type planned sketch.Sketch

func (s planned) profile(t testing.TB) *profile.Profile {
	t.Helper()
	p, err := sketch.Sketch(s).Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s planned) bytes(t testing.TB) []byte {
	t.Helper()
	data, err := sketch.Sketch(s).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s planned) parse(t testing.TB, name string) *Profile {
	t.Helper()
	p, err := Parse(name, s.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const svc = "ex.com/svc"

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// serving: the stacks of a service: handle parses lines and stores what it parsed.
var serving = planned{
	Kind: CPU, Seconds: 10, Start: noon, Build: "aaaaaaaaaaaaaaaaaaaa",
	Stacks: []string{
		"300 ex.com/svc/parse.(*Line).Fields@/src/svc/parse/line.go:7 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"100 ex.com/svc/parse.(*Line).Fields.func1@/src/svc/parse/line.go:8 " +
			"slices.SortFunc[...]@/go/src/slices/sort.go:1 " +
			"ex.com/svc/parse.(*Line).Fields@/src/svc/parse/line.go:7 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"80 ex.com/svc/parse.Sum[...]@/src/svc/parse/sum.go:5 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"120 runtime.mallocgc@/go/src/runtime/malloc.go:1 runtime.growslice@/go/src/runtime/slice.go:1 " +
			"ex.com/svc/store.Put@/src/svc/store/put.go:3 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:10 main.main@/src/svc/main.go:4",
		"40 runtime.mallocgc@/go/src/runtime/malloc.go:1 strings.ToLower@/go/src/strings/strings.go:2 " +
			"ex.com/svc/serve.Handle@/src/svc/serve/serve.go:11 main.main@/src/svc/main.go:4",
		"160 runtime.scanobject@/go/src/runtime/mgcmark.go:1 runtime.gcDrain@/go/src/runtime/mgcmark.go:1 runtime.gcBgMarkWorker@/go/src/runtime/mgc.go:1",
		"3 ex.com/svc/parse.trim@/src/svc/parse/line.go:40 ex.com/svc/parse.Sum[...]@/src/svc/parse/sum.go:6 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"60 github.com/other/x.Decode@/home/u/go/pkg/mod/github.com/other/x@v1.2.3/x.go:1 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:12 main.main@/src/svc/main.go:4",
		"20 ex.com/svc/api.(*Msg).Unmarshal@/src/svc/api/msg.pb.go:3 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:12 main.main@/src/svc/main.go:4",
		"50 runtime.futex@/go/src/runtime/sys.s:1 runtime.findRunnable@/go/src/runtime/proc.go:1 runtime.schedule@/go/src/runtime/proc.go:1",
		"40 runtime.chansend@/go/src/runtime/chan.go:1 runtime.chansend1@/go/src/runtime/chan.go:1 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:20 main.main@/src/svc/main.go:4",
		"27 internal/runtime/syscall.Syscall6@/go/src/s.s:1 syscall.write@/go/src/syscall/s.go:1 log.(*Logger).output@/go/src/log/log.go:1 ex.com/svc/serve.audit@/src/svc/serve/serve.go:30 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:13 main.main@/src/svc/main.go:4",
	},
}

var allocating = planned{Kind: Alloc, Seconds: 10, Start: noon, Stacks: []string{
	"90 ex.com/svc/store.Put@/src/svc/store/put.go:3 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:10 main.main@/src/svc/main.go:4",
	"10 strings.ToLower@/go/src/strings/strings.go:2 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:11 main.main@/src/svc/main.go:4",
}}

var waiting = planned{Kind: Mutex, Seconds: 10, Start: noon, Stacks: []string{
	"30 sync.(*Mutex).Unlock@/go/src/sync/mutex.go:1 ex.com/svc/store.Put@/src/svc/store/put.go:9 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:10",
}}

// checkout returns the service's source text, as the loader would find it.
func checkout() *Checkout {
	file := func(path string, decls ...SourceFunc) *SourceFile {
		return &SourceFile{Path: path, Decls: decls, Main: !strings.Contains(path, "/"),
			Generated: strings.HasSuffix(path, ".pb.go")}
	}
	return &Checkout{Module: svc, Files: map[string]*SourceFile{
		"main.go":        file("main.go", SourceFunc{"main", 3, 5, true, ""}),
		"parse/line.go":  file("parse/line.go", SourceFunc{"Line.Fields", 5, 12, true, ""}, SourceFunc{"trim", 38, 42, true, ""}),
		"parse/sum.go":   file("parse/sum.go", SourceFunc{"Sum", 4, 8, true, ""}),
		"serve/serve.go": file("serve/serve.go", SourceFunc{"Handle", 8, 25, true, ""}, SourceFunc{"audit", 28, 32, true, ""}),
		"store/put.go":   file("store/put.go", SourceFunc{"Put", 2, 10, true, ""}),
		"api/msg.pb.go":  file("api/msg.pb.go", SourceFunc{"Msg.Unmarshal", 2, 10, true, ""}),
	}}
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("%s differs; -update writes it anew:\n%s", file, got)
	}
}

// find returns a hot spot of a table.
func find(t *testing.T, h *Table, target string) beagle.Hotspot {
	t.Helper()
	i := slices.IndexFunc(h.Hotspots.Hotspots, func(x beagle.Hotspot) bool { return x.Target == target })
	if i < 0 {
		t.Fatalf("%s is no hot spot: %+v", target, h.Hotspots.Hotspots)
	}
	return h.Hotspots.Hotspots[i]
}

func TestTable(t *testing.T) {
	price, err := ParsePrice("aws/c7g")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Least: 0.005, Limit: 10, Checkout: checkout(), Calls: map[string]float64{svc + "/parse.Sum": 1e6},
		Service: Service{Name: "intake", Price: price, Follows: "partly", Fraction: 0.5, Utilisation: 0.8},
	}
	all := []*Profile{serving.parse(t, "cpu.pprof"), allocating.parse(t, "allocs.pprof"),
		waiting.parse(t, "mutex.pprof")}
	for _, p := range all {
		p.Group, p.Stands = "svc", 40
	}
	h, err := Rank(all, o)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "table.json", h.Hotspots)
	if h.Cores != 40 {
		t.Errorf("40 instances that keep one core busy are %g cores", h.Cores)
	}
	put := find(t, h, svc+"/store.Put")
	if got, want := put.GC, 0.16*0.9; math.Abs(got-want) > 1e-9 {
		t.Errorf("who allocates 90 %% of the bytes pays for %g of the collector's 0.16", got)
	}
	if math.Abs(put.Net-0.12-put.GC) > 1e-9 || put.Flat != 0 {
		t.Errorf("the allocator's time counts for its caller: %+v", put)
	}
	if got := find(t, h, svc+"/parse.Line.Fields"); math.Abs(got.Flat-0.4) > 1e-9 || math.Abs(got.Cum-0.4) > 1e-9 {
		t.Errorf("the literal does not count for its function, or counts twice: %+v", got)
	}
	if got := find(t, h, svc+"/parse.Sum"); math.Abs(got.NanosCall-0.083*40*1e9/1e6) > 1e-6 {
		t.Errorf("ns a call: %g", got.NanosCall)
	}
}

// TestAbsent: own code whose files the checkout does not have is named, with the way out. Such are
// the functions of a module within the module of the checkout.
func TestAbsent(t *testing.T) {
	outer := &Checkout{Module: svc, Files: map[string]*SourceFile{"tool/tool.go": {Path: "tool/tool.go"}}}
	h, err := Rank([]*Profile{serving.parse(t, "cpu")}, Options{Checkout: outer, Least: 0.005})
	if err != nil {
		t.Fatal(err)
	}
	const want = "of the time is in functions whose files are not in the checkout, most of it in ex.com/svc/"
	if text := strings.Join(h.Warnings, "\n"); !strings.Contains(text, want) || !strings.Contains(text, "with -C") {
		t.Errorf("%s", text)
	}
	if len(h.Rest) == 0 || h.Rest[0].What != "own code whose files are not in the checkout" || h.Rest[0].Share < 0.7 {
		t.Errorf("%+v", h.Rest)
	}
	if h, err = Rank([]*Profile{serving.parse(t, "cpu")}, Options{Checkout: checkout(), Least: 0.005}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(h.Warnings, "\n"); strings.Contains(text, "not in the checkout") {
		t.Errorf("of the right checkout: %s", text)
	}
}

// TestCollectorByTime: without an allocation profile the collector's bill goes by the
// time in the allocator.
func TestCollectorByTime(t *testing.T) {
	h, err := Rank([]*Profile{serving.parse(t, "cpu.pprof")}, Options{Least: 0.005, Checkout: checkout()})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, h, svc+"/store.Put").GC; math.Abs(got-0.16*0.75) > 1e-9 {
		t.Errorf("120 of 160 samples in the allocator pay for %g", got)
	}
}

// TestNothingCountsTwice: net shares and the rest are the whole, for any
// profile and least share.
func TestNothingCountsTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{
		svc + "/a.F", svc + "/a.(*T).M", svc + "/b.G[...]", svc + "/b.G[...].func1", svc + "/c.H", svc +
			"/a.F.func2.1", svc + "/a.T.M-fm",
		"runtime.mallocgc", "runtime.gcBgMarkWorker", "strings.Index", "github.com/x/y.Z", "main.main", svc + "/a.init.0",
	}
	for range 300 {
		s := planned{Kind: CPU, Seconds: 1, Start: noon}
		for range 1 + r.IntN(30) {
			stack := fmt.Sprint(1 + r.IntN(50))
			for range 1 + r.IntN(8) {
				stack += " " + names[r.IntN(len(names))] + "@/x/f.go:1"
			}
			s.Stacks = append(s.Stacks, stack)
		}
		all := []*Profile{s.parse(t, "p")}
		if r.IntN(2) == 0 {
			a := allocating
			all = append(all, a.parse(t, "a"))
		}
		h, err := Rank(all, Options{Least: r.Float64() * 0.2, Limit: r.IntN(4), Checkout: &Checkout{Module: svc}})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, x := range h.Hotspots.Hotspots {
			sum += x.Net
			if x.Net < h.Least-1e-9 || x.Net < x.Flat-1e-9 {
				t.Errorf("%+v has less than the least share %g, or less than its own time", x, h.Least)
			}
		}
		for _, x := range h.Rest {
			sum += x.Share
		}
		if math.Abs(sum-1) > 1e-7 {
			t.Fatalf("%v\nadds up to %g: %+v %+v", s.Stacks, sum, h.Hotspots.Hotspots, h.Rest)
		}
	}
}

// TestFold: A small callee counts for its caller, which may lift that over the limit.
func TestFold(t *testing.T) {
	s := planned{Kind: CPU, Seconds: 1, Start: noon, Stacks: []string{
		"4 ex.com/svc/a.leaf@/a.go:1 ex.com/svc/a.mid@/a.go:5 ex.com/svc/a.top@/a.go:9",
		"3 ex.com/svc/a.mid@/a.go:5 ex.com/svc/a.top@/a.go:9",
		"93 ex.com/svc/a.hot@/a.go:20 ex.com/svc/a.top@/a.go:9",
	}}
	h, err := Rank([]*Profile{s.parse(t, "p")}, Options{Least: 0.05, Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, h, svc+"/a.mid"); math.Abs(got.Net-0.07) > 1e-9 || !slices.Contains(got.Callees, svc+"/a.leaf") {
		t.Errorf("%+v", got)
	}
	d, _, err := h.Why("a.leaf")
	if err != nil || len(d) != 1 || !strings.Contains(d[0].Reason, "4.00 % is below") ||
		d[0].CountsFor[0].What != svc+"/a.mid" {
		t.Errorf("%+v %v", d, err)
	}
	if d, _, err = h.Why("top"); err != nil || !strings.Contains(d[0].Reason, "have their own entry") {
		t.Errorf("%+v %v", d, err)
	}
	if _, _, err = h.Why("eaf"); err == nil || !strings.Contains(err.Error(), "in none of the profiles") {
		t.Errorf("part of a name: %v", err)
	}
}

// TestPreempted: a sample in the frame that stops a goroutine is the function's own.
func TestPreempted(t *testing.T) {
	h := ranked(t, "30 runtime.asyncPreempt@/go/preempt.s:1 ex.com/svc/a.F@/a.go:1", "70 ex.com/svc/a.F@/a.go:2")
	if got := find(t, h, svc+"/a.F"); got.Flat != 1 || got.Runtime != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSplit(t *testing.T) {
	for full, want := range map[string]symbol{
		"ex.com/svc/a.F":                                  {"ex.com/svc/a", "F", false},
		"ex.com/svc/a.F.func1":                            {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.F.func1.2":                          {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.F-range1":                           {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.F.func2-range3":                     {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.F.gowrap1":                          {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.F.deferwrap2":                       {"ex.com/svc/a", "F", true},
		"ex.com/svc/a.(*T).M":                             {"ex.com/svc/a", "T.M", false},
		"ex.com/svc/a.T.M-fm":                             {"ex.com/svc/a", "T.M", false},
		"ex.com/svc/a.(*T).M.func1":                       {"ex.com/svc/a", "T.M", true},
		"ex.com/svc/a.(*Set[...]).Add":                    {"ex.com/svc/a", "Set.Add", false},
		"ex.com/svc/a.Sum[...]":                           {"ex.com/svc/a", "Sum", false},
		"ex.com/svc/a.Sum[go.shape.int]":                  {"ex.com/svc/a", "Sum", false},
		"ex.com/svc/a.Map[ex.com/b.K[go.shape.string],b]": {"ex.com/svc/a", "Map", false},
		"ex.com/svc/a.Sum[...].func1":                     {"ex.com/svc/a", "Sum", true},
		"gopkg.in/yaml%2ev3.Unmarshal":                    {"gopkg.in/yaml.v3", "Unmarshal", false},
		"main.main":                                       {"main", "main", false},
		"runtime.memmove":                                 {"runtime", "memmove", false},
		"memeqbody":                                       {"", "memeqbody", false},
		"ex.com/svc/a.init.0":                             {"ex.com/svc/a", "init", true},
		"":                                                {"", "", false},
	} {
		if got := parseName(full); got != want {
			t.Errorf("%s: %+v, want %+v", full, got, want)
		}
	}
}

// TestWeights: instances weigh by their number, however long each was watched.
func TestWeights(t *testing.T) {
	a := planned{Kind: CPU, Seconds: 10, Start: noon, Stacks: []string{"1000 ex.com/svc/a.F@/a.go:1"}}
	b := planned{Kind: CPU, Seconds: 100, Start: noon, Stacks: []string{"10000 ex.com/svc/a.G@/a.go:1"}}
	pa, pb := a.parse(t, "a"), b.parse(t, "b")
	pa.Stands, pb.Stands = 30, 10
	h, err := Rank([]*Profile{pa, pb}, Options{Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, h, svc+"/a.F").Net; math.Abs(got-0.75) > 1e-9 || math.Abs(h.Cores-40) > 1e-9 {
		t.Errorf("30 of 40 instances have %g; %g cores", got, h.Cores)
	}
	if few := fewSamplesWarning(100); !strings.Contains(few, "by 10 points; profile 4 times") ||
		fewSamplesWarning(h.Effective) != "" {
		t.Errorf("100 samples: %q", few)
	}
	if h.Effective >= float64(h.Samples) || h.Effective <= 1000 {
		t.Errorf("%g effective samples of %d", h.Effective, h.Samples)
	}
}

// TestWindows: windows of one instance are averaged, profiles of the same time are of
// several instances.
func TestWindows(t *testing.T) {
	window := func(at time.Time) *Profile {
		p := planned{Kind: CPU, Seconds: 10, Start: at, Stacks: []string{"1000 ex.com/svc/a.F@/a.go:1"}}.parse(t,
			at.String())
		p.Group = "dir"
		return p
	}
	for _, k := range []struct {
		starts []time.Time
		cores  float64
	}{
		{[]time.Time{noon, noon.Add(time.Minute)}, 1},
		{[]time.Time{noon, noon.Add(time.Second)}, 2},
		{[]time.Time{noon, noon.Add(10 * time.Second)}, 1},
	} {
		var all []*Profile
		for _, s := range k.starts {
			all = append(all, window(s))
		}
		h, err := Rank(all, Options{Checkout: &Checkout{Module: svc}})
		if err != nil || math.Abs(h.Cores-k.cores) > 1e-9 || len(h.Warnings) == 0 {
			t.Errorf("%v: %g cores, want %g; %v", k.starts, h.Cores, k.cores, err)
		}
	}
}

// TestSkew: sources that were watched at other times are added with a warning.
func TestSkew(t *testing.T) {
	at := func(name, host string, start time.Time) *Profile {
		f := []string{"1000 ex.com/svc/a.F@/a.go:1"}
		p := planned{Kind: CPU, Seconds: 10, Start: start, Stacks: f}.parse(t, name)
		p.Instance = host
		return p
	}
	for want, all := range map[string][]*Profile{
		"each counts as an instance": {at("a", "", noon), at("b", "", noon.Add(time.Minute))},
		"a host's clock is wrong":    {at("a", "h1", noon), at("b", "h2", noon.Add(5*time.Hour))},
		"":                           {at("a", "h1", noon), at("b", "h2", noon.Add(time.Minute))},
	} {
		h, err := Rank(all, Options{Checkout: &Checkout{Module: svc}})
		if err != nil || h.Cores != 2 || !strings.Contains(strings.Join(h.Warnings, "\n"), want) ||
			want == "" && len(h.Warnings) > 0 {
			t.Errorf("want %q: %q, %g cores, %v", want, h.Warnings, h.Cores, err)
		}
	}
}

func TestMoney(t *testing.T) {
	price, _ := ParsePrice("0.10EUR")
	s := Service{Price: price, Utilisation: 0.5}
	if got := s.year(2); math.Abs(got-2/0.5*0.10*8760) > 1e-9 || price.Currency != "EUR" {
		t.Errorf("%g %+v", got, price)
	}
	for _, k := range []struct {
		s         Service
		share     float64
		want      float64
		noteOrWhy string
	}{
		{Service{Follows: "yes"}, 0.1, 100, ""},
		{Service{Follows: "no"}, 0.1, 0, "frees no machine"},
		{Service{Follows: "partly", Fraction: 0.25}, 0.1, 25, ""},
		{Service{Follows: "yes", Replicas: 3, LeastReps: 3}, 0.1, 0, "least number of replicas (3)"},
		{Service{Follows: "yes", Replicas: 10, LeastReps: 9}, 0.2, 50, "down to 9 replicas"},
		{Service{}, 0.1, 100, ""},
	} {
		got, note := k.s.saving(k.s.scaling(), k.share, 100)
		if math.Abs(got-k.want) > 1e-9 || !strings.Contains(note, k.noteOrWhy) {
			t.Errorf("%+v: %g %q, want %g", k.s, got, note, k.want)
		}
	}
	for _, bad := range []string{"", "x", "-1", "0", "NaN", "Inf", "aws/none", "1E", "5000"} {
		if p, err := ParsePrice(bad); err == nil {
			t.Errorf("price %q is taken as %+v", bad, p)
		}
	}
}
