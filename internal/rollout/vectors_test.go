package rollout

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// near reports whether two numbers agree to a relative 1e-9.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*math.Max(1e-3, math.Max(math.Abs(a), math.Abs(b)))
}

// vectors are results of other programs; testdata/oracles names them.
type vectors struct {
	Sequence []struct{ N, Mean, Variance, Alpha, Tuning, Rho, Half, P float64 }
	Ratio    []struct {
		Counts, Weights []float64
		LogE            float64 `json:"log_e"`
	}
	Student []struct{ T, Freedom, P float64 }
	Signs   []struct {
		Worse, Better int
		LogE          float64 `json:"log_e"`
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Sequence) < 20 || len(v.Ratio) < 5 || len(v.Student) < 10 || len(v.Signs) < 5 {
		t.Fatal("vectors.json lacks vectors")
	}
	return v
}

func TestSequenceVectors(t *testing.T) {
	for _, v := range readVectors(t).Sequence {
		rho := tuning(v.Alpha, v.Tuning)
		if !near(rho, v.Rho) {
			t.Errorf("tuning(%g, %g) = %.12g, gbstats has %.12g", v.Alpha, v.Tuning, rho, v.Rho)
		}
		if half := halfWidth(v.N, v.Variance, rho, v.Alpha); !near(half, v.Half) {
			t.Errorf("halfWidth(%+v) = %.12g", v, half)
		}
		// The p-value knows no level, but its rho does.
		if p := pValue(v.N, v.Mean, v.Variance, rho); !near(p, v.P) {
			t.Errorf("PValue(%+v) = %.12g", v, p)
		}
	}
}

func TestConfseqVectors(t *testing.T) {
	file, err := os.Open("testdata/confseq.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var alpha, v, bound float64
		if _, err := fmt.Sscan(lines.Text(), &alpha, &v, &bound); err != nil {
			t.Fatal(err)
		}
		if half := halfWidth(v, 1, tuning(alpha, 1000), alpha); !near(half, bound/v) {
			t.Errorf("halfWidth at %g, alpha %g = %.12g, confseq has %.12g", v, alpha, half, bound/v)
		}
	}
	if n < 20 {
		t.Errorf("only %d vectors", n)
	}
}

func TestRatioVectors(t *testing.T) {
	for _, v := range readVectors(t).Ratio {
		counts, weights := map[Arm]float64{}, map[Arm]float64{}
		for i := range v.Counts {
			counts[allArms[i]], weights[allArms[i]] = v.Counts[i], v.Weights[i]
		}
		var m Mismatch
		m.add(counts, weights)
		if !near(m.LogE, v.LogE) {
			t.Errorf("Mismatch(%v, %v) = %.12g, scipy has %.12g", v.Counts, v.Weights, m.LogE, v.LogE)
		}
	}
}

func TestOtherVectors(t *testing.T) {
	v := readVectors(t)
	for _, s := range v.Student {
		if p := studentBelow(s.T, s.Freedom); !near(p, s.P) {
			t.Errorf("studentBelow(%g, %g) = %.12g, scipy has %.12g", s.T, s.Freedom, p, s.P)
		}
	}
	for _, s := range v.Signs {
		if e := (signs{s.Worse, s.Better}).logE(); !near(e, s.LogE) {
			t.Errorf("signs{%d, %d}.logE() = %.12g, scipy has %.12g", s.Worse, s.Better, e, s.LogE)
		}
	}
}
