package llm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// captured returns a briefing with a captured text in every place that can hold one: quoted and
// bare, in values, panics, errors, reasons and steps.
func captured(t testing.TB, kind Kind, text string) *Briefing {
	e := validator(t)
	e.Kind, e.Redact, e.Lessons = kind, true, nil
	e.Facets.Params[0].Top = []beagle.TopValue{{Value: fmt.Sprintf("%q", text), Share: 0.5}, {Value: text, Share: 0.3}}
	e.Tried = nil
	for i, ends := range []string{
		"panic: string: on the list: " + text, "panic: *errors.errorString: " + text + ": no such thing", "panic: " + text, "panic: " + text + ": " + text,
		fmt.Sprintf("returns %q, errors.New(%q)", text, text), "returns " + text,
		fmt.Sprintf("leaves the arguments as []string{%q}", text),
		"it used up the memory: " + text, "'" + text + "'", "\"" + text, "the process died: panic: " + text,
	} {
		e.Tried = append(e.Tried, Attempt{
			Status: beagle.Wrong, Stage: "quick",
			Reason: fmt.Sprintf("%s %d: %s, %q, '%s', %s", ends, i, text, text, text, ends),
			Steps:  []beagle.Step{{Mutator: "specialise-value", Param: fmt.Sprintf("%q", text), Site: text}},
			Counterexample: &beagle.Counterexample{
				Kind: "panic",
				Go:   fmt.Sprintf("f(%q, '%s', `%s`)", text, text, text),
				Want: ends,
				Got:  ends,
			},
		})
	}
	e.Failure = &Failure{Policy: e.Tried[0].Reason, Counterexample: e.Tried[1].Counterexample}
	return e
}

func letters(s string) bool {
	return len(s) >= 4 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// FuzzRedactedPrompt checks that no redacted prompt or verdict holds a captured text of four or
// more letters that the source lacks. Words of Beagle's own messages reveal nothing, so they may
// appear.
func FuzzRedactedPrompt(f *testing.F) {
	for _, s := range []string{"UrsulaMeierhofer", "hunter", "Ursula", "abcd", "ZZZZ", "deadbeef"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !letters(text) {
			return
		}
		for _, kind := range []Kind{Improve, Repair} {
			p, without := Compose(captured(t, kind, text), DefaultLimits(), 1),
				Compose(captured(t, kind, "Qqqq"), DefaultLimits(), 1)
			if !vocabulary()[strings.ToLower(text)] && strings.Contains(p.User, text) &&
				!strings.Contains(without.User, text) {
				t.Fatalf("%q is in the prompt:\n%s", text, p.User)
			}
		}
		if vocabulary()[strings.ToLower(text)] {
			return
		}
		for _, a := range captured(t, Improve, text).Tried {
			v := RedactVerdict(&beagle.Verdict{Reason: a.Reason, Counterexample: a.Counterexample,
				Warnings: []string{a.Reason}, Checks: []beagle.CheckResult{{Note: a.Reason}}}, nil)
			if said := fmt.Sprint(v.Reason, *v.Counterexample, v.Checks, v.Warnings); strings.Contains(said,
				" "+text) || strings.Contains(said, text+" ") {
				t.Fatalf("%q is in the verdict: %s", text, said)
			}
		}
	})
}

// TestRedactedCall checks that small numbers that count things stay, and that numbers next to
// others go, since they are parts of a value. A reason that shows a call quotes values, however
// small.
func TestRedactedCall(t *testing.T) {
	target := &beagle.Target{Name: "Fib", Source: "package p; func Fib(n int) int"}
	for _, said := range []string{"Fib(7) panics (index out of range), want 3", "Fib(9): it does not return",
		`Fib(1) = strings.Repeat("x", 12), want 8`} {
		if got := RedactText(said, target); strings.ContainsAny(got, "0123456789") && !strings.Contains(got, "digits") {
			t.Errorf("%s is shown as %s", said, got)
		} else if strings.Contains(got, "(7)") || strings.Contains(got, "(9)") || strings.Contains(got, " 8") {
			t.Errorf("%s is shown as %s", said, got)
		}
	}
}

