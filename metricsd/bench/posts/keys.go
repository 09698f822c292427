package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// seed is that of the keys and hashes.
const seed = 7

// A tagList is the tags of one message.
type tagList struct {
	tags   []string
	hashes []uint64
}

// messages returns lists of n tags, each in an order of its own, so that no way can learn one by
// heart. With repeated, one tag in eight repeats another. Tags have about 16 bytes.
func messages(n int, repeated bool) []tagList {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	lists := make([]tagList, max(4, 4096/n))
	for i := range lists {
		for j := range n {
			if repeated && j > 0 && rng.IntN(8) == 0 {
				lists[i].tags = append(lists[i].tags, lists[i].tags[rng.IntN(j)])
				continue
			}
			lists[i].tags = append(lists[i].tags, fmt.Sprintf("tag_%d:value-%d", j, rng.IntN(10_000)))
		}
		tags := lists[i].tags
		rng.Shuffle(n, func(x, y int) { tags[x], tags[y] = tags[y], tags[x] })
		for _, t := range tags {
			lists[i].hashes = append(lists[i].hashes, murmur3.Sum64(t, seed))
		}
	}
	return lists
}

// keys compares the ways to make a context's key.
func keys(o *options, args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	t := &table{
		Name:    "Keys of contexts: ns a key",
		Columns: []string{"tags", "way", "ns", "times as fast as sorting", "times as fast as the Agent's way"},
	}
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 511, 512, 513, 1024, 2048} {
		if err := o.keyRows(t, fmt.Sprint(n), messages(n, true)); err != nil {
			return err
		}
	}
	if err := o.keyRows(t, "512, all different", messages(agentSlots, false)); err != nil {
		return err
	}
	return o.print(t)
}

// keyRows adds a row for each way to make one number of a name, a host and a list of tags. The
// number must not depend on the order of tags or on repeats.
func (o *options) keyRows(t *table, label string, lists []tagList) error {
	tags := make([]string, len(lists[0].tags)) // every way gets the list afresh: it may change it
	var sum uint64
	over := func(key func(l *tagList) uint64) func(int) {
		return func(count int) {
			for i := range count {
				l := &lists[i%len(lists)]
				copy(tags, l.tags)
				sum += key(l)
			}
		}
	}
	agent, ours := new(agentKeys), contextkey.NewGenerator(seed)
	// The copy has a row of its own, since each way below pays for it and a service would not.
	ways := []way{
		{name: "the copy alone", run: over(func(*tagList) uint64 { return 1 })},
		{name: "sort, each once, hash", run: over(func(*tagList) uint64 {
			k, _ := sortedKey("page.views", "web-1", tags)
			return k
		})},
		{name: "the Agent's: exclusive or, set of 512", run: over(func(*tagList) uint64 {
			return agent.key("page.views", "web-1", tags)
		})},
		{name: "metricsd's, tags hashed for the key", run: over(func(*tagList) uint64 {
			k, _ := ours.Key("page.views", "web-1", tags)
			return k
		})},
		// The service hashes a tag when it first sees it, so that a known list needs no hashing.
		{name: "metricsd's, hashes from its interner", run: over(func(l *tagList) uint64 {
			k, _ := ours.KeyHashed("page.views", "web-1", tags, l.hashes)
			return k
		})},
	}
	// A key that takes two lists for one is no key, however fast.
	if err := alike(lists, agent, ours); err != nil {
		return err
	}
	all := o.times(append(ways, ways[1])...)
	// Subtract turn by turn: the copy costs more in a turn in which everything does.
	for turn, copied := range all[0] { // which no way of the service pays
		for i := range all[1:] {
			all[i+1][turn] -= copied
		}
	}
	for i, w := range append(ways, way{name: again})[1:] {
		t.add(label, w.name, median(all[i+1]), ratioOf(all[1], all[i+1]), ratioOf(all[2], all[i+1]))
	}
	// The sum keeps the compiler from removing unread results.
	if sum == 0 {
		return errors.New("all keys are 0")
	}
	return nil
}

// alike checks that every way gives a list one key whatever its order, and different lists
// different keys.
func alike(lists []tagList, agent *agentKeys, ours *contextkey.Generator) error {
	for name, key := range map[string]func([]string) uint64{
		"sort":  func(tags []string) uint64 { k, _ := sortedKey("m", "h", tags); return k },
		"agent": func(tags []string) uint64 { return agent.key("m", "h", tags) },
		"ours":  func(tags []string) uint64 { k, _ := ours.Key("m", "h", tags); return k },
	} {
		seen := map[uint64]bool{}
		for _, l := range lists {
			turned := slices.Clone(l.tags)
			slices.Reverse(turned)
			k := key(slices.Clone(l.tags))
			if k != key(turned) || seen[k] && len(l.tags) > 4 {
				return fmt.Errorf("%s: the key of %d tags depends on their order, or is not theirs alone", name,
					len(turned))
			}
			seen[k] = true
		}
	}
	return nil
}
