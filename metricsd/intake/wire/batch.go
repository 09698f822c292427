package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxBatch bounds a batch after decompression. A queue's message comes from one body, so it cannot
// be much longer than a body.
const MaxBatch = 128 << 20

// A form begins every batch, so that a changed form is recognised. Batches without customers keep
// the form that older programs read.
const (
	plainForm    = 2
	customerForm = 3 // the customer's name follows each parcel's ID
)

// An ID identifies a parcel for good: two parcels with the same ID are one. The zero ID means none,
// and a parcel with it equals no other.
type ID [16]byte

// Part returns the ID of the i-th parcel of a request.
func (id ID) Part(i int) ID {
	place := id[len(id)-4:]
	binary.LittleEndian.PutUint32(place, binary.LittleEndian.Uint32(place)+uint32(i))
	return id
}

// A Parcel is one request, or a part of it. It is counted as a whole or not at all.
type Parcel struct {
	ID       ID
	Customer string // the sender's name in the key file; empty for the default customer
	Series   []Series
}

var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only for options that do not go together
	}
	return e
}}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBatch))
	if err != nil {
		panic(err)
	}
	return d
}}

// Encode packs parcels for the queue: lengths and values one after another, then zstd at its
// fastest, which for such text is smaller and several times faster than zlib.
func Encode(batch []Parcel) []byte {
	form := formOf(batch)
	b := binary.AppendUvarint([]byte{form}, uint64(len(batch)))
	for _, p := range batch {
		b = append(b, p.ID[:]...)
		if form == customerForm {
			b = appendText(b, p.Customer)
		}
		b = binary.AppendUvarint(b, uint64(len(p.Series)))
		for i := range p.Series {
			b = appendSeries(b, &p.Series[i])
		}
	}
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	return e.EncodeAll(b, nil)
}

func formOf(batch []Parcel) byte {
	if slices.ContainsFunc(batch, func(p Parcel) bool { return p.Customer != "" }) {
		return customerForm
	}
	return plainForm
}

// appendSeries writes a series: texts after their lengths, lists after their counts, and numbers as
// varints, since most are small. Floats keep their bits.
func appendSeries(b []byte, s *Series) []byte {
	b = appendText(appendText(b, s.Metric), s.Host)
	b = binary.AppendUvarint(b, uint64(len(s.Tags)))
	for _, t := range s.Tags {
		b = appendText(b, t)
	}
	b = binary.AppendVarint(append(b, byte(s.Kind)), s.Interval)
	b = binary.AppendUvarint(b, uint64(len(s.Points)))
	for _, p := range s.Points {
		b = appendFloat(binary.AppendVarint(b, p.Time), p.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Sketches)))
	for i := range s.Sketches {
		b = appendDistribution(b, &s.Sketches[i])
	}
	return b
}

func appendDistribution(b []byte, d *Distribution) []byte {
	b = binary.AppendVarint(binary.AppendVarint(b, d.Time), d.Count)
	for _, v := range [...]float64{d.Min, d.Max, d.Average, d.Sum} {
		b = appendFloat(b, v)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Keys)))
	for i, k := range d.Keys {
		b = binary.AppendUvarint(binary.AppendVarint(b, int64(k)), uint64(d.Counts[i]))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

var errBatch = errors.New("the batch is cut off")

// Decode unpacks what Encode packed.
func Decode(packed []byte) ([]Parcel, error) {
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("the batch cannot be decompressed: %w", err)
	}
	r := &reader{left: b}
	form := r.byte()
	if form != plainForm && form != customerForm {
		return nil, fmt.Errorf("the batch is of form %d; this program reads forms %d and %d", form, plainForm,
			customerForm)
	}
	batch := make([]Parcel, r.count(len(ID{})+1))
	for i := range batch {
		batch[i] = r.parcel(form)
	}
	if r.failed || len(r.left) > 0 {
		return nil, errBatch
	}
	return batch, nil
}

// A reader takes values off the front. After a failure it returns zeros.
type reader struct {
	left   []byte
	failed bool
}

func (r *reader) fail() { r.failed, r.left = true, nil }

func (r *reader) byte() byte {
	if len(r.left) == 0 {
		r.fail()
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.left = r.left[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.left)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.left = r.left[n:]
	return v
}

// count reads how many values follow, each at least least bytes long. It refuses an impossible
// number, so that nothing allocates for it.
func (r *reader) count(least int) int {
	n := r.uvarint()
	if n > uint64(len(r.left)/least) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count(1)
	s := string(r.left[:n])
	r.left = r.left[n:]
	return s
}

func (r *reader) float() float64 {
	if len(r.left) < 8 {
		r.fail()
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.left))
	r.left = r.left[8:]
	return v
}

// parcel reads one parcel. It refuses a count for which the remaining bytes are too few, so that a
// damaged count allocates nothing.
func (r *reader) parcel(form byte) (p Parcel) {
	if len(r.left) < len(p.ID) {
		r.fail()
		return p
	}
	r.left = r.left[copy(p.ID[:], r.left):]
	if form == customerForm {
		p.Customer = r.text()
	}
	if n := r.count(7); n > 0 {
		p.Series = make([]Series, n)
		for i := range p.Series {
			p.Series[i] = r.series()
		}
	}
	return p
}

// series reads the fields that appendSeries wrote, in that order. A point takes at least 9 bytes,
// and a distribution 35.
func (r *reader) series() (s Series) {
	s.Metric, s.Host = r.text(), r.text()
	if n := r.count(1); n > 0 {
		s.Tags = make([]string, n)
		for i := range s.Tags {
			s.Tags[i] = r.text()
		}
	}
	s.Kind, s.Interval = Kind(r.byte()), r.varint()
	if n := r.count(9); n > 0 {
		s.Points = make([]Point, n)
		for i := range s.Points {
			s.Points[i] = Point{r.varint(), r.float()}
		}
	}
	if n := r.count(35); n > 0 {
		s.Sketches = make([]Distribution, n)
		for i := range s.Sketches {
			s.Sketches[i] = r.distribution()
		}
	}
	return s
}

func (r *reader) distribution() (d Distribution) {
	d.Time, d.Count = r.varint(), r.varint()
	for _, v := range [...]*float64{&d.Min, &d.Max, &d.Average, &d.Sum} {
		*v = r.float()
	}
	if n := r.count(2); n > 0 {
		d.Keys, d.Counts = make([]int32, n), make([]uint32, n)
		for i := range d.Keys {
			d.Keys[i], d.Counts[i] = int32(r.varint()), uint32(r.uvarint())
		}
	}
	return d
}