func TestRedactedNumbers(t *testing.T) {
	for said, want := range map[string]string{
		"bad address 10.12.1.99 at line 3": "bad address numbers at line 3", "24-12-85": "numbers", "12 34 56 78 90": "numbers", "98.6": "numbers", "-73.98": "-numbers",
		"[]int{4, 7, 1, 1}": "[]int{numbers}", "[][]int{{4}, {7}}": "[][]int{{numbers}}", "12\t34": "numbers", "4711": "integer(4 digits)", "10 to 30 of 5, in 15ms": "10 to 30 of 5, in 15ms",
		"line 3\n7 of 12": "line 3\n7 of 12", `1 "a" 2`: `integer(1 digits) text(1 bytes: lower case) integer(1 digits)`, "12.": "12.", "7": "7",
		`returns "secret", 42`: "returns text(6 bytes: lower case), integer(2 digits)", "Ursula is 42": "(withheld) is integer(2 digits)", "42 in Ursula": "integer(2 digits) in (withheld)",
		"returns 4711 and 42": "returns integer(4 digits) and integer(2 digits)", "after 15ms in Ursula": "after integer(2 digits) in (withheld)", "7 in panic: string: Ursula": "integer(1 digits) in panic: string",
		`prod.jsonl:3: "secret"`: "prod.jsonl:3: text(6 bytes: lower case)", "line 4: Ursula in 7": "line 4: (withheld) in integer(1 digits)", "line 4711 is 7 of 12": "line integer(4 digits) is integer(1 digits) of integer(2 digits)",
	} {
		if got := RedactText(said, nil,
			"bad address at line int of in to returns is and after prod.jsonl"); got != want {
			t.Errorf("%q: %q, not %q", said, got, want)
		}
	}
	if got := newRedactor(nil, "line of").value(`"line 42 of`); got != `"line integer(2 digits) of` {
		t.Errorf("a value that was cut off: %q", got)
	}
}

// TestLeaksCompareValues checks that Leaks finds a captured value however a version spells it.
func TestLeaksCompareValues(t *testing.T) {
	for value, spelled := range map[string][]string{
		"4096":                    {"n == 4096", "n == 4_096", "n == 0x1000", "n == 1<<12", "n == 0b1000000000000", "n == 0o10000", "n == 8*512", "n == 4095+1", "n == int('\\u1000')"},
		"-4096":                   {"n == -4096", "n == -0x1000"},
		"2.5":                     {"f(2.5)", "f(25e-1)", "f(5.0/2)"},
		`"secret"`:                {`s == "secret"`, "s == `secret`", `s == "sec"+"ret"`, `s == "\x73ecret"`, `s[:3] == "sec" && s[3:] == "ret"`, `s[0] == 's' && s[1] == 'e' && s[2] == 'c' && s[3] == 'r' && s[4] == 'e' && s[5] == 't'`, `string([]byte{115, 101, 99, 114, 101, 116}) == s`, "load(s) == 0x746572636573", "load(s) == 0x736563726574"},
		`[]string{"a", "secret"}`: {`s == "secret"`},
	} {
		e := &Briefing{Redact: true, Target: &beagle.Target{
			Source: "package p\n\nfunc F(s string, n int) bool { return s == \"other\" && n == 512 }\n",
		}}
		e.Facets = &beagle.Facets{Params: []beagle.ParamFacet{{Top: []beagle.TopValue{{Value: value}}}}}
		for _, condition := range spelled {
			if !e.Leaks("package p\n\nfunc F(s string, n int) bool { return " + condition + " }\n") {
				t.Errorf("%s is not found in %s", value, condition)
			}
		}
		for _, harmless := range []string{"n == 512", `s == "other"`, "n == 12", "n < 100_000", `s == "sect"`,
			"len(s) == 1<<3"} {
			if e.Leaks("package p\n\nfunc F(s string, n int) bool { return " + harmless + " }\n") {
				t.Errorf("%s is found in %s", value, harmless)
			}
		}
	}
}

// FuzzLeaks checks that the search of a version ends, whatever the version is.
func FuzzLeaks(f *testing.F) {
	f.Add("package p\n\nvar x = 1 << 63 << 63 << 63 / 0 % 0.5 &^ 1e999999")
	f.Add("package p\n\nvar x = 1e99999 * 1e99999 + '\\xff' - `a`")
	f.Fuzz(func(t *testing.T, source string) {
		e := &Briefing{Redact: true, Facets: &beagle.Facets{
			Params: []beagle.ParamFacet{{Top: []beagle.TopValue{{Value: "4096"}}}},
		}}
		e.Leaks(source)
	})
}
