package main

import (
	"math/rand/v2"
	"strings"
)

// speech makes datagrams of lines that repeat with other values, as clients send them, and of lines
// that differ where it must matter. It changes bytes here and there.
type speech struct {
	rng   *rand.Rand
	lines []line // that come again
}

// line is a line around its value.
type line struct {
	head, tail string
	values     []string
}

var (
	names = []string{"a", "b", "page.views", "a|b", "", "host", "été", "\xff\xfe", "_e", "_sc", "a:b"}
	types = []string{"c", "c", "c", "g", "g", "s", "ms", "h", "d", "d", "x", ""}
	tags  = []string{"env:prod", "role:db", "a", "b", "host:web", "host:", "dd.internal.entity_id:c2", "\xe9",
		"dd.internal.card:high", "dd.internal.jmx_check_name:j", "canary"}
	fields = []string{"@0.5", "@1", "@0.1", "@2", "@x", "@0.30000000000000004", "T1700000000", "T1700000009", "Tx",
		"c:c1", "c:ci-c2", "c:in-7", "c:in-x", "e:pu-u1", "e:it-perhaps", "e:cn-n,pu-c1", "card:low", "card:high",
		"card:none", "later:field", "#", "", "|"}
	numbers = []string{"1", "2", "10", "0", "-1", "+3", "1.5", "1e3", "1e999", "NaN", "123456789012345", "0x10", "1_0",
		"9007199254740993", "1234567890123456789", "", "-0", "00", ".5", "1:2:3", "::4:", "5:x", ":", "1e-9", "inf"}
	members = []string{"u1", "u2", "u3", "a:b", "\xff", "7", ""}
	others  = []string{"_e{1,1}:a|b|#x", "_e{5,4}:title|text|c:c1", "_sc|db|0|m:y", "_sc|db|9", "nothing", "\r", "a:1",
		"_e{9,9}:short|"}
)

func newSpeech(rng *rand.Rand) *speech {
	s := &speech{rng: rng}
	for range 5 + rng.IntN(200) {
		s.lines = append(s.lines, s.line())
	}
	return s
}

func (s *speech) pick(of []string) string { return of[s.rng.IntN(len(of))] }

// line makes a new line. Most are valid.
func (s *speech) line() line {
	kind := types[s.rng.IntN(len(types)-2)]
	if s.rng.IntN(20) == 0 {
		kind = s.pick(types)
	}
	l := line{head: names[s.rng.IntN(3)] + ":", tail: "|" + kind, values: numbers[:4+s.rng.IntN(len(numbers)-4)]}
	if s.rng.IntN(10) == 0 {
		l.head = s.pick(names) + ":"
	}
	if kind == "s" {
		l.values = members
	}
	if s.rng.IntN(4) > 0 {
		list := make([]string, s.rng.IntN(4))
		for i := range list {
			list[i] = s.pick(tags)
		}
		l.tail += "|#" + strings.Join(list, ",")
	}
	for s.rng.IntN(3) == 0 {
		l.tail += "|" + s.pick(fields)
	}
	return l
}

// datagram makes a datagram of a few lines.
func (s *speech) datagram() []byte {
	var d []byte
	for range 1 + s.rng.IntN(8) {
		l := s.lines[s.rng.IntN(len(s.lines))]
		switch s.rng.IntN(40) {
		case 0:
			d = append(d, s.pick(others)...)
		case 1:
			l = s.line()
			fallthrough
		default:
			d = append(append(append(d, l.head...), s.pick(l.values)...), l.tail...)
		}
		d = append(d, s.pick([]string{"\n", "\n", "\n", "\r\n", "\n\n"})...)
	}
	if s.rng.IntN(2) == 0 {
		d = d[:len(d)-1]
	}
	if s.rng.IntN(5) == 0 {
		d = s.spoil(d)
	}
	return d
}

// spoil changes a few bytes, most often to bytes with a meaning, and cuts the end off.
func (s *speech) spoil(b []byte) []byte {
	const meaningful = ":|@#,\n\r_e{}scTgdhm0.-\xff\x00"
	for range s.rng.IntN(4) {
		b[s.rng.IntN(len(b))] = meaningful[s.rng.IntN(len(meaningful))]
	}
	if s.rng.IntN(4) == 0 {
		b = b[:s.rng.IntN(len(b))]
	}
	return b
}

// sender draws the origin of a datagram: a network, and a container or none.
func (s *speech) sender() (origin, detected string) {
	return s.pick([]string{"udp", "unixgram"}), s.pick([]string{"", "c1", "c2"})
}
