// Package tagger adds tags to what comes from a container: those that the configuration has for it,
// and those that sources find (packages docker and kubernetes), as many as the message's
// cardinality asks for.
//
// The sender of a message is, in this order, the one that it names itself (c:, e:,
// dd.internal.entity_id) and the container of the process that sent it, by the kernel.
//
// # Limits
//
// A source tells of a container a moment after it has started, and what it sends before goes
// without tags. A process is found only where this one sees its /proc: in the same namespace of
// processes, or in the host's.
package tagger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tag"
)

// Entity are the tags of a container or a pod, by the least cardinality at which they
// are added.
type Entity struct{ Low, Orchestrator, High []string }

// Tagger knows the tags. Several goroutines may use it.
type Tagger struct {
	fallback dogstatsd.Cardinality
	entities map[string]Entity
}

// New makes a tagger. Entities are under container ids, pod UIDs and in-<cgroup inode>;
// messages that ask for no cardinality get the one named.
func New(cardinality string, entities map[string]Entity) (*Tagger, error) {
	c, ok := dogstatsd.CardinalityNamed(cardinality)
	if !ok {
		return nil, fmt.Errorf("tagger.cardinality is %q; give none, low, orchestrator or high", cardinality)
	}
	for _, id := range slices.Sorted(maps.Keys(entities)) {
		e := entities[id]
		if id == "" || slices.Contains(slices.Concat(e.Low, e.Orchestrator, e.High), "") {
			return nil, fmt.Errorf("tagger.entities: %q has an empty name or an empty tag; take it out", id)
		}
	}
	return &Tagger{fallback: c, entities: entities}, nil
}

// A sender holds everything that decides which tags a message receives.
type sender struct {
	container, pod, entity string
	inode                  uint64
	cardinality            dogstatsd.Cardinality
}

// sender reads the sender of a message. detected is its container as the kernel knows it, or
// empty.
func (t *Tagger) sender(s *dogstatsd.Source, detected string) sender {
	return sender{
		container:   cmp.Or(s.ContainerID, detected),
		pod:         s.PodUID,
		entity:      s.EntityID,
		inode:       s.Inode,
		cardinality: cmp.Or(s.Cardinality, t.fallback),
	}
}

// Tags returns the tags that a message receives besides its own, sorted and each once. detected is
// the sender's container as the kernel knows it, or empty. At high cardinality the container's id
// is a tag too.
func (t *Tagger) Tags(s *dogstatsd.Source, detected string) []string {
	return t.tags(t.sender(s, detected))
}

func (t *Tagger) tags(from sender) (tags []string) {
	if from.cardinality == dogstatsd.CardinalityNone {
		return nil
	}
	ids := []string{from.container, from.pod}
	if from.inode != 0 {
		ids = append(ids, "in-"+strconv.FormatUint(from.inode, 10))
	}
	if from.entity != from.pod {
		ids = append(ids, from.entity)
	}
	for _, id := range ids {
		if e, known := t.entities[id]; known {
			tags = tag.MergeTags(tags, e.tagsUpTo(from.cardinality))
		}
	}
	if from.container != "" && from.cardinality == dogstatsd.CardinalityHigh {
		tags = tag.MergeTags(tags, []string{"container_id:" + from.container})
	}
	return tags
}

// tagsUpTo returns an entity's tags at a cardinality.
func (e *Entity) tagsUpTo(c dogstatsd.Cardinality) []string {
	tags := slices.Clone(e.Low)
	if c >= dogstatsd.CardinalityOrchestrator {
		tags = append(tags, e.Orchestrator...)
	}
	if c >= dogstatsd.CardinalityHigh {
		tags = append(tags, e.High...)
	}
	return tags
}
