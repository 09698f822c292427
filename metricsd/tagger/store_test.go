package tagger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// storeAt makes a store whose clock a test sets.
func storeAt(o StoreOptions) (s *Store, pass func(time.Duration)) {
	now := time.Unix(1_800_000_000, 0)
	o.Now = func() time.Time { return now }
	return NewStore(o), func(d time.Duration) { now = now.Add(d) }
}

func low(tags ...string) Entity { return Entity{Low: tags} }

// has compares a store's report with ids and their tags of low cardinality.
func has(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	all, _ := s.take()
	got := map[string]string{}
	for id, e := range all {
		got[id] = strings.Join(e.Low, " ")
	}
	if !maps.Equal(got, want) {
		t.Errorf("the store tells %v, want %v", got, want)
	}
}

func TestStore(t *testing.T) {
	s, pass := storeAt(StoreOptions{Keep: time.Minute})
	docker, pods := s.Feed(), s.Feed()
	docker.Put("c1", map[string]Entity{"c1": low("image_name:x")})
	pods.Put("p1", map[string]Entity{"p1": low("pod:1"), "c1": low("pod:1", "ns:a"), "c2": low("pod:1")})
	has(t, s, map[string]string{"c1": "image_name:x ns:a pod:1", "p1": "pod:1", "c2": "pod:1"})
	if _, changed := s.take(); changed {
		t.Error("nothing has changed, and that is told")
	}
	pods.Put("p1", map[string]Entity{"p1": low("pod:1"), "c1": low("pod:1", "ns:a"), "c2": low("pod:1")})
	if _, changed := s.take(); changed {
		t.Error("the same was put, and told as a change")
	}
	// A container is started anew in its pod: the old one stays for a while.
	pods.Put("p1", map[string]Entity{"p1": low("pod:1"), "c1": low("pod:1"), "c3": low("pod:1")})
	has(t, s, map[string]string{"c1": "image_name:x pod:1", "p1": "pod:1", "c2": "pod:1", "c3": "pod:1"})
	docker.Drop("c1")
	pass(59 * time.Second)
	if _, changed := s.take(); changed {
		t.Error("what has just ended is forgotten")
	}
	pass(time.Second)
	has(t, s, map[string]string{"c1": "pod:1", "p1": "pod:1", "c3": "pod:1"})
	pods.Put("p2", map[string]Entity{"p2": low("pod:2")})
	pods.Sync(map[string]bool{"p2": true}) // p1 is not in the list any more
	pass(time.Minute)
	has(t, s, map[string]string{"p2": "pod:2"})
	pods.Drop("p2") // it comes back before it is forgotten
	pods.Put("p2", map[string]Entity{"p2": low("pod:2")})
	pass(time.Hour)
	has(t, s, map[string]string{"p2": "pod:2"})
	if n, refused := pods.Stats(); n != 1 || refused != 0 || s.count != 1 {
		t.Errorf("%d entities, %d refused, %d counted", n, refused, s.count)
	}
}

// TestStoreIsBounded puts more containers than there is room for, and starts containers anew all
// the time.
func TestStoreIsBounded(t *testing.T) {
	s, pass := storeAt(StoreOptions{Most: 10, Keep: time.Minute})
	f := s.Feed()
	for i := range 15 {
		id := fmt.Sprint("c", i)
		f.Put(id, map[string]Entity{id: low("x:y")})
	}
	if n, refused := f.Stats(); n != 10 || refused != 5 {
		t.Errorf("%d entities, %d refused", n, refused)
	}
	for i := range 100 {
		f.Put("c0", map[string]Entity{fmt.Sprint("again", i): low("x:y")})
		if n, _ := f.Stats(); n > 10 || n != s.count {
			t.Fatalf("%d entities, %d counted", n, s.count)
		}
	}
	f.Sync(nil)
	pass(time.Minute)
	if all, changed := s.take(); len(all) != 0 || !changed || s.count != 0 {
		t.Errorf("%d are left, %d counted", len(all), s.count)
	}
	f.Put("new", map[string]Entity{"new": low("x:y")})
	has(t, s, map[string]string{"new": "x:y"})
}

// TestAFullStoreKeepsWhatItKnows has a pod start another container when there is no room for it:
// the pod keeps its tags.
func TestAFullStoreKeepsWhatItKnows(t *testing.T) {
	s, pass := storeAt(StoreOptions{Most: 2, Keep: time.Minute})
	f := s.Feed()
	f.Put("pod", map[string]Entity{"pod": low("ns:shop")})
	f.Put("other", map[string]Entity{"other": low("x:y")})
	f.Drop("pod")
	f.Put("pod", map[string]Entity{"pod": low("ns:shop"), "c1": low("ns:shop")})
	pass(time.Minute)
	has(t, s, map[string]string{"pod": "ns:shop", "other": "x:y"})
	if n, refused := f.Stats(); n != 2 || refused != 1 || s.count != 2 {
		t.Errorf("%d entities, %d refused, %d counted", n, refused, s.count)
	}
}

func TestRunTellsChanges(t *testing.T) {
	s := NewStore(StoreOptions{Settle: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan map[string]Entity)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, func(all map[string]Entity) { told <- all })
	}()
	f := s.Feed()
	f.Put("a", map[string]Entity{"a": low("x:y")})
	if all := <-told; len(all) != 1 {
		t.Errorf("told %v", all)
	}
	cancel()
	<-ended
}

func TestLabels(t *testing.T) {
	l, err := ParseLabels(" team , app.kubernetes.io/name=app,,tier = Tier ")
	if err != nil {
		t.Fatal(err)
	}
	got := l.Tags(map[string]string{"team": "a b", "app.kubernetes.io/name": "web\n", "tier": "", "other": "x"})
	if want := []string{"app:web", "team:a b"}; !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	for _, list := range []string{"=x", "x=", "a,=b"} {
		if _, err := ParseLabels(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
}

func TestImage(t *testing.T) {
	for image, want := range map[string]string{
		"nginx":                       "image_name:nginx short_image:nginx",
		"nginx:1.27":                  "image_name:nginx short_image:nginx image_tag:1.27",
		"registry:5000/team/web":      "image_name:registry:5000/team/web short_image:web",
		"registry:5000/team/web:v2":   "image_name:registry:5000/team/web short_image:web image_tag:v2",
		"example.org/a/b:v2@sha256:0": "image_name:example.org/a/b short_image:b image_tag:v2",
		"sha256:0123":                 "",
		"":                            "",
		"a/":                          "image_name:a/",
	} {
		if got := strings.Join(Image(nil, image), " "); got != want {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}

// FuzzLabels reads lists and values that people have written: each tag has a name and a value
// without control characters, of bounded length.
func FuzzLabels(f *testing.F) {
	f.Add("a=b,c", "c", "x\x00y", "r:5/a:b@c")
	f.Fuzz(func(t *testing.T, list, label, value, image string) {
		tags := Image(nil, image)
		if l, err := ParseLabels(list); err == nil {
			tags = append(tags, l.Tags(map[string]string{label: value})...)
		}
		for _, one := range tags {
			name, value, _ := strings.Cut(one, ":")
			if name == "" && !strings.Contains(list, ":") || value == "" ||
				len(one) > maxValue+1+max(len(list), len("short_image")) ||
				strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("tag %q", one)
			}
		}
	})
}
