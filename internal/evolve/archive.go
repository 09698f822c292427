package evolve

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A population holds the candidates that behave, and on which islands they live.
type population struct {
	Root     string    `json:"root"`    // candidate ID of the original
	Members  []*Member `json:"members"` // all that behave, in order of arrival
	Archives []archive `json:"archives"`

	// These follow from the members.
	index map[string]*Member
	known *knownSteps
	top   *Member   // the best
	kin   []*Member // the best of the best families
}

// An archive holds the best member of each kind (cell) on an island, by cell.
type archive map[string]string

// cell names the kind of a candidate: its mutators, the compiler's counts, and the input classes on
// which it is slower. Candidates that differ only in parameters or in order share a cell.
func cell(c beagle.Candidate, v *beagle.Verdict) string {
	set := map[string]bool{}
	for _, st := range c.Steps {
		set[st.Mutator] = true
	}
	names := inorder.Keys(set)
	return fmt.Sprintf("%s|%d|%d|%d%s", strings.Join(names, "+"),
		v.Static.BoundsChecks, v.Static.Escapes, bits.Len(uint(max(0, v.Static.CodeBytes))), payers(v))
}

// maxCells bounds the elites of an island: as many as a search of some hundred candidates makes
// kinds, so that a long one does not get slower and slower.
const maxCells = 128

// place puts a member into its cell if it is better than the cell's elite. A full archive gives up
// its worst elite.
func (a archive) place(m *Member, index map[string]*Member) bool {
	old := index[a[m.Cell]]
	if old != nil && old.fitness() >= m.fitness() {
		return false
	}
	a[m.Cell] = m.ID
	if len(a) > maxCells {
		delete(a, a.worstCell(index))
	}
	return true
}

// worstCell returns the cell with the worst elite, of equals the first by name.
func (a archive) worstCell(index map[string]*Member) string {
	var at string
	for _, key := range inorder.Keys(a) {
		if at == "" || index[a[key]].fitness() < index[a[at]].fitness() {
			at = key
		}
	}
	return at
}

// elites returns the best member of each cell of an island, in a fixed order.
func (pop *population) elites(island int) []*Member {
	a := pop.Archives[island]
	var out []*Member
	for _, key := range inorder.Keys(a) {
		out = append(out, pop.index[a[key]])
	}
	return out
}

// migrate lets the islands share after a generation: each sends its best to the next, and the
// weakest receives the best of all.
func (pop *population) migrate(generation int) {
	bests := make([]*Member, len(pop.Archives))
	weakest := 0
	for i := range pop.Archives {
		bests[i] = best(pop.elites(i))
		if bests[i].fitness() < bests[weakest].fitness() {
			weakest = i
		}
	}
	if generation%2 == 0 {
		for i, b := range bests {
			pop.Archives[(i+1)%len(bests)].place(b, pop.index)
		}
	}
	if generation%3 == 0 {
		pop.Archives[weakest].place(pop.Best(), pop.index)
	}
}
