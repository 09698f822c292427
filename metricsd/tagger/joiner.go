package tagger

import (
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/murmur3"
	"github.com/beagle-go/beagle/metricsd/tag"
)

// maxSenders bounds the senders that a Joiner keeps; a client can name any container.
const maxSenders = 4096

// A Joiner joins the tags of messages with those of their senders, which it merges and hashes once
// for each sender. It is for one goroutine.
type Joiner struct {
	seed  uint64
	of    *Tagger // whose tags are kept
	known map[sender]*senderTags
	last  sender      // the messages of a datagram have one sender
	added *senderTags // of the last
	// The result of Join.
	tags   []string
	hashes []uint64
}

// senderTags holds the tags for a sender's messages, sorted and each once.
type senderTags struct {
	tags   []string
	hashes []uint64
}

// NewJoiner makes a joiner; the seed is that of the hashes.
func NewJoiner(seed uint64) *Joiner { return &Joiner{seed: seed} }

// Join returns a message's tags and after them those of its sender, each with its [murmur3.Sum64].
// A tag of both comes twice, and the context's key removes it. The result is valid until the next
// call. detected is the sender's container as the kernel knows it, or empty.
func (j *Joiner) Join(t *Tagger, tags []string, hashes []uint64, s *dogstatsd.Source,
	detected string) ([]string, []uint64) {
	a := j.lookUp(t, t.sender(s, detected))
	if len(a.tags) == 0 {
		return tags, hashes
	}
	j.tags = append(append(j.tags[:0], tags...), a.tags...)
	j.hashes = append(append(j.hashes[:0], hashes...), a.hashes...)
	return j.tags, j.hashes
}

// Merge returns a message's tags together with those of its sender, sorted and without duplicates,
// in a new list: for events and checks, whose duplicates no key removes.
func (j *Joiner) Merge(t *Tagger, tags []string, s *dogstatsd.Source, detected string) []string {
	a := j.lookUp(t, t.sender(s, detected))
	if len(a.tags) == 0 {
		return tags
	}
	return tag.MergeTags(tags, a.tags)
}

func (j *Joiner) lookUp(t *Tagger, from sender) *senderTags {
	if j.of != t || len(j.known) >= maxSenders {
		j.of, j.known, j.added = t, make(map[sender]*senderTags), nil
	}
	if j.added == nil || j.last != from {
		j.last, j.added = from, j.find(from)
	}
	return j.added
}

func (j *Joiner) find(from sender) *senderTags {
	a, known := j.known[from]
	if !known {
		a = &senderTags{tags: j.of.tags(from)}
		for _, t := range a.tags {
			a.hashes = append(a.hashes, murmur3.Sum64(t, j.seed))
		}
		j.known[from] = a
	}
	return a
}
