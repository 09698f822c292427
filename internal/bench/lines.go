package bench

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// base is a symbol's name without the suffix that variants carry, and the
// variant's index, -1 for none. "pkg.(*T).F__b3.func1" is "pkg.(*T).F.func1", 3.
func base(symbol string) (name string, variant int) {
	i := strings.Index(symbol, "__b")
	if i < 0 {
		return symbol, -1
	}
	end := i + len("__b")
	for end < len(symbol) && '0' <= symbol[end] && symbol[end] <= '9' {
		end++
	}
	if _, err := fmt.Sscanf(symbol[i+len("__b"):end], "%d", &variant); err != nil {
		return symbol, -1
	}
	return symbol[:i] + symbol[end:], variant
}

// LineShares is the share of the time by line of version 0 in a CPU profile.
func LineShares(data []byte) (map[int]float64, error) {
	lines, _, err := lineShares(data, 0)
	return lines, err
}

// FileShares is LineShares for code that runs where the user wrote it: place gives the line of the
// source that a line of a function of the program stands for, and 0 for none.
func FileShares(data []byte, place func(function, file string, line int) int) (map[int]float64, error) {
	lines, _, err := sharesBy(data, func(s *profile.Sample) int {
		for _, loc := range s.Location {
			for _, l := range loc.Line {
				if at := place(l.Function.Name, l.Function.Filename, int(l.Line)); at > 0 {
					return at
				}
			}
		}
		return 0
	})
	return lines, err
}

// lineShares reads, from a CPU profile of a variant, the share of the time that
// each line of its source took, callees outside the scope included: a sample
// counts for the innermost line of the scope on its stack. It returns the number
// of samples that it counted as well.
func lineShares(data []byte, variant int) (map[int]float64, int, error) {
	return sharesBy(data, func(s *profile.Sample) int { return innermost(s, variant) })
}

// sharesBy shares the time out among the lines to which samples belong; 0 is none.
func sharesBy(data []byte, at func(*profile.Sample) int) (map[int]float64, int, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, 0, fmt.Errorf("the harness's CPU profile: %w", err)
	}
	lines, total, samples := map[int]float64{}, 0.0, 0
	for _, s := range p.Sample {
		if line := at(s); line > 0 {
			samples += int(s.Value[0])
			weight := float64(s.Value[0])
			lines[line] += weight
			total += weight
		}
	}
	for l := range lines {
		lines[l] /= total
	}
	return lines, samples, nil
}

// innermost is the line of the first frame, from the leaf, that belongs to
// the variant; the shim's own functions are not the target's.
func innermost(s *profile.Sample, variant int) int {
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if name, v := base(l.Function.Name); v == variant && !isShim(name) {
				return int(l.Line)
			}
		}
	}
	return 0
}

func isShim(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasPrefix(last, "beagle")
}
