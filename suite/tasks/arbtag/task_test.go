package arbtag

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// traffic is what an intake receives: 16,384 tags, 97 % of them ASCII and
// nearly all of those clean already, 3 % UTF-8, and 0.01 % (two) not valid
// UTF-8.
var traffic = makeTraffic(16384)

func makeTraffic(n int) []string {
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tags := make([]string, 0, n)
	for i := range n {
		switch p := rng.IntN(100); {
		case i == n/3 || i == n/2:
			tags = append(tags, pick("city:", "region:")+"m\xfcnchen-"+word())
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

func TestNormalizeTagArbTagValue(t *testing.T) {
	for tag, want := range map[string]string{
		"": "", "env:prod": "env:prod", "Env:Prod": "env:prod", "a  b": "a_b", "__a__": "a", "a_b": "a_b",
		"city:MÜNCHEN": "city:münchen", "m\xfcn": "m_n", "!!!": "", "1:2": "1:2",
		strings.Repeat("é", 300): strings.Repeat("é", 200),
	} {
		if got := NormalizeTagArbTagValue(tag); got != want {
			t.Errorf("NormalizeTagArbTagValue(%q) = %q, want %q", tag, got, want)
		}
	}
}

func TestTwice(t *testing.T) {
	for _, tag := range traffic {
		once := NormalizeTagArbTagValue(tag)
		if twice := NormalizeTagArbTagValue(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
	}
}

func BenchmarkNormalizeTagArbTagValue(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		NormalizeTagArbTagValue(traffic[i%len(traffic)])
	}
}
