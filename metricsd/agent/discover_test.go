package agent

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/config"
)

// TestTagsThatAnEngineTells starts an agent beside a Docker Engine. A container's messages get its
// tags and those of the configuration. A reload changes only the latter.
func TestTagsThatAnEngineTells(t *testing.T) { inShapes(t, testTagsThatAnEngineTells) }

func testTagsThatAnEngineTells(t *testing.T, c config.Config) {
	id := strings.Repeat("0123456789abcdef", 4)
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	engine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			w.Write(
				[]byte(`[{"Id":"` + id + `","Names":["/web"],"Image":"shop/web:2","Labels":{"team":"a","other":"b"}}]`))
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})}
	go engine.Serve(l)
	defer engine.Close()
	c.Tagger = config.Tagger{Cardinality: "low", Docker: socket, DockerLabels: "team",
		Entities: map[string]config.Entity{id: {Low: []string{"env:prod"}}}}
	a := startAgentWith(t, c)
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{`metricsd_tagger_up{source="docker"} 1`,
			`metricsd_tagger_entities{source="docker"} 1`})
	})
	gram := dial(t, a, "unixgram")
	waitFor(t, func() string { // the store reports changes once a second
		gram.Write([]byte("hits:1|c|c:" + id))
		return missing(labels(scrape(t, a)), []string{
			`hits_total{docker_image="shop/web:2",env="prod",image_name="shop/web",image_tag="2",short_image="web",team="a"}`})
	})
	c.Tagger.Entities[id] = config.Entity{Low: []string{"env:stage"}}
	if err := a.Reload(c); err != nil {
		t.Fatal(err)
	}
	gram.Write([]byte("later:1|c|c:" + id))
	waitFor(t, func() string {
		return missing(labels(scrape(t, a)), []string{
			`later_total{docker_image="shop/web:2",env="stage",image_name="shop/web",image_tag="2",short_image="web",team="a"}`})
	})
}

// labels takes the values off a page.
func labels(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			if strings.HasPrefix(line, "hits") || strings.HasPrefix(line, "later") {
				line = line[:i] + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
