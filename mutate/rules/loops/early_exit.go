package loops

import (
	_ "embed"
	"iter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
)

//go:embed early_exit.go
var earlyExitSource string

// earlyExit (catalogue L9) matches a loop that only sets a flag if a pure condition holds. It
// leaves the loop once the flag is set.
var earlyExit = example.Rule{
	Name: "early-exit",
	Doc: "Leave a loop as soon as its answer is known. Legal because the rest of the loop could only set the flag " +
		"once more: its condition has no effects and cannot panic.",
	Class:  beagle.E0,
	Gain:   1.5,
	Source: earlyExitSource,
	Pairs: []example.Pair{
		{Before: answerAtEnd[int, string, bool], After: answerAtOnce[int, string, bool]},
		{Before: flagToEnd[int, string, bool], After: flagOnce[int, string, bool]},
	},
	Guard: func(m *example.Match) bool {
		return m.IsConstant("yes") && m.IsConstant("no") && facts.Quiet(m.Pass, m.Code("hit"), m.Loop())
	},
	Label: func(m *example.Match) string { return "loop that sets " + m.Local("flag").Name() },
}.Mutator()

func answerAtEnd[K, V, A any](loop iter.Seq2[K, V], no, yes A, hit func(K, V) bool) A {
	flag := no
	for k, v := range loop {
		if hit(k, v) {
			flag = yes
		}
	}
	return flag
}

func answerAtOnce[K, V, A any](loop iter.Seq2[K, V], no, yes A, hit func(K, V) bool) A {
	for k, v := range loop {
		if hit(k, v) {
			return yes
		}
	}
	return no
}

func flagToEnd[K, V, A any](loop iter.Seq2[K, V], flag, yes A, hit func(K, V) bool) A {
	for k, v := range loop {
		if hit(k, v) {
			flag = yes
		}
	}
	return flag
}

func flagOnce[K, V, A any](loop iter.Seq2[K, V], flag, yes A, hit func(K, V) bool) A {
	for k, v := range loop {
		if hit(k, v) {
			flag = yes
			break
		}
	}
	return flag
}
