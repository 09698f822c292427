package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestClasses checks that inputs are sorted by what they have in common; a trait that nearly all
// share makes no class.
func TestClasses(t *testing.T) {
	type args struct{ Tag string }
	c := &beagle.Corpus{
		Facets: beagle.Facets{Params: []beagle.ParamFacet{{Name: "tag", Len: [5]int{0, 8, 8, 200, 200}}}},
	}
	add := func(n int, weight float64, text func(i int) string) {
		for i := range n {
			a := args{text(i)}
			text, err := rt.Encode(&a)
			if err != nil {
				t.Fatal(err)
			}
			c.Train = append(c.Train, beagle.Record{Args: text, Weight: weight})
		}
	}
	add(90, 1, func(i int) string { return fmt.Sprintf("plain:%02d", i) })
	add(10, 0.5, func(i int) string { return fmt.Sprintf("größe:%02d", i) })
	add(10, 1, func(i int) string { return strings.Repeat("long", 40) + fmt.Sprint(i) })
	add(1, 50, func(int) string { return "" }) // frequent, but one input only
	classes, err := InputClasses(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, class := range classes {
		got = append(got, fmt.Sprintf("%s %.3f %d", class.Name, class.Share, len(class.Records)))
	}
	want := []string{"tag: ASCII 0.968 101", "tag: non-ASCII 0.032 10", "tag: long 0.065 10", "tag: short 0.935 101"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
