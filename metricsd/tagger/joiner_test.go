package tagger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/murmur3"
	"github.com/beagle-go/beagle/metricsd/tag"
)

// TestJoinedAsMerged checks that a joiner, whatever it remembers, returns what the tagger returns
// for each message alone: for messages of many senders in any order, and for two configurations in
// turn.
func TestJoinedAsMerged(t *testing.T) {
	const seed = 7
	other := map[string]Entity{"c0ffee": {Low: []string{"env:stage"}}}
	var taggers []*Tagger
	for _, of := range []map[string]Entity{entities, other} {
		tagger, err := New("low", of)
		if err != nil {
			t.Fatal(err)
		}
		taggers = append(taggers, tagger)
	}
	rng, joiner := rand.New(rand.NewPCG(1, 2)), NewJoiner(seed)
	any := func(of ...string) string { return of[rng.IntN(len(of))] }
	for i := range 5000 {
		tagger := taggers[i/100%2]
		s := dogstatsd.Source{
			ContainerID: any("", "c0ffee", "unknown"), PodUID: any("", "pod-1"), EntityID: any("", "pod-1", "c0ffee"),
			Inode: uint64(rng.IntN(2) * 42), Cardinality: dogstatsd.Cardinality(rng.IntN(5)),
		}
		own := []string{"t", any("env:prod", "team:a", "z")}
		hashes := []uint64{murmur3.Sum64(own[0], seed), murmur3.Sum64(own[1], seed)}
		detected := any("", "c0ffee")
		want := tag.MergeTags(own, tagger.Tags(&s, detected))

		joined, joinedHashes := joiner.Join(tagger, own, hashes, &s, detected)
		for i, one := range joined {
			if joinedHashes[i] != murmur3.Sum64(one, seed) {
				t.Fatalf("%q has the hash of another tag", one)
			}
		}
		if got := tag.MergeTags(joined, nil); !slices.Equal(got, want) {
			t.Fatalf("%+v, %q: joined %q, want %q", s, detected, got, want)
		}
		got := joiner.Merge(tagger, own, &s, detected)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("%+v, %q: merged %q, want %q", s, detected, got, want)
		}
	}
}

// TestJoinerIsBounded checks that clients that always name new containers do not make it grow.
func TestJoinerIsBounded(t *testing.T) {
	tagger, err := New("high", entities)
	if err != nil {
		t.Fatal(err)
	}
	joiner := NewJoiner(7)
	for i := range 3 * maxSenders {
		s := dogstatsd.Source{ContainerID: fmt.Sprint(i)}
		if tags, _ := joiner.Join(tagger, nil, nil, &s, ""); len(tags) != 1 {
			t.Fatalf("container %d got %q", i, tags)
		}
	}
	if len(joiner.known) > maxSenders {
		t.Errorf("%d senders are remembered", len(joiner.known))
	}
}
