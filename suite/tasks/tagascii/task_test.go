package tagascii

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// traffic is what an intake receives: 16,384 tags of 8 to 60 bytes, nearly all
// of them clean, 4 % with capitals, spaces or doubled underscores, 3 % not
// ASCII.
var traffic = makeTraffic(16384)

func makeTraffic(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tags := make([]string, 0, n)
	for range n {
		switch p := rng.IntN(100); {
		case p < 3:
			tags = append(tags,
				pick("city:", "region:", "team:")+pick("münchen", "東京", "são-paulo", "Łódź", "naïve café")+"-"+word())
		case p < 7:
			tags = append(tags, pick("Env:", "Service Name:", "_version:", "http.url:")+
				pick("Prod ", "V1,", "a b  c", "x__y_")+word())
		default:
			key := pick("env", "service", "host", "pod_name", "kube_namespace", "version", "http.status_code",
				"availability-zone")
			value := pick("prod", "staging", "intake-"+word(), "i-"+word()+word(), "web_"+word()+"."+word(),
				"eu/west/"+word(), "/api/v2/"+word()+"/"+word())
			tags = append(tags, key+":"+value)
		}
	}
	return tags
}

func TestIsNormalizedASCIITag(t *testing.T) {
	for tag, want := range map[string]bool{
		"": false, "a": true, ":a": true, "env:prod": true, "Env:prod": false, "1a": false, "a_b": true, "a__b": false,
		"a_": false, "_a": false, "a b": false, "é": false, "aé": false,
		strings.Repeat("a", 200): true, strings.Repeat("a", 201): false,
	} {
		if got := isNormalizedASCIITag(tag); got != want {
			t.Errorf("isNormalizedASCIITag(%q) = %t, want %t", tag, got, want)
		}
	}
}

func TestTraffic(t *testing.T) {
	clean := 0
	for _, tag := range traffic {
		if isNormalizedASCIITag(tag) {
			clean++
		}
	}
	if share := float64(clean) / float64(len(traffic)); share < 0.9 || share > 0.96 {
		t.Errorf("%.1f %% of the tags are clean, want about 93 %%", 100*share)
	}
}

func BenchmarkIsNormalizedASCIITag(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		isNormalizedASCIITag(traffic[i%len(traffic)])
	}
}
