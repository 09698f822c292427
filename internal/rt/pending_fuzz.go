package rt

// FuzzF is what FuzzTarget needs of a *testing.F; rt does not import testing.
type FuzzF interface {
	Add(args ...any)
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// FuzzT is what a fuzz run needs of a *testing.T.
type FuzzT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Skip(args ...any)
}

// FuzzTarget is the body of the generated FuzzBeagle. It adds seeds and passes
// the comparison of one input to fuzz, which is f.Fuzz with the types that rt
// cannot name. Variants[0] is the original, Variants[1] the candidate.
func FuzzTarget[A, R any](f FuzzF, h *Harness[A, R], fuzz func(run func(t FuzzT, data []byte))) {
	f.Fatalf("fuzzing is not built in")
}
