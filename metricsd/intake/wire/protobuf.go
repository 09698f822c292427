package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A field is one field of a message as it stands on the wire.
type field struct {
	number protowire.Number
	bytes  []byte // of a length-delimited field
	bits   uint64 // of any other
	packed bool
}

func (f *field) float() float64 { return math.Float64frombits(f.bits) }

var errTruncated = errors.New("the message is cut off or no protobuf")

// fields calls do with every field of a message. It refuses groups, which are obsolete.
func fields(message []byte, do func(f field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		// A repeated number may come packed into bytes or one by one, and a reader must take both
		// forms. The field says which it was.
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
			f.packed = true
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			f.bits = uint64(v)
		default:
			return fmt.Errorf("field %d has the wire type %d", number, kind)
		}
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// SeriesV2 reads the protobuf body of /api/v2/series.
func SeriesV2(body []byte, l Limits) ([]Series, error) {
	return listed(body, l, "/api/v2/series", metricSeries)
}

// SketchesV1 reads the protobuf body of /api/beta/sketches.
func SketchesV1(body []byte, l Limits) ([]Series, error) {
	return listed(body, l, "/api/beta/sketches", sketchSeries)
}

// listed reads a message whose field 1 is repeated and holds the series.
func listed(body []byte, l Limits, path string, read func([]byte) (Series, error)) ([]Series, error) {
	var out []Series
	err := fields(body, func(f field) error {
		if f.number != 1 {
			return nil
		}
		if err := l.room(len(out)); err != nil {
			return err
		}
		s, err := read(f.bytes)
		if err == nil {
			err = l.check(&s, len(out))
		}
		out = append(out, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the body is not the protobuf of %s: series %d: %w", path, max(0, len(out)-1), err)
	}
	return out, nil
}

// metricSeries reads the message of one series. Field numbers are those of the receiver's
// definition; it skips others, as newer agents send more.
func metricSeries(message []byte) (s Series, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case 1:
			return s.readResource(f.bytes)
		case 2:
			s.Metric = string(f.bytes)
		case 3:
			s.Tags = append(s.Tags, string(f.bytes))
		case 4:
			return s.readPoint(f.bytes)
		case 5:
			if f.bits > uint64(Gauge) {
				return fmt.Errorf("the type is %d; types are 0 to 3", f.bits)
			}
			s.Kind = Kind(f.bits)
		case 8:
			s.Interval = int64(f.bits)
		}
		return nil
	})
	return s, err
}

func (s *Series) readResource(message []byte) error {
	var kind, name string
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			kind = string(f.bytes)
		case 2:
			name = string(f.bytes)
		}
		return nil
	})
	s.resource(kind, name)
	return err
}

func (s *Series) readPoint(message []byte) error {
	var p Point
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			p.Value = f.float()
		case 2:
			p.Time = int64(f.bits)
		}
		return nil
	})
	s.Points = append(s.Points, p)
	return err
}

// sketchSeries reads the message of one series of distributions.
func sketchSeries(message []byte) (Series, error) {
	s := Series{Kind: Sketch}
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			s.Metric = string(f.bytes)
		case 2:
			s.Host = string(f.bytes)
		case 4:
			s.Tags = append(s.Tags, string(f.bytes))
		case 7:
			d, err := distribution(f.bytes)
			s.Sketches = append(s.Sketches, d)
			return err
		}
		return nil
	})
	return s, err
}

// distribution reads one distribution. Keys and counts are parallel lists, which may differ in
// length.
func distribution(message []byte) (d Distribution, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case 1:
			d.Time = int64(f.bits)
		case 2:
			d.Count = int64(f.bits)
		case 3:
			d.Min = f.float()
		case 4:
			d.Max = f.float()
		case 5:
			d.Average = f.float()
		case 6:
			d.Sum = f.float()
		case 7:
			return numbers(f, func(n uint64) { d.Keys = append(d.Keys, int32(protowire.DecodeZigZag(n))) })
		case 8:
			return numbers(f, func(n uint64) { d.Counts = append(d.Counts, uint32(n)) })
		}
		return nil
	})
	if err == nil && len(d.Keys) != len(d.Counts) {
		err = fmt.Errorf("a distribution has %d keys and %d counts", len(d.Keys), len(d.Counts))
	}
	return d, err
}

// numbers reads a repeated integer, which may come packed or one by one.
func numbers(f field, add func(uint64)) error {
	if !f.packed {
		add(f.bits)
		return nil
	}
	for b := f.bytes; len(b) > 0; {
		n, size := protowire.ConsumeVarint(b)
		if size < 0 {
			return errTruncated
		}
		add(n)
		b = b[size:]
	}
	return nil
}
