package hotspots

import (
	"cmp"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A habit is a way to spend time that a rewrite of one function does not cure.
type habit struct {
	kind  string
	marks marks
	least float64 // share of the CPU profile from which on it is worth a word
	text  string
}

var habits = []habit{
	{"contention", locks, 0.02, "waits for locks: hold them for less, split them, or let each processor have " +
		"its own part"},
	{"channels", hands, 0.03, "hands items over by channel one at a time: send slices of items"},
	{"logging", logs, 0.03, "logs: leave lines out on the hot path, ask for the level first, or sample"},
	{"syscalls", calls, 0.05, "spends this in system calls: where that is one for each message, buffer, or send " +
		"and receive several at once"},
}

const (
	maxAdvice = 3 // functions of a kind
	leastSeen = 5 // samples, or waits: fewer are chance
)

// advise lists the profiles' hints for a person, beyond a rewrite of one function.
func (t *Table) advise() []beagle.ProfileAdvice {
	var out []beagle.ProfileAdvice
	cpu := t.others[CPU]
	if t.Kind == CPU {
		cpu = t.ranking.m
	}
	if cpu != nil && cpu.total > 0 {
		for _, h := range habits {
			out = append(out, causes(cpu, h.kind, "cpu", h.least, h.text,
				func(s *stack) bool { return s.has(h.marks) })...)
		}
	}
	for _, kind := range []string{Mutex, Block} {
		m := t.others[kind]
		if t.Kind == kind {
			m = t.ranking.m
		}
		if m == nil || m.total <= 0 {
			continue
		}
		out = append(out, waits(m)...)
	}
	return out
}

// causes returns the own functions nearest to stacks of a kind, the most expensive first.
func causes(m *merged, kind, of string, least float64, text string, match func(*stack) bool) []beagle.ProfileAdvice {
	by, counts := map[*function]float64{}, map[*function]int64{}
	for _, s := range m.stacks {
		if s.weight == 0 || !match(s) {
			continue
		}
		for _, f := range s.frames {
			if f.fn.class == own {
				by[f.fn] += s.weight
				counts[f.fn] += s.count
				break
			}
		}
	}
	var out []beagle.ProfileAdvice
	for f, v := range by {
		if v >= least*m.total && counts[f] >= leastSeen {
			out = append(out, beagle.ProfileAdvice{Kind: kind, Function: f.key, Share: tidy(v / m.total), Of: of,
				Text: text})
		}
	}
	inorder.By(out, func(a, b beagle.ProfileAdvice) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Function, b.Function))
	})
	return out[:min(maxAdvice, len(out))]
}

// waits returns the own functions that let others wait, or wait. Waiting for work is no fault, so
// of a block profile only locks count.
func waits(m *merged) []beagle.ProfileAdvice {
	const least = 0.05 // seconds a second: shorter waits do not matter
	if m.unit == "seconds of waiting a second" && m.total < least {
		return nil
	}
	text := "holds a lock for which others wait: hold it for less, split it, or read without it"
	if m.kind == Block {
		text = "waits for a lock: see the mutex profile for its holders"
	}
	text += fmt.Sprintf(" (%.3g %s in all)", m.total, m.unit)
	return causes(m, "contention", m.kind, 0.1, text, func(s *stack) bool {
		return m.kind == Mutex || s.has(locks)
	})
}
