package mcp

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// stages describe the checks in their order.
var stages = []struct{ name, is string }{
	{"propose", "What the search has had before is not judged again."},
	{"parse", "The file must be Go and declare the function again in the same package."},
	{"types", "The file must type-check in place of the original."},
	{"scope",
		"A version may change the function, but not its signature, and the helpers that only it uses; it may declare " +
			"and import no more than they need."},
	{"policy",
		"The text may use nothing that reaches out of the function or keeps something between calls, as far as the " +
			"original does not."},
	{"compile", "The compiler must take it."},
	{"start", "A program must start with it, about as fast and as small as with the original."},
	{"quick", "Recorded calls, short inputs and fuzzed ones are given to both versions."},
	{"calls",
		"In place: the package's own tests call the version on copies beside the original, and all that a caller can " +
			"see is compared."},
	{"tests",
		"In place: the package's own tests run with the version in the original's place; each must end as before and " +
			"print the same."},
	{"replay",
		"The recorded calls are given to both versions, repeated and shuffled; all that a caller can see is compared."},
	{"holdout", "So are recorded calls that were held back: no rewrite, model or agent was shown them."},
	{"generated", "So are inputs that are made from the types, and inputs at which earlier versions fell."},
	{"threads", "Both versions are called from several goroutines at once."},
	{"state",
		"In processes that saw no input yet, the version is called with memory that gets other content, with equal " +
			"inputs in other memory, from several goroutines, and very often: it may keep nothing between calls."},
	{"exhaust",
		"Every short input over a boundary alphabet, every length up to some hundred, and every byte value at " +
			"telling places is given to both versions."},
	{"growth",
		"Recorded inputs are stretched 2 to 256 times: the version's time may not grow faster than the original's."},
	{"machines",
		"Both versions are compared as programs for 386, where an int has 32 bits, and for other machines whose " +
			"emulator is installed."},
	{"fuzz", "A search guided by the branches and comparisons of both versions looks for inputs on which they differ."},
	{"proof",
		"A solver searches an input on which the versions differ, for texts and lists up to some length; Go code " +
			"tries its answer."},
	{"untested",
		"A statement that no input of any check reaches may only change together with one that some input reaches."},
	{"race", "The version runs under the race detector."},
	{"screen",
		"A search times a version beside the original for some milliseconds, on the common kinds of inputs too, " +
			"before it builds on it."},
	{"measure", "Both versions are timed in alternating slices over several layouts of the program."},
}

// advice names the next step after each status.
var advice = map[beagle.Status]string{
	beagle.Invalid: "Hand in the whole file again without the mistake. describe_target gives the original in the " +
		"form that is wanted.",
	beagle.Forbidden: "Do without it. Tables are allowed when their own declaration fills them and nothing changes " +
		"them; state between calls, goroutines, and constants copied from inputs are not.",
	beagle.Wrong: "Run the counterexample through your version by hand, and find the kind of input that it stands " +
		"for; mend the kind, not the case. The safe form of a fast path is a guard that leaves other inputs to the " +
		"original's code.",
	beagle.Crashed: "The process died: memory without bound, a forbidden system call, a fatal error or a stack " +
		"without end. Look at lengths and recursion on large and odd inputs.",
	beagle.Hung: "It did not return in time on some input: look for a loop that does not advance, or work that " +
		"grows faster than the original's.",
	beagle.Failed: "The judge itself failed on this version, which says nothing about the version. Report it to the " +
		"user; try another form of the same idea.",
	beagle.Duplicate: "It compiles to the same machine code as a version that was judged before. Change what the " +
		"program does, not how it is written.",
	beagle.Equal: "It behaves the same on all inputs tried, and its gain is within the noise. Look at the hot lines " +
		"and the hot loop again: the compiler may have made the same code already, or the cost lies elsewhere.",
	beagle.Accepted: "Nothing speaks against it.",
}

// Explain puts a verdict into words.
func Explain(v *beagle.Verdict) *Explained {
	out := &Explained{Status: string(v.Status), Stage: v.Stage}
	var b strings.Builder
	fmt.Fprintf(&b, "%s by the check %q", v.Status, v.Stage)
	if v.Reason != "" {
		fmt.Fprintf(&b, ": %s", llm.Clean(v.Reason))
	}
	b.WriteString(".\n")
	for _, s := range stages {
		if s.name == v.Stage {
			b.WriteString(s.is + "\n")
		}
	}
	b.WriteString(advice[v.Status] + "\n")
	out.Explanation = b.String()
	if x := v.Counterexample; x != nil {
		out.Counterexample = &Counterexample{Call: x.Go, Want: x.Want, Got: x.Got, Kind: x.Kind, Test: x.Test}
	}
	return out
}

// verdictInWords words an evaluation for an agent.
func verdictInWords(e *Evaluation) string {
	v := &e.Verdict
	// Begin with the verdict and its reason.
	var b strings.Builder
	fmt.Fprintf(&b, "%s (evaluation %s)", v.Status, e.ID)
	if v.Reason != "" {
		fmt.Fprintf(&b, ": %s", llm.OneLine(v.Reason))
	}
	b.WriteString("\n")
	// List the checks, and the input at which the version fell.
	for _, k := range v.Checks {
		mark := "passed"
		if !k.Passed {
			mark = "FAILED"
		}
		fmt.Fprintf(&b, "- %s %s on %d inputs", k.Name, mark, k.Cases)
		if k.Note != "" {
			b.WriteString(" (" + llm.OneLine(k.Note) + ")")
		}
		b.WriteString("\n")
	}
	b.WriteString(counterexampleInWords(v.Counterexample))
	// Add its speed, the warnings, and what to do next.
	if m := v.Final; m != nil {
		fmt.Fprintf(&b, "Speed: %s as fast as the original; allocations %.3g -> %.3g a call.\n",
			ratioInWords(m.Corrected), m.Baseline.Allocs, m.Best.Allocs)
		if m.Holdout != nil {
			fmt.Fprintf(&b, "On held-out inputs: %s.\n", ratioInWords(*m.Holdout))
		}
	}
	for _, w := range v.Warnings {
		b.WriteString("Note: " + llm.OneLine(w) + "\n")
	}
	if v.Status != beagle.Accepted {
		b.WriteString(advice[v.Status] + "\n")
	}
	return b.String()
}

// counterexampleInWords shows an input that tells the versions apart, as data.
func counterexampleInWords(x *beagle.Counterexample) string {
	if x == nil {
		return ""
	}
	text := fmt.Sprintf("call:      %s\noriginal:  %s\ncandidate: %s", x.Go, x.Want, x.Got)
	out := fmt.Sprintf("Counterexample (%s):\n%s", llm.OneLine(x.Kind), llm.Block("text", llm.Clean(text)))
	if x.Test != "" {
		out += "As a test:\n" + llm.Block("go", x.Test)
	}
	return out
}

func ratioInWords(r beagle.Ratio) string {
	return fmt.Sprintf("%.2fx (95 %%: %.2f to %.2f)", r.Point, r.Low, r.High)
}
