// Package tagger adds tags to what comes from a container: those that the
// configuration has for it, as many as the message's cardinality asks for.
//
// Who a message comes from is, in this order, what it says itself (c:, e:, dd.internal.entity_id)
// and, for its container, what the kernel says about the process that sent it.
//
// # Limits
//
// Nobody is asked: neither Docker nor Kubernetes. Containers that come and go are
// better tagged by the clients, from their environment. A process is found only where this one
// sees its /proc: in the same namespace of processes, or in the host's.
package tagger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// Entity are the tags of a container or a pod, by the least cardinality at which they
// are added.
type Entity struct{ Low, Orchestrator, High []string }

// Tagger knows the tags. It may be used by several goroutines.
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

// Tags adds to a message's tags. detected is the sender's container as the kernel knows
// it, or empty. At high cardinality the container's id is a tag too.
func (t *Tagger) Tags(tags []string, s *dogstatsd.Source, detected string) []string {
	cardinality := cmp.Or(s.Cardinality, t.fallback)
	if cardinality == dogstatsd.CardinalityNone {
		return tags
	}
	container := cmp.Or(s.ContainerID, detected)
	tags = t.add(tags, container, cardinality)
	if s.Inode != 0 {
		tags = t.add(tags, "in-"+strconv.FormatUint(s.Inode, 10), cardinality)
	}
	tags = t.add(tags, s.PodUID, cardinality)
	if s.EntityID != s.PodUID {
		tags = t.add(tags, s.EntityID, cardinality)
	}
	if container != "" && cardinality == dogstatsd.CardinalityHigh {
		tags = append(tags, "container_id:"+container)
	}
	return tags
}

func (t *Tagger) add(tags []string, id string, c dogstatsd.Cardinality) []string {
	e, known := t.entities[id]
	if !known {
		return tags
	}
	tags = append(tags, e.Low...)
	if c >= dogstatsd.CardinalityOrchestrator {
		tags = append(tags, e.Orchestrator...)
	}
	if c >= dogstatsd.CardinalityHigh {
		tags = append(tags, e.High...)
	}
	return tags
}
