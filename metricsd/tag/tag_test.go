package tag

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "",
		"ok":                  "ok",
		"#test_starting_hash": "test_starting_hash",
		"TestCAPSandSuch":     "testcapsandsuch",
		"Test Conversion !":   "test_conversion",
		"$#weird_starting":    "weird_starting",
		"allowed:c0l0ns":      "allowed:c0l0ns",
		"1love":               "love",
		"/love2":              "love2",
		":colon":              ":colon",
		"ünicöde":             "ünicöde",
		"ÜNICÖDE":             "ünicöde",
		"ünicöde:metäl":       "ünicöde:metäl",
		"Data🐨dog🐶 繋がっ⛰てて":    "data_dog_繋がっ_てて",
		" spaces ":            "spaces",
		"a__b___c_":           "a_b_c",
		"_a":                  "a",
		"a_":                  "a",
		"a/b.c-d:e":           "a/b.c-d:e",
		"a\xff\xfeb":          "a_b",
		"a\uFFFDb":            "a_b",
		"a\xff":               "a",
		"\xffa":               "a",
		"a٣":                  "a٣",
		"ſ":                   "ſ",
		"İx":                  "İx",
		"...":                 "",
		"Ⱥ":                   "Ⱥ",
		"a\x00b":              "a_b",
		"A00000 ":             "a00000",
		"fun:ky__tag/1":       "fun:ky_tag/1",
		"test\x99\x8faaa":     "test_aaa",
		"k:v,w|x":             "k:v_w_x",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNormalizeLimits(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, test := range []struct{ name, in, want string }{
		{"200", a(200), a(200)},
		{"201", a(201), a(200)},
		{"trailing underscore at 200", a(199) + "_", a(199)},
		{"underscore at 200, more after", a(199) + "_b", a(199)},
		{"underscore at 199", a(198) + "_b", a(198) + "_b"},
		{"a run counts whole", a(100) + strings.Repeat("!", 99) + "bc", a(100) + "_b"},
		{"dropped start does not count", strings.Repeat("1", 150) + a(201), strings.Repeat("a", 200)},
		{"nothing from byte 400 on", strings.Repeat("1", 399) + "ab", "a"},
		{"start beyond byte 400", strings.Repeat("1", 400) + "a", ""},
		{"three-byte letters", strings.Repeat("繋", 200), strings.Repeat("繋", 134)},
		{"dogs", "a" + strings.Repeat("🐶", 799) + "b", "a"},
		{"digits", "A" + strings.Repeat("0", 200) + " " + strings.Repeat("0", 11), "a" + strings.Repeat("0", 199)},
	} {
		if got := Normalize(test.in); got != test.want {
			t.Errorf("%s: got %q (%d runes), want %q", test.name, got, utf8.RuneCountInString(got), test.want)
		}
	}
}

func TestNormalizeValue(t *testing.T) {
	for in, want := range map[string]string{
		"":      "",
		"1love": "1love",
		".5":    ".5",
		"/path": "/path",
		"-1":    "-1",
		"!!go":  "_go",
		"_x":    "_x",
		"!!":    "",
		"\xff1": "_1",
		"A b":   "a_b",
		"200_":  "200",
		":x":    ":x",
	} {
		if got := NormalizeValue(in); got != want {
			t.Errorf("NormalizeValue(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNormalizeTagArbTagValue(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"Env:Prod":                      "env:Prod",
		"My Key:Some Value (x86)":       "my_key:Some Value (x86)",
		"k:a,b|c":                       "k:a_b_c",
		"k:\xff\xfe\x00":                "k:",
		"k: padded ":                    "k:padded",
		"k:a\nb":                        "k:a_b",
		"k:a:b":                         "k:a:b",
		"Bare Word":                     "bare_word",
		"!!:value":                      "",
		"k:" + strings.Repeat("é", 300): "k:" + strings.Repeat("é", 200),
	} {
		if got := NormalizeTagArbTagValue(in); got != want {
			t.Errorf("NormalizeTagArbTagValue(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzNormalize holds what must be true of any input to the three functions.
func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{"Env:Prod", "a\xff_b", "1x", strings.Repeat("a_", 150), "繋がっ⛰てて", "İ:ſ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for name, normalize := range map[string]func(string) string{
			"Normalize": Normalize, "NormalizeValue": NormalizeValue, "NormalizeTagArbTagValue": NormalizeTagArbTagValue,
		} {
			got := normalize(in)
			if again := normalize(got); again != got {
				t.Errorf("%s(%q) = %q, again %q", name, in, got, again)
			}
			if !utf8.ValidString(got) || strings.Contains(got, "__") || strings.HasSuffix(got, "_") ||
				strings.ContainsAny(got, ",|\n") {
				t.Errorf("%s(%q) = %q breaks a rule", name, in, got)
			}
			if n := utf8.RuneCountInString(got); n > 2*maxRunes+1 {
				t.Errorf("%s(%q) has %d runes", name, in, n)
			}
		}
	})
}

func TestMergeTags(t *testing.T) {
	for _, test := range []struct{ a, b, want []string }{
		{nil, nil, nil},
		{[]string{"a"}, nil, []string{"a"}},
		{[]string{"a", "c"}, []string{"b", "c", "d"}, []string{"a", "b", "c", "d"}},
		{[]string{"c", "a", "c"}, []string{"b", "a"}, []string{"a", "b", "c"}},
		{[]string{"a", "a"}, []string{"a", "a"}, []string{"a"}},
		{[]string{""}, []string{"", "x"}, []string{"", "x"}},
	} {
		if got := MergeTags(test.a, test.b); !slices.Equal(got, test.want) {
			t.Errorf("MergeTags(%q, %q) = %q, want %q", test.a, test.b, got, test.want)
		}
	}
}

func TestMergeTagsAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() []string {
		tags := make([]string, rng.IntN(8))
		for i := range tags {
			tags[i] = string(rune('a' + rng.IntN(6)))
		}
		return tags
	}
	for range 2000 {
		a, b := random(), random()
		wasA, wasB := slices.Clone(a), slices.Clone(b)
		want := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
		got := MergeTags(a, b)
		if !slices.Equal(got, want) {
			t.Fatalf("MergeTags(%q, %q) = %q, want %q", a, b, got, want)
		}
		for i := range got {
			got[i] = "changed"
		}
		if !slices.Equal(a, wasA) || !slices.Equal(b, wasB) {
			t.Fatalf("MergeTags changed or shares its input: %q %q", a, b)
		}
	}
}
