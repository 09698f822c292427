package tools

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// TestOrder: an order arrives whole, and one with words that this program does not know is refused:
// they could say what an agent must not see.
func TestOrder(t *testing.T) {
	want := flow.ToolOrder{Spec: flow.Defaults(), Veiled: true, PIDs: []int{7}, Sources: []string{"cpu.pprof"}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readOrder(string(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, other := range []string{
		strings.Replace(string(text), `"veiled"`, `"hidden"`, 1),
		strings.Replace(string(text), `"strategy"`, `"strategies"`, 1),
	} {
		var bad *beagle.UsageError
		if _, err := readOrder(other); !errors.As(err, &bad) || !strings.Contains(bad.What, "two versions") {
			t.Errorf("%v for %s", err, other)
		}
	}
}
