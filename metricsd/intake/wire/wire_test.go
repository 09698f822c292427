package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

func text(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func message(b []byte, n protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func double(b []byte, n protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), math.Float64bits(v))
}

// one is the series that all forms below encode.
var one = Series{
	Metric: "app.requests", Host: "web-1", Tags: []string{"env:prod", "device:sda"}, Kind: Count, Interval: 10,
	Points: []Point{{1700000000, 3}, {1700000010, 4.5}},
}

func payloadV2() []byte {
	s := message(nil, 1, text(text(nil, 1, "host"), 2, "web-1"))
	s = text(s, 2, "app.requests")
	s = text(s, 3, "env:prod")
	s = message(s, 1, text(text(nil, 1, "device"), 2, "sda"))
	s = message(s, 4, number(double(nil, 1, 3), 2, 1700000000))
	s = message(s, 4, number(double(nil, 1, 4.5), 2, 1700000010))
	s = number(number(s, 5, 1), 8, 10)
	s = text(s, 7, "a source type, read over")
	return message(nil, 1, s)
}

const payloadV1 = `{"series":[{"metric":"app.requests","host":"web-1","tags":["env:prod"],"device":"sda","type":"count","interval":10,
	"points":[[1700000000,3],[1700000005,null],[1700000010,4.5]],"source_type_name":"System"}]}`

const payloadV2JSON = `{"series":[{"metric":"app.requests","tags":["env:prod"],"type":1,"interval":10,"unit":"hit",
	"resources":[{"type":"host","name":"web-1"},{"type":"device","name":"sda"}],
	"points":[{"timestamp":1700000000,"value":3},{"timestamp":1700000010,"value":4.5}]}]}`

func TestSeriesOfEveryVersion(t *testing.T) {
	for name, read := range map[string]func() ([]Series, error){
		"v1":      func() ([]Series, error) { return SeriesV1([]byte(payloadV1), DefaultLimits()) },
		"v2 JSON": func() ([]Series, error) { return SeriesV2JSON([]byte(payloadV2JSON), DefaultLimits()) },
		"v2":      func() ([]Series, error) { return SeriesV2(payloadV2(), DefaultLimits()) },
	} {
		got, err := read()
		if err != nil || !reflect.DeepEqual(got, []Series{one}) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, one)
		}
	}
}

func sketchPayload() []byte {
	d := number(number(nil, 1, 1700000000), 2, 5)
	d = double(double(double(double(d, 3, -1), 4, 9), 5, 2), 6, 10)
	d = message(d, 7,
		protowire.AppendVarint(protowire.AppendVarint(nil, protowire.EncodeZigZag(-3)), protowire.EncodeZigZag(7)))
	d = number(number(d, 8, 2), 8, 3) // not packed
	return message(nil, 1, message(text(text(text(nil, 1, "lat"), 2, "h"), 4, "a:b"), 7, d))
}

