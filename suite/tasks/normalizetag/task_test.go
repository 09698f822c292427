package normalizetag

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// traffic is what an intake receives: 16,384 tags of 8 to 60 bytes, nearly all
// of them clean, 2 % with capitals, spaces or doubled underscores, 1 % not
// ASCII.
var traffic = makeTraffic(16384)

func makeTraffic(n int) []string {
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tags := make([]string, 0, n)
	for range n {
		switch p := rng.IntN(100); {
		case p < 1:
			tags = append(tags,
				pick("city:", "region:", "team:")+pick("münchen", "東京", "são-paulo", "Łódź", "naïve café")+"-"+word())
		case p < 3:
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

func TestNormalizeTag(t *testing.T) {
	for tag, want := range map[string]string{
		"": "", "env:prod": "env:prod", "Env:Prod": "env:prod", "a  b": "a_b", "__a__": "a", "a_b": "a_b", "1a": "a", ":1": ":1",
		"city:MÜNCHEN": "city:münchen", "m\xfcn": "m_n", "!!!": "", "é1": "é1",
		strings.Repeat("é", 300):        strings.Repeat("é", 200),
		strings.Repeat("a", 199) + "!b": strings.Repeat("a", 199),
		strings.Repeat("a", 198) + "!b": strings.Repeat("a", 198) + "_b",
	} {
		if got := NormalizeTag(tag); got != want {
			t.Errorf("NormalizeTag(%q) = %q, want %q", tag, got, want)
		}
	}
}

func TestTwice(t *testing.T) {
	for _, tag := range traffic {
		once := NormalizeTag(tag)
		if twice := NormalizeTag(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
	}
}

func BenchmarkNormalizeTag(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		NormalizeTag(traffic[i%len(traffic)])
	}
}
