package flow

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/store"
)

// TestMain lets benchmarks record the examples' tests in a sandbox.
func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// BenchmarkSearch says what the orchestration of whole searches costs, with
// the rules and the inputs of the examples, and candidates that are evaluated
// in no time: processor time a candidate, and how much of it goes into making
// candidates, into checking that they are Go, and into asking what can come
// next. The last runs on one processor while another times the candidates.
//
// A search takes the same way on every machine: two versions of Beagle whose searches end in states
// of the same digest have done the same.
func BenchmarkSearch(b *testing.B) {
	for _, name := range []string{"isNormalizedASCIITag", "NormalizeTagArbTagValue", "MergeTags", "Fibonacci"} {
		b.Run(name, func(b *testing.B) {
			x := observed(b, "./examples/tags."+name)
			var p paperSearch
			for b.Loop() {
				p = paperSearch{session: x.again(b)}
				p.run(b)
			}
			p.report(b)
		})
	}
}

// observed returns the session of a run that is prepared. BEAGLE_BENCH_HOME is a store that is
// kept, for two programs to start from the same inputs.
func observed(b *testing.B, target string) *session {
	b.Helper()
	home := os.Getenv("BEAGLE_BENCH_HOME")
	if home == "" {
		home = b.TempDir()
	}
	s, err := store.Open(home)
	if err != nil {
		b.Fatal(err)
	}
	acts := &Activities{Store: s}
	b.Cleanup(acts.Close)
	spec := Defaults()
	spec.Dir, spec.Target, spec.Force = "../..", target, true
	if err := spec.Anchor(); err != nil {
		b.Fatal(err)
	}
	run := beagle.HashOf("run", target)[:12]
	if _, err := acts.Prepare(b.Context(), run, spec); err != nil {
		b.Fatal(err)
	}
	x, err := acts.prepared(b.Context(), run)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// again returns a session that remembers nothing, in a store of its own. All lines of the original
// take the same time: the profile differs every time.
func (x *session) again(b *testing.B) *session {
	b.Helper()
	s, err := store.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	lock, err := s.Lock("a benchmark")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { lock.Unlock() })
	y, err := openSession(b.Context(), "again", *x.spec, s, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(y.lab.close)
	even := map[int]float64{}
	for line := range 40 {
		even[line+1] = 1.0 / 40
	}
	*y.preparer.ready = *x.preparer.ready
	y.preparer.ready.Profile = even
	y.inputs.hold(x.inputs.corpus(), 0)
	y.rewriter.weigh(y.preparer.ready)
	y.preparer.ready.Moves = y.rewriter.work.moves(y.works.root)
	return y
}

// A paperSearch evaluates candidates without building them.
type paperSearch struct {
	*session
	course                       *Course
	all, propose, reading, moves time.Duration
	proposals                    int
}

func (p *paperSearch) run(b *testing.B) {
	p.course = NewCourse(p.spec, p.preparer.ready)
	acts := &Activities{Store: p.works.store, sessions: map[string]*session{p.works.run: p.session}}
	defer clock(&p.all)()
	for !p.course.Done() {
		draft := p.draft(b, acts)
		evaluated := new(EvaluatedBatch)
		for _, id := range draft.Candidates() {
			o := p.judge(b, id)
			evaluated.Candidates = append(evaluated.Candidates, o)
			if err := p.works.putVerdict(o); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.course.Tell(p.spec, draft, evaluated, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// draft fills a batch, as the driver does.
func (p *paperSearch) draft(b *testing.B, acts *Activities) *Draft {
	defer clock(&p.propose)()
	draft := new(Draft)
	for range MaxRefills {
		asked := p.course.Search.Ask(p.spec.Batch - len(draft.Made))
		if len(asked) == 0 {
			break
		}
		p.proposals += len(asked)
		fresh, err := acts.Propose(b.Context(), p.works.run, asked)
		if err != nil {
			b.Fatal(err)
		}
		draft.Take(p.course, asked, fresh)
	}
	return draft
}

// judge makes a verdict up, and finds the moves of a candidate that behaves.
func (p *paperSearch) judge(b *testing.B, id string) Evaluation {
	c, err := p.works.candidate(id)
	if err != nil {
		b.Fatal(err)
	}
	o := Evaluation{Candidate: id, Parents: c.Parents, Steps: c.Steps}
	o.Verdict = p.invent(c)
	if o.Verdict.OK() {
		defer clock(&p.moves)()
		o.Moves = p.rewriter.work.moves(c)
	}
	return o
}

// invent gives every rewrite a gain of its own; one in ten breaks the function,
// and one in ten candidates is compiled to what another was.
func (p *paperSearch) invent(c beagle.Candidate) beagle.Verdict {
	defer clock(&p.reading)()
	v := beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Stage: "screen"}
	if _, problem := p.unit.Reader.Parse(c.Source); problem != nil {
		v.Status, v.Stage, v.Reason = beagle.Invalid, problem.Stage, problem.Message
		return v
	}
	log := 0.0
	for _, st := range c.Steps {
		n := number(st.Mutator)
		if n%10 == 0 {
			v.Status, v.Stage = beagle.Wrong, "replay"
			return v
		}
		log += 0.08 * math.Sin(float64(n%1000))
	}
	if number(c.ID)%10 == 0 {
		v.Status, v.Stage = beagle.Duplicate, "compile"
		return v
	}
	point := math.Exp(log)
	v.Screen = &beagle.Ratio{Point: point, Low: point * 0.99, High: point * 1.01}
	return v
}

func number(text string) uint64 {
	return binary.LittleEndian.Uint64([]byte(beagle.HashOf("number", text)))
}

func (p *paperSearch) report(b *testing.B) {
	state, err := json.Marshal(p.course.Search)
	if err != nil {
		b.Fatal(err)
	}
	n := float64(p.course.Search.Spent)
	b.Logf("%d proposals, %v candidates; state %s", p.proposals, n, beagle.HashOf("state", json.RawMessage(state))[:12])
	for _, m := range []struct {
		took time.Duration
		unit string
	}{{p.all, "cpu-ms/candidate"}, {p.propose, "propose-ms/candidate"}, {p.reading, "reading-ms/candidate"},
		{p.moves, "moves-ms/candidate"}} {
		b.ReportMetric(m.took.Seconds()*1000/n, m.unit)
	}
}

// clock adds the processor time of this process until it is called, the
// collector included.
func clock(sum *time.Duration) (stop func()) {
	began := rt.ProcessCPU()
	return func() { *sum += rt.ProcessCPU() - began }
}
