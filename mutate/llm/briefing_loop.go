package llm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A loop is a piece of a function's code that a jump at its end repeats.
type loop struct {
	code  []Instruction
	share float64 // of the profile, on its lines
}

// hotLoop finds the loop in which a version spends its time. That is the loop with the largest
// share; of nested loops, it is the innermost one that still holds most of the share. ok is false
// if there is no loop, or if no profile shows that it is hot.
func hotLoop(v *Version) (best loop, ok bool) {
	for _, l := range loops(v) {
		switch {
		case !ok, l.share > best.share && !isWithin(best, l), l.share >= 0.6*best.share && isWithin(l, best):
			best, ok = l, l.share > 0 || ok
		}
	}
	return best, ok && best.share > 0
}

func isWithin(inner, outer loop) bool {
	a, b := inner.code, outer.code
	return a[0].Func == b[0].Func && a[0].PC >= b[0].PC && a[len(a)-1].PC <= b[len(b)-1].PC && len(a) < len(b)
}

// loops lists every span from the target of a backward jump to the last jump that leads there.
func loops(v *Version) []loop {
	var out []loop
	for _, code := range functions(v.Assembly) {
		at := map[int]int{}
		for i, in := range code {
			at[in.PC] = i
		}
		end := map[int]int{}
		for i, in := range code {
			if goal, jumps := jumpGoal(in.Text); jumps && goal <= in.PC {
				if start, known := at[goal]; known {
					end[start] = max(end[start], i)
				}
			}
		}
		for start := range code {
			if last, ok := end[start]; ok {
				out = append(out, newLoop(code[start:last+1], v.Profile))
			}
		}
	}
	return out
}

func newLoop(code []Instruction, profile map[int]float64) loop {
	l := loop{code: code}
	seen := map[int]bool{}
	for _, in := range code {
		if in.Line > 0 && !seen[in.Line] {
			seen[in.Line] = true
			l.share += profile[in.Line]
		}
	}
	return l
}

// functions splits instructions by function.
func functions(all []Instruction) [][]Instruction {
	var out [][]Instruction
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].Func == all[i].Func && all[j].PC > all[j-1].PC {
			j++
		}
		out = append(out, all[i:j])
		i = j
	}
	return out
}

// jump matches the jumps of amd64 and arm64 whose target is an offset.
var jump = regexp.MustCompile(`^(?:J[A-Z]+|B|B[A-Z]{2}|T?BNZ|T?BZ|CBN?ZW?|TBN?Z)\s(?:.*[,\s])?(\d+)$`)

func jumpGoal(text string) (goal int, ok bool) {
	m := jump.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	goal, err := strconv.Atoi(m[1])
	return goal, err == nil
}

// LoopInWords shows the hot loop, or says that it does not fit into limit bytes. It returns "" if
// there is none.
func LoopInWords(v *Version, limit int) string {
	l, ok := hotLoop(v)
	if !ok {
		return ""
	}
	panics := panicGoals(v.Assembly, l.code[0].Func)
	checks := 0
	var b strings.Builder
	for _, in := range l.code {
		fmt.Fprintf(&b, "%5d  %-8s %s", in.PC, lineMark(in.Line), OneLine(in.Text))
		if goal, jumps := jumpGoal(in.Text); jumps && panics[goal] != "" {
			checks++
			fmt.Fprintf(&b, "    ; to %s", panics[goal])
		}
		b.WriteByte('\n')
	}
	head := fmt.Sprintf("%s, %s of the time, %d instructions, %d of them branches to a panic (offset, line, "+
		"instruction):\n",
		word(l.code[0].Func), percent(l.share), len(l.code), checks)
	if body := head + Block("asm", b.String()); len(body) <= limit {
		return body
	}
	short := strings.TrimSuffix(head, " (offset, line, instruction):\n") + "; it is too long to be shown.\n"
	if len(short) > limit {
		return ""
	}
	return short
}

func lineMark(line int) string {
	if line == 0 {
		return ""
	}
	return "line " + strconv.Itoa(line)
}

// panicGoals returns the offsets in a function that lead only to the call of a runtime panic.
func panicGoals(all []Instruction, name string) map[int]string {
	const near = 4 // instructions that prepare the call
	out := map[int]string{}
	for _, code := range functions(all) {
		if code[0].Func != name {
			continue
		}
		for i := range code {
			for j := i; j < min(i+near, len(code)); j++ {
				called, calls := strings.CutPrefix(code[j].Text, "CALL runtime.panic")
				if calls {
					out[code[i].PC] = "runtime.panic" + strings.TrimSuffix(called, "(SB)")
				}
				if _, jumps := jumpGoal(code[j].Text); calls || jumps || strings.HasPrefix(code[j].Text, "RET") ||
					strings.HasPrefix(code[j].Text, "CALL") {
					break
				}
			}
		}
	}
	return out
}
