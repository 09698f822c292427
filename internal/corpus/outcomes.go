package corpus

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// Alike draws n fresh inputs whose outcomes are those of the training records, in the same shares:
// a text with a grammar that is varied letter by letter is mostly an error, and a version would be
// measured on its error path. The original runs on more inputs than are wanted, and of each class
// of outcomes as many are kept as its share asks for. All keep to the contract. told says in words
// what could not be matched; it is empty when all was.
func Alike(
	ctx context.Context, u *source.Unit, b *harness.Builder, box *sandbox.Sandbox, c *beagle.Corpus, n int, seed uint64,
) (fresh []beagle.Record, told string, err error) {
	bin, err := b.Build(ctx, harness.Versions(&u.Target), harness.Link{})
	if err != nil {
		return nil, "", err
	}
	defer bin.Remove()
	m := &maker{u: u, bin: bin, box: box}
	seen, want, err := m.sortedByOutcome(ctx, c.Train)
	if err != nil {
		return nil, "", err
	}
	made, err := m.filterByContract(ctx, Fresh(c, drawnRatio*n, seed))
	if err != nil {
		return nil, "", err
	}
	kept, got, err := m.sortedByOutcome(ctx, made)
	if err != nil {
		return nil, "", err
	}
	fresh, told = choose(kept, got, shares(seen, want), n)
	return fresh, told, nil
}

// drawnRatio is the ratio of drawn inputs to wanted ones.
const drawnRatio = 4

// sortedByOutcome runs the original over records, leaves out those that it does not
// survive, and tells the class of outcome of the others. Each process sees a
// part of them, which bounds its memory. After maxRetries deaths the rest is left
// out: each may take seconds, as that of an endless recursion does.
func (m *maker) sortedByOutcome(
	ctx context.Context, records []beagle.Record,
) (kept []beagle.Record, classes []string, err error) {
	deaths := 0
	for part := range slices.Chunk(records, classifiedAtOnce) {
		part, got, err := m.sortPart(ctx, part, &deaths)
		if err != nil {
			return nil, nil, err
		}
		kept, classes = append(kept, part...), append(classes, got...)
		if deaths > maxRetries {
			break
		}
	}
	return kept, classes, nil
}

// classifiedAtOnce is the number of records that one process classifies.
const classifiedAtOnce = 2048

// sortPart sorts one part, and counts the processes that died.
func (m *maker) sortPart(
	ctx context.Context, records []beagle.Record, deaths *int,
) ([]beagle.Record, []string, error) {
	for len(records) > 0 {
		var o rt.Observation
		exit, err := m.observe(ctx, records, &rt.Observe{}, oneGenerated, &o)
		if err != nil {
			return nil, nil, err
		}
		if exit == nil && len(o.Refused) == 0 {
			return records[:min(len(records), len(o.Classes))], o.Classes, nil
		}
		if exit != nil {
			*deaths++
		}
		records = slices.Clone(records)
		switch {
		case exit == nil:
			for i := len(o.Refused) - 1; i >= 0; i-- {
				if at := o.Refused[i].Record; at < len(records) {
					records = slices.Delete(records, at, at+1)
				}
			}
		case exit.Record < 0 || exit.Record >= len(records) || exit.Kind == harness.Memory:
			records = records[:len(records)/2] // all of them together were too much
		case *deaths > maxRetries:
			records = records[:exit.Record]
		default:
			records = slices.Delete(records, exit.Record, exit.Record+1)
		}
	}
	return nil, nil, nil
}

// shares returns the weighted shares of the classes.
func shares(records []beagle.Record, classes []string) map[string]float64 {
	out := map[string]float64{}
	total := 0.0
	for i, class := range classes {
		out[class] += records[i].Weight
		total += records[i].Weight
	}
	for class := range out {
		out[class] /= total
	}
	return out
}

// rare is the share below which a class may be missing from the fresh inputs.
const rare = 0.02

// choose keeps at most n inputs so that each class of outcomes has the share
// that it has among the recorded ones. Where a class is scarce, fewer are kept.
func choose(
	records []beagle.Record, classes []string, want map[string]float64, n int,
) (kept []beagle.Record, told string) {
	have := map[string]int{}
	for _, class := range classes {
		have[class]++
	}
	total := float64(n)
	var missing []string
	for class, share := range want {
		switch {
		case share < rare:
		case have[class] == 0:
			missing = append(missing, fmt.Sprintf("%s (%.0f %% of the recorded calls)", describe(class), 100*share))
		default:
			total = math.Min(total, float64(have[class])/share)
		}
	}
	if total < leastFresh { // too few to measure: ignore the shares
		total = leastFresh
	}
	taken := map[string]int{}
	for i, class := range classes {
		if float64(taken[class]) < math.Ceil(want[class]*total-1e-9) {
			taken[class]++
			kept = append(kept, records[i])
		}
	}
	if len(missing) > 0 {
		inorder.Sort(missing)
		told = "no fresh input could be drawn with the outcome " + strings.Join(missing, ", ")
	}
	return kept, told
}

// leastFresh is the number of fresh inputs that a measurement needs.
const leastFresh = 64

// describe puts a class of outcomes into words.
func describe(class string) string {
	switch {
	case class == "panic":
		return class
	case strings.Contains(class, "e"):
		return "error"
	case strings.Trim(class, "0") == "":
		return "zero"
	}
	return "not zero"
}
