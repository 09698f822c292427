package aggregate

import (
	"fmt"
	"testing"
)

// known puts lines into a batch as samples of handles.
func known(b *Batch, values ...any) {
	for i := 0; i < len(values); i += 2 {
		k := b.Put()
		k.Handle, k.Values, k.Rate = values[i].(Handle), []float64{values[i+1].(float64)}, 1
		k.Line = fmt.Append(nil, values[i+1])
	}
}

func TestKnownSamplesAreLikeOthers(t *testing.T) {
	a := New(3, DefaultLimits())
	count, gauge := a.Add(sample(t, "m:1|c|#a"), 100), a.Add(sample(t, "m:1|g|#a"), 100)
	b := a.Batch()
	known(b, count, 2.0, gauge, 7.0, count, 3.0, gauge, 5.0)
	if added := b.Take(101, func(*KnownSample) { t.Error("a context that is there has gone") }); added != 4 ||
		b.Len() != 0 {
		t.Errorf("%d were added, %d are left", added, b.Len())
	}
	total := 0.0
	for _, p := range a.Flush(110) {
		total += p.Value
	}
	if s := a.Stats(); total != 6+5 || s.Samples != 6 || s.Contexts != 2 {
		t.Errorf("the values add up to %v, %+v", total, s)
	}
	if (Handle{}).Leads() || !count.Leads() || a.Gone(count) {
		t.Error("handles lead where they should not")
	}
}

// TestGoneContextsComeInTheirTurn lets a context expire that a handle still uses, and makes it
// anew. Samples of the old handle and of the new one must keep their order.
func TestGoneContextsComeInTheirTurn(t *testing.T) {
	a := New(1, Limits{Expiry: 1})
	old, other := a.Add(sample(t, "m:1|g|#a"), 100), a.Add(sample(t, "n:1|g"), 100)
	for now := int64(110); now < 150; now += 10 {
		b := a.Batch()
		known(b, other, 1.0)
		b.Take(now-5, func(*KnownSample) { t.Error("a context that was seen has gone") })
		a.Flush(now)
	}
	if !a.Gone(old) || a.Gone(other) || a.Expired() != 1 {
		t.Fatalf("%d have expired", a.Expired())
	}
	b := a.Batch()
	remade := a.Add(sample(t, "m:2|g|#a"), 151)
	known(b, remade, 3.0, other, 6.0, old, 4.0, remade, 5.0, old, 7.0, remade, 8.0)
	order := ""
	added := b.Take(151, func(k *KnownSample) {
		order += string(k.Line)
		a.Add(sample(t, "m:"+string(k.Line)+"|g|#a"), 151)
	})
	if added != 4 || order != "47" {
		t.Errorf("%d were added; those that were not: %s", added, order)
	}
	for _, s := range a.States() {
		if want := map[string]float64{"m": 8, "n": 6}[s.Name]; s.Value != want {
			t.Errorf("the gauge %s is %v, want the last value, %v", s.Name, s.Value, want)
		}
	}
}

// TestTagsAreShared checks that contexts with the same tags have one list, and that no list stays
// when they have expired.
func TestTagsAreShared(t *testing.T) {
	a := New(1, Limits{Expiry: 1})
	feed(t, a, 100, "a:1|c|#x,y", "b:1|c|#x,y", "c:1|c|#y,x", "d:1|c")
	lists := map[*string]bool{}
	for _, s := range a.States() {
		if len(s.Tags) > 0 {
			lists[&s.Tags[0]] = true
		}
	}
	if len(lists) != 2 || len(a.budget.tagSets.first) != 2 {
		t.Errorf("%d lists of tags, %d are known; want 2", len(lists), len(a.budget.tagSets.first))
	}
	for now := int64(110); now < 150; now += 10 {
		feed(t, a, now-5, "b:1|c|#x,y")
		a.Flush(now)
	}
	feed(t, a, 150, "a:1|c|#x,y")
	if s := a.Stats(); s.Contexts != 2 || len(a.budget.tagSets.first) != 1 {
		t.Errorf("%+v, and %d lists are known, want 1", s, len(a.budget.tagSets.first))
	}
	for now := int64(160); now < 200; now += 10 {
		a.Flush(now)
	}
	if s := a.Stats(); s.Contexts != 0 || s.Bytes != 0 || len(a.budget.tagSets.first) != 0 {
		t.Errorf("when all is gone: %+v, %d lists", s, len(a.budget.tagSets.first))
	}
}
