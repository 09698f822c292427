package rt

import (
	"bytes"
	"math"
	"slices"
	"unsafe"
)

// mapped returns a space over values of another.
func mapped[T any](list sequence[T], set func(T, unsafe.Pointer)) space {
	return space{list.n, func(i int, p unsafe.Pointer) { set(list.at(i), p) }}
}

// A sequence is a numbered set of Go values.
type sequence[T any] struct {
	n  int
	at func(i int) T
}

func listed[T any](list []T) sequence[T] {
	return sequence[T]{len(list), func(i int) T { return list[i] }}
}

// chain puts sequences one after another as far as the budget reaches. The
// first that does not fit whole is sampled.
func chain[T any](budget int, parts ...sequence[T]) sequence[T] {
	var ends []int
	n := 0
	for i, s := range parts {
		if room := budget - n; s.n > room {
			parts[i] = sampled(s, room)
		}
		n += parts[i].n
		ends = append(ends, n)
	}
	return sequence[T]{n, func(i int) T {
		k, _ := slices.BinarySearch(ends, i+1)
		return parts[k].at(i - ends[k] + parts[k].n)
	}}
}

// sampled takes n of a sequence, evenly.
func sampled[T any](s sequence[T], n int) sequence[T] {
	if n >= s.n {
		return s
	}
	return sequence[T]{n, func(i int) T { return s.at(int(float64(i) * float64(s.n) / float64(n))) }}
}

// texts returns: the empty string; every byte; the alphabet's texts; words of up to three letters;
// every pair of bytes; long words with one letter out of line; longer words; pairs of texts.
func (g *maker) texts(budget int) sequence[string] {
	// A small budget has no room for all bytes.
	letters := g.alpha.Bytes
	one := sequence[string]{256, func(i int) string { return string([]byte{byte(i)}) }}
	if budget < 400 {
		one = sequence[string]{len(letters), func(i int) string { return string(letters[i : i+1]) }}
	}
	pairs := sequence[string]{1 << 16, func(i int) string { return string([]byte{byte(i >> 8), byte(i)}) }}
	texts := g.alpha.Texts
	// Each text of the alphabet, with a letter or another text in front of it or after it.
	joined := sequence[string]{len(texts) * (len(letters) + len(texts)) * 2, func(i int) string {
		t := texts[i/2%len(texts)]
		o := i / 2 / len(texts)
		other := ""
		if o < len(letters) {
			other = string(letters[o : o+1])
		} else {
			other = texts[o-len(letters)]
		}
		if i%2 == 0 {
			return t + other
		}
		return other + t
	}}
	// Chain the kinds by how likely they show a difference. The caps keep a kind of many from using
	// up the budget.
	parts := []sequence[string]{listed([]string{""}), one, listed(texts), byteWords(first(letters, 24), 2), joined}
	share := max(budget/8, 64)
	parts = append(parts, capped(byteWords(first(letters, 16), 3), share), capped(g.longTexts(), 2*share))
	parts = append(parts, capped(pairs, 2*share), capped(byteWords(first(letters, 10), 4), share),
		capped(byteWords(first(letters, 5), 7), share), byteWords(first(letters, 16), 5))
	return chain(budget, parts...)
}

// capped lets a sequence take its share only.
func capped[T any](s sequence[T], share int) sequence[T] { return sampled(s, min(s.n, share)) }

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// words returns all words of up to length n over k letters, the short ones first.
func words(k, n int) sequence[[]int] {
	// ends holds where the words of each length end in the list.
	total, count := 0, 1
	var ends []int
	for l := 0; l <= n && total < math.MaxInt/(4*max(k, 1)); l++ { // an int may have 32 bits
		total += count
		ends = append(ends, total)
		count *= max(k, 1)
	}
	// Find the length by the number, and then the letters as digits.
	return sequence[[]int]{total, func(i int) []int {
		l, _ := slices.BinarySearch(ends, i+1)
		if l > 0 {
			i -= ends[l-1]
		}
		w := make([]int, l)
		for j := l - 1; j >= 0; j-- {
			w[j] = i % k
			i /= k
		}
		return w
	}}
}

func byteWords(letters []byte, n int) sequence[string] {
	w := words(len(letters), n)
	return sequence[string]{w.n, func(i int) string {
		idx := w.at(i)
		b := make([]byte, len(idx))
		for j, k := range idx {
			b[j] = letters[k]
		}
		return string(b)
	}}
}

// A bend is a long word of one letter with another one somewhere.
type bend struct{ len, at, base, other int }

// bends covers the lengths, all positions in them, and pairs of letters.
func (g *maker) bends(bases, letters int) sequence[bend] {
	var lens, ends []int
	n := 0
	for _, l := range g.alpha.Lens {
		if l > 0 && bases > 0 && letters > 0 {
			n += l * bases * letters
			lens, ends = append(lens, l), append(ends, n)
		}
	}
	return sequence[bend]{n, func(i int) bend {
		k, _ := slices.BinarySearch(ends, i+1)
		i -= ends[k] - lens[k]*bases*letters
		l := lens[k]
		return bend{l, i % l, i / l % bases, i / l / bases}
	}}
}

func (g *maker) longTexts() sequence[string] {
	letters := g.alpha.Bytes
	b := g.bends(min(3, len(letters)), len(letters))
	return sequence[string]{b.n, func(i int) string {
		x := b.at(i)
		w := bytes.Repeat(letters[x.base:x.base+1], x.len)
		w[x.at] = letters[x.other]
		return string(w)
	}}
}