func TestSketches(t *testing.T) {
	got, err := SketchesV1(sketchPayload(), DefaultLimits())
	want := []Series{{Metric: "lat", Host: "h", Tags: []string{"a:b"}, Kind: Sketch, Sketches: []Distribution{
		{Time: 1700000000, Count: 5, Min: -1, Max: 9, Average: 2, Sum: 10, Keys: []int32{-3, 7}, Counts: []uint32{2, 3}},
	}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestBatch(t *testing.T) {
	sketches, err := SketchesV1(sketchPayload(), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	batch := append(sketches, one, Series{Metric: "bare", Kind: Gauge, Points: []Point{{-5, math.Inf(-1)}}})
	parcels := []Parcel{{ID: ID{1, 15: 9}, Series: batch[:1]}, {ID: ID{2}}, {Series: batch[1:]}}
	for _, customer := range []string{"", "acme"} { // the first keeps the form of older programs
		parcels[1].Customer = customer
		got, err := Decode(Encode(parcels))
		if err != nil || !reflect.DeepEqual(got, parcels) {
			t.Errorf("got %+v, %v; want %+v", got, err, parcels)
		}
	}
	if got, err := Decode(Encode(nil)); err != nil || len(got) != 0 {
		t.Errorf("an empty batch: got %+v, %v", got, err)
	}
}

var packers = map[string]func([]byte) []byte{
	"": func(b []byte) []byte { return b },
	"deflate": func(b []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	},
	"gzip": func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	},
	"zstd": func(b []byte) []byte {
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll(b, nil)
	},
}

func TestOpen(t *testing.T) {
	want := []byte(strings.Repeat("metric ", 1000))
	for encoding, pack := range packers {
		for range 2 { // the second gets a reader that was used before
			got, err := Open(bytes.NewReader(pack(want)), encoding, DefaultLimits())
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%q: got %d bytes, %v", encoding, len(got), err)
			}
		}
	}
	if _, err := Open(strings.NewReader("x"), "br", DefaultLimits()); err == nil {
		t.Error("an unknown encoding was taken")
	}
}

func TestBombsAreRefused(t *testing.T) {
	small := Limits{Body: 1 << 20, Opened: 1 << 20}
	bomb := make([]byte, 64<<20)
	for encoding, pack := range packers {
		if _, err := Open(bytes.NewReader(pack(bomb)), encoding, small); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q: 64 MB for 1: got %v", encoding, err)
		}
	}
	exact := make([]byte, 1<<20)
	for encoding, pack := range packers {
		if got, err := Open(bytes.NewReader(pack(exact)), encoding, small); err != nil || len(got) != len(exact) {
			t.Errorf("%q: a body of exactly the bound: got %d bytes, %v", encoding, len(got), err)
		}
	}
}

func TestBadSeriesAreRefused(t *testing.T) {
	tight := Limits{Series: 1, Name: 12, Tags: 1}
	for name, body := range map[string]string{
		"no JSON":      `{"series":[`,
		"no name":      `{"series":[{"points":[[1,2]]}]}`,
		"long name":    `{"series":[{"metric":"0123456789abc"}]}`,
		"long host":    `{"series":[{"metric":"a","host":"0123456789abc"}]}`,
		"long tag":     `{"series":[{"metric":"a","tags":["0123456789abc"]}]}`,
		"many tags":    `{"series":[{"metric":"a","tags":["b","c"]}]}`,
		"many series":  `{"series":[{"metric":"a"},{"metric":"b"}]}`,
		"wrong points": `{"series":[{"metric":"a","points":[[1,"x"]]}]}`,
	} {
		if got, err := SeriesV1([]byte(body), tight); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
	for name, body := range map[string][]byte{
		"cut off":       payloadV2()[:40],
		"type 4":        message(nil, 1, number(text(nil, 2, "a"), 5, 4)),
		"group":         protowire.AppendTag(nil, 1, protowire.StartGroupType),
		"no metric":     message(nil, 1, nil),
		"bad sub-field": message(nil, 1, message(text(nil, 2, "a"), 4, []byte{0xff})),
	} {
		if got, err := SeriesV2(body, DefaultLimits()); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
	uneven := message(nil, 1, message(text(nil, 1, "lat"), 7, number(nil, 7, 2)))
	if _, err := SketchesV1(uneven, DefaultLimits()); err == nil {
		t.Error("a sketch with keys and no counts was taken")
	}
}

func TestPartsOfARequestDiffer(t *testing.T) {
	known := map[ID]bool{}
	for _, id := range []ID{{}, {1}, {15: 255, 14: 255, 13: 255, 12: 255}} {
		for i := range 300 {
			known[id.Part(i)] = true
		}
	}
	if id := (ID{3}); id.Part(0) != id || len(known) != 300+300+1 { // the third wraps into the first
		t.Errorf("%d different parts", len(known))
	}
}

// FuzzBodies reads any bytes by every path.
func FuzzBodies(f *testing.F) {
	f.Add([]byte(payloadV1))
	f.Add([]byte(payloadV2JSON))
	f.Add(payloadV2())
	f.Add(sketchPayload())
	for _, pack := range packers {
		f.Add(pack([]byte(payloadV1)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l := Limits{Body: 1 << 16, Opened: 1 << 18, Series: 100, Name: 100, Tags: 10}
		for encoding := range packers {
			if out, err := Open(bytes.NewReader(body), encoding, l); err == nil && int64(len(out)) > l.Opened {
				t.Fatalf("%q gave %d bytes", encoding, len(out))
			}
		}
		for _, read := range []func([]byte, Limits) ([]Series, error){SeriesV1, SeriesV2JSON, SeriesV2, SketchesV1} {
			series, err := read(body, l)
			if err != nil {
				continue
			}
			again, err := Decode(Encode([]Parcel{{Series: series}}))
			if err != nil || len(again) != 1 || len(again[0].Series) != len(series) {
				t.Fatalf("%d series came back as %d parcels: %v", len(series), len(again), err)
			}
		}
	})
}

// FuzzDecode reads any bytes as a message of the queue.
func FuzzDecode(f *testing.F) {
	f.Add(Encode([]Parcel{{ID: ID{1}, Series: []Series{one}}}))
	f.Add(Encode([]Parcel{{ID: ID{1}, Customer: "acme", Series: []Series{one}}, {}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if batch, err := Decode(packed); err == nil {
			Encode(batch)
		}
		if e, err := Decode(packers["zstd"](packed)); err == nil {
			Encode(e)
		}
	})
}
