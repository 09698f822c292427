package intake

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/tag"
)

// TestShortWaysOfTags checks that the fast paths give the same tags as normalising.
func TestShortWaysOfTags(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "z", "A", "Z", "0", "9", ":", ".", "/", "-", "_", "__", " ", "é", "É", "\xff", "ſ",
		"@", "[", "`", "{"}
	for range 100_000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		if in := b.String(); tagText(in) != tag.Normalize(in) {
			t.Fatalf("%q becomes %q, want %q", in, tagText(in), tag.Normalize(in))
		}
	}
	for n := range 2 * maxTag {
		for _, in := range []string{strings.Repeat("a", n), strings.Repeat("A", n), strings.Repeat("a", n) + "_b"} {
			if tagText(in) != tag.Normalize(in) {
				t.Fatalf("%d bytes: %q becomes %q, want %q", n, in, tagText(in), tag.Normalize(in))
			}
		}
	}
}

func FuzzTagText(f *testing.F) {
	for _, seed := range []string{"env:prod", "Env:Prod", "a__b", "_a", "a_", "1a", strings.Repeat("a", 201)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if got, want := tagText(in), tag.Normalize(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	})
}

// TestVerbatimTags checks which values stay as they were written: those of the operator's keys, in
// any spelling, and no others.
func TestVerbatimTags(t *testing.T) {
	r := start(t, t.TempDir(), Options{Verbatim: "URL, build path"})
	r.post(body("web.hits", "", 1, "Url:/Users/{id}?Page=1", "Build Path:C:\\Program Files\\x", "Team:Checkout Core",
		"url", "path:/Users/{id}"))
	want := []string{"build_path:C:\\Program Files\\x", "path:/users/_id", "team:checkout_core", "url",
		"url:/Users/{id}?Page=1"}
	r.eventually("the tags", func() bool { return slices.Equal(r.names("kind=tag"), want) })
}

// TestTagsAreFoundAsTyped checks that people find tags as they see them elsewhere, normalised or
// not.
func TestTagsAreFoundAsTyped(t *testing.T) {
	r := start(t, t.TempDir(), Options{Verbatim: "url"})
	r.post(body("web.hits", "", 1, "image_tag:2026.11.7", "pod_name:checkout-1", "podium:x", "url:/Users/A b"))
	r.eventually("the tags", func() bool { return len(r.names("kind=tag")) == 4 })
	for query, want := range map[string]string{
		"prefix=Pod Name:Check":  "pod_name:checkout-1",
		"prefix=Pod_":            "pod_name:checkout-1",
		"prefix=pod":             "pod_name:checkout-1 podium:x",
		"prefix=URL:/Users/A b":  "url:/Users/A b",
		"prefix=url:/users":      "",
		"contains=2026.11":       "image_tag:2026.11.7",
		"contains=TAG:2026":      "image_tag:2026.11.7",
		"contains=Checkout":      "pod_name:checkout-1",
		"contains=Users/A b":     "url:/Users/A b",
		"contains=NAME:CHECKOUT": "pod_name:checkout-1",
	} {
		key, value, _ := strings.Cut(query, "=")
		if got := strings.Join(r.names("kind=tag&"+key+"="+url.QueryEscape(value)), " "); got != want {
			t.Errorf("%s: found %q, want %q", query, got, want)
		}
	}
}
