package load

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Shape is a kind of traffic.
type Shape struct {
	Name, Doc string
	Contexts  int
	Senders   int
	// BytesPerSecond over all senders; 0 is as fast as possible.
	BytesPerSecond int
	// Packet is the most bytes that a sender packs into a datagram; 0 is one
	// message each.
	Packet int
	// Malformed and NewNames are the shares of broken lines, and of lines with a new name.
	Malformed, NewNames float64
}

// Shapes are the shapes that have names.
var Shapes = []Shape{
	{Name: "steady", Doc: "10 MiB/s with 3,000 contexts, packed as clients do on a Unix socket",
		Contexts: 3000, Senders: 1, BytesPerSecond: 10 << 20, Packet: 8192},
	{Name: "many", Doc: "20 MB/s with 12,000 contexts from 20 senders",
		Contexts: 12000, Senders: 20, BytesPerSecond: 20e6, Packet: 8192},
	{Name: "udp", Doc: "1,000 contexts, packed as clients do for UDP, as fast as it goes",
		Contexts: 1000, Senders: 1, Packet: 1432},
	{Name: "udp-wide", Doc: "60,000 contexts, packed as clients do for UDP, as fast as it goes",
		Contexts: 60000, Senders: 1, Packet: 1432},
	{Name: "narrow", Doc: "1,000 contexts, packed as clients do on a Unix socket, as fast as it goes",
		Contexts: 1000, Senders: 1, Packet: 8192},
	{Name: "wide", Doc: "60,000 contexts, packed as clients do on a Unix socket, as fast as it goes",
		Contexts: 60000, Senders: 1, Packet: 8192},
	{Name: "single", Doc: "1,000 contexts, one message a datagram, as fast as it goes",
		Contexts: 1000, Senders: 1},
	{Name: "storm", Doc: "a fifth of the lines with a new name, 5 MiB/s",
		Contexts: 1000, Senders: 4, BytesPerSecond: 5 << 20, Packet: 1432, NewNames: 0.2},
	{Name: "malformed", Doc: "a tenth of the lines broken, 5 MiB/s",
		Contexts: 1000, Senders: 4, BytesPerSecond: 5 << 20, Packet: 1432, Malformed: 0.1},
}

// Named returns the shape with that name.
func Named(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("shape %q is unknown; there are %s", name, strings.Join(names, ", "))
}

// series is one context's line around the value.
type series struct {
	head, tail string
	count      bool
}

// types are drawn from as services use them: mostly counts.
var types = []string{"c", "c", "c", "c", "c", "g", "g", "ms", "d", "h"}

// contexts makes n contexts. About one in seven has tags of its own; the others
// share them, as the metrics of one pod do.
func contexts(n int) []series {
	all := make([]series, n)
	for i := range all {
		pod := i / 7
		kind := types[i%len(types)]
		all[i] = series{
			head:  fmt.Sprintf("service.%s.request.%d:", services[pod%len(services)], i%7+7*(pod/len(services))),
			tail:  "|" + kind + "|#" + tags(pod),
			count: kind == "c",
		}
	}
	return all
}

var services = []string{"checkout", "payments", "search", "catalog", "identity", "shipping", "pricing", "basket"}

func tags(pod int) string {
	s := services[pod%len(services)]
	return fmt.Sprintf("env:prod,service:%s,version:v2.%d.%d,pod_name:%s-7d9f8b6c5-x%04d,kube_namespace:%s-prod,"+
		"cluster:eu1-%d,zone:eu-west-1%c,team:%s-core,image_tag:2026.11.%d,canary",
		s, pod%9, pod%4, s, pod, s, pod%3, 'a'+rune(pod%3), s, pod%28)
}

// brokenLines are lines that every server should refuse.
var brokenLines = []string{"nothing", "name:|c", "name:1|", "name:x|c|#a:b", "name:1|q|#a:b", "name:1|c|@two",
	"\xff\xfe:\x00", "_e{9,9}:short|", "_sc|db|9", ":1|c"}

// Totals are the counts of a generator.
type Totals struct {
	Packets, Bytes, Messages, Counts, Malformed, NewNames int
}

func (t *Totals) add(o Totals) {
	t.Packets += o.Packets
	t.Bytes += o.Bytes
	t.Messages += o.Messages
	t.Counts += o.Counts
	t.Malformed += o.Malformed
	t.NewNames += o.NewNames
}

// Generator makes the packets of one sender.
type Generator struct {
	shape    Shape
	contexts []series
	rng      *rand.Rand
	sender   int
	buffer   []byte
	totals   Totals
	storm    int
}

// NewGenerator makes the generator of one sender. Each sender has lines in an order of its own.
func NewGenerator(shape Shape, sender int, seed uint64) *Generator {
	return &Generator{
		shape:    shape,
		contexts: contexts(shape.Contexts),
		sender:   sender,
		rng:      rand.New(rand.NewPCG(seed, uint64(sender))),
	}
}

// Totals returns the generator's counts.
func (g *Generator) Totals() Totals { return g.totals }

// Packet makes the next packet. It is valid until the next call.
func (g *Generator) Packet() []byte {
	const longest = 320 // no line is longer
	g.buffer = g.line(g.buffer[:0])
	for len(g.buffer)+1+longest <= g.shape.Packet {
		g.buffer = g.line(append(g.buffer, '\n'))
	}
	g.totals.Packets++
	g.totals.Bytes += len(g.buffer)
	return g.buffer
}

func (g *Generator) line(to []byte) []byte {
	g.totals.Messages++
	if chance := g.rng.Float64(); chance < g.shape.Malformed {
		g.totals.Malformed++
		return append(to, brokenLines[g.rng.IntN(len(brokenLines))]...)
	} else if chance < g.shape.Malformed+g.shape.NewNames {
		g.totals.NewNames++
		g.storm++
		return fmt.Appendf(to, "storm.%d.%d:1|g|#env:prod", g.sender, g.storm)
	}
	c := g.contexts[g.rng.IntN(len(g.contexts))]
	to = append(to, c.head...)
	if c.count {
		g.totals.Counts++
		to = append(to, '1')
	} else {
		to = append(to, byte('1'+g.rng.IntN(9)), byte('0'+g.rng.IntN(10)))
	}
	return append(to, c.tail...)
}
