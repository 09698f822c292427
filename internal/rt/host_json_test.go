package rt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const thisPackage = "github.com/beagle-go/beagle/internal/rt"

func testTypes(name string) *Shape {
	if t := lookupType(name, map[string]reflect.Type{thisPackage + ".point": reflect.TypeOf(point{})}); t != nil {
		return ShapeOf(t, thisPackage)
	}
	return nil
}

func jsonSamples() []any {
	pt, buf, loop := &point{1, 2}, []int{1, 2, 3, 4}, &treeNode{name: "loop"}
	loop.next = loop
	m := map[string]int{"a": 1}
	var nilp *point
	return []any{
		&everything{
			b: true, i8: -128, u64: math.MaxUint64, f32: float32(math.Inf(1)), c: complex(math.NaN(), -1),
			s: "\x00\xff", bs: append(make([]byte, 0, 9), "abc"...),
			strs: []string{"<>&\u2028", "x"}, m: map[string][]int{"b": nil, "$a": {1}},
			mi: map[int8]bool{3: true, -4: false}, p: pt, any: point{5, 6},
			err: fmt.Errorf("wrapped: %w", io.EOF), r: strings.NewReader("text"), t: time.Unix(1, 2),
			ip:   netip.MustParseAddr("10.0.0.1"),
			nest: map[point]map[string]*treeNode{{1, 1}: {"k": {name: "n"}}},
		},
		&everything{f32: math.Float32frombits(0x7fa00001)},
		&struct {
			P  *point
			Q  *int
			S  []int
			T  []int
			N  *treeNode
			M  map[string]int
			K  map[string]int
			PP **point
			RR **point
		}{pt, &pt.y, buf[:2], buf[1:3:3], loop, m, m, &pt, &nilp},
		&struct {
			A any
			B any
			C []any
			F [2]float64
		}{[]byte("x"), 2.5, []any{nil, true, "s", map[string]any{"k": 1}},
			[2]float64{math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000003)}},
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for _, sample := range jsonSamples() {
		want, err := EncodeValue(sample)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := ParseValue(want)
		text := v.JSON()
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		got, err := ParseJSON(text, ShapeOf(reflect.TypeOf(sample).Elem(), thisPackage), testTypes)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if b := got.Append(nil); !bytes.Equal(b, want) {
			t.Errorf("%s\nreads as %s\n%x\n%x", text, got.JSON(), b, want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	type args struct {
		A0 string
		A1 []point
		A2 *int8
		A3 io.Reader
		A4 map[int]float64
		A5 [2]bool
		A6 netip.Addr
	}
	s := ShapeOf(reflect.TypeFor[args](), thisPackage)
	for _, c := range []struct{ in, path, want string }{
		{`{"A0": 3}`, ".A0", "string is wanted, and this is the number 3"},
		{`{"A1": [{"x": 1}, {"z": 1}]}`, ".A1[1]", `point has no field "z"; its fields are x, y`},
		{`{"A1": [[1,2,3]]}`, ".A1[0]", "3 values are given for the 2 fields x, y"},
		{`{"A2": 300}`, ".A2", "300 is not a value of type int8"},
		{`{"A2": 1.5}`, ".A2", "1.5 is not a value of type int8"},
		{`{"A3": "x"}`, ".A3", "the dynamic type must be given for io.Reader"},
		{`{"A3": {"$type": "nobody.Knows", "value": 1}}`, ".A3", `the type "nobody.Knows" is not known`},
		{`{"A4": {"x": 1}}`, `.A4["x"]`, "x is not a value of type int"},
		{`{"A5": [true]}`, ".A5", "[2]bool is wanted, and this is a list of 1"},
		{`{"A6": "nowhere"}`, ".A6", "netip.Addr: ParseAddr"},
		{`{"A0": "x"`, "", "unexpected EOF"},
		{"{\"A0\": \"\xff\"}", "", "not valid UTF-8"},
		{`{"B": 1}`, "", `args has no field "B"`},
		{`{"A1": {"$cap": 1, "value": [[1,2],[3,4]]}}`, ".A1", "a capacity of 1 is less than the length"},
	} {
		_, err := ParseJSON([]byte(c.in), s, nil)
		var je *JSONError
		if !errors.As(err, &je) || je.Path != c.path || !strings.Contains(je.Error(), c.want) {
			t.Errorf("%s: got %v at %+v, wanted %s at %s", c.in, err, je, c.want, c.path)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	shapes := []*Shape{}
	for _, sample := range jsonSamples() {
		b, _ := EncodeValue(sample)
		v, _ := ParseValue(b)
		f.Add(v.JSON())
		shapes = append(shapes, ShapeOf(reflect.TypeOf(sample).Elem(), thisPackage))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i, s := range shapes {
			v, err := ParseJSON(b, s, testTypes)
			if err != nil {
				continue
			}
			bin := v.Append(nil)
			if _, err := ParseValue(bin); err != nil {
				t.Fatalf("%s is accepted and written as %x, which does not read: %v", b, bin, err)
			}
			if again, err := ParseJSON(v.JSON(), s, testTypes); err != nil || !bytes.Equal(again.Append(nil), bin) {
				t.Fatalf("shape %d: %s reads differently the second time: %s (%v)", i, b, v.JSON(), err)
			}
			v.Go(s, testTypes)
		}
	})
}

// TestGoLiteralsMeanTheSame: the literals are compiled, run, and encoded again: the same bytes must
// come out.
func TestGoLiteralsMeanTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	pt, buf := &point{1, 2}, []int{1, 2, 3, 4}
	one := int8(1)
	m := map[string]int{"a": 1}
	loop := &treeNode{name: "loop"}
	loop.next, loop.kids = loop, []*treeNode{{name: "x"}}
	a := &literalArgs{
		S: "q\"\xff", B: []byte("b"), C: append(make([]byte, 0, 8), 1), L: append(make([]string, 0, 4), "x"), P: pt,
		Q: &pt.y, I: &one, T: buf[:2], U: buf[1:3:3],
		M: m, K: m, N: loop,
		A: []any{nil, 1, int8(2), "s", 2.5, float32(1), point{1, 2}, &point{3, 4}, []byte(nil), kind(7), time.Second},
		F: []float64{math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1e300, 3}, G: []float32{float32(math.Inf(1)), 0.1},
		X: complex(1, math.Inf(1)),
		E: errors.New("text"), O: io.EOF, R: strings.NewReader("r"), W: time.Unix(5, 6).UTC(), D: [3]point{
			1: {x: 1},
		}, H: map[kind][]point{1: {{1, 2}}, 0: nil},
		IP: netip.MustParseAddr("::1"), Z: []kind{},
	}
	want, err := Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := ParseValue(want)
	lit, err := GoArgs(&v, ShapeOf(reflect.TypeFor[literalArgs](), thisPackage), func(name string) *Shape {
		if t := lookupType(name,
			map[string]reflect.Type{
				thisPackage + ".point": reflect.TypeFor[point](),
				thisPackage + ".kind":  reflect.TypeFor[kind](),
			}); t != nil {
			return ShapeOf(t, thisPackage)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	src := "package rt\nimport (\"os\"; \"testing\"; \"errors\"; \"io\"; \"math\"; \"strings\"; \"time\"; " +
		"\"net/netip\")\nfunc TestLiteral(t *testing.T) {\n" + strings.Join(lit.Setup, "\n") +
		"\nb, err := Encode(&literalArgs{" + strings.Join(lit.Exprs, ",\n") +
		"})\nif err != nil { t.Fatal(err) }\nos.WriteFile(os.Getenv(\"LITERAL_OUT\"), b, 0o644)\n}\n" +
		"var _ = errors.New\nvar _ = io.EOF\n"
	if got := runLiteral(t, src); !bytes.Equal(got, want) {
		t.Errorf("another value came out of\n%s", src)
	}
}

type kind uint8

type literalArgs struct {
	S    string
	B, C []byte
	L    []string
	P    *point
	Q    *int
	I    *int8
	T, U []int
	M, K map[string]int
	N    *treeNode
	A    []any
	F    []float64
	G    []float32
	X    complex128
	E, O error
	R    io.Reader
	W    time.Time
	D    [3]point
	H    map[kind][]point
	IP   netip.Addr
	Z    []kind
}

func runLiteral(t *testing.T, src string) []byte {
	dir := t.TempDir()
	wd, _ := os.Getwd()
	out, file, overlay := filepath.Join(dir, "out"), filepath.Join(dir, "literal_test.go"),
		filepath.Join(dir, "overlay.json")
	replace := map[string]string{filepath.Join(wd, "zz_literal_test.go"): file}
	others, _ := filepath.Glob(filepath.Join(wd, "*_test.go"))
	for _, other := range others { // they take long to compile; two have the types
		if name := filepath.Base(other); name != "host_json_test.go" && name != "value_test.go" {
			replace[other] = ""
		}
	}
	o, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := errors.Join(os.WriteFile(file, []byte(src), 0o644), os.WriteFile(overlay, o, 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-overlay", overlay, "-run", "^TestLiteral$", ".")
	cmd.Env = append(os.Environ(), "LITERAL_OUT="+out)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, msg, src)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
