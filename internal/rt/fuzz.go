package rt

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strconv"
)

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

// The environment of a fuzz run.
const (
	FuzzSeeds  = "BEAGLE_SEEDS"   // record file with the seeds
	FuzzPanics = "BEAGLE_PANICS"  // how panics compare
	FuzzCap    = "BEAGLE_CAP"     // leave out larger numbers: the original is too slow for them
	FuzzCapLen = "BEAGLE_CAP_LEN" // leave out longer sequences
)

// FuzzTarget is the body of the generated FuzzBeagle. It adds seeds and passes
// the comparison of one input to fuzz, which is f.Fuzz with the types that rt
// cannot name. Variants[0] is the original, Variants[1] the candidate.
func FuzzTarget[A, R any](f FuzzF, h *Harness[A, R], fuzz func(run func(t FuzzT, data []byte))) {
	f.Helper()
	c := newChecker(watched(h), 1, os.Getenv(FuzzPanics))
	c.free = true
	if path := os.Getenv(FuzzSeeds); path != "" {
		list, _, err := LoadArgs[A](path, h.Types)
		if err != nil {
			f.Fatalf("seeds: %v", err)
		}
		for i := range list {
			f.Add(ToBytes(&list[i], h.Types))
		}
	}
	cap, capLen := limitFrom(FuzzCap, math.MaxInt64), int(limitFrom(FuzzCapLen, math.MaxInt))
	n := 0
	fuzz(func(t FuzzT, data []byte) {
		n++
		a := new(A)
		if !FromBytes(data, a, h.Types) || !within(reflect.ValueOf(a).Elem(), cap, capLen) {
			t.Skip()
			return
		}
		if d := c.smaller(c.compare(n&(1<<caseShift-1), a)); d != nil {
			out, _ := json.Marshal(d)
			t.Fatalf("\n%s%s\n", BarkPrefix, out)
		}
	})
}

func limitFrom(name string, none int64) int64 {
	n, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		return none
	}
	return n
}
