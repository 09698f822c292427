package docker

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tagger"
	"github.com/beagle-go/beagle/metricsd/tagger/taggertest"
)

// The replies are as the Docker Engine API v1.47 has them: ContainerList, ContainerInspect,
// SystemEvents and SystemPing, with the fields that are not looked at as well.
const (
	web    = "8dfafdbc3a40d5f5b5a0c5b1e6d6ea8d1e3f8d3b0c3a4b5c6d7e8f9012345678"
	worker = "9cd87474be90b2a4c6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
)

const listReply = `[{"Id":"` + web + `","Names":["/shop-web-1","/proxy/web"],"Image":"registry:5000/shop/web:1.4.2",
"ImageID":"sha256:4d6f0e6cd2","Command":"/web","Created":1763900000,"Ports":[{"PrivatePort":80,"Type":"tcp"}],
"Labels":{"com.docker.compose.service":"web","com.datadoghq.tags.env":"prod","secret":"not in the list"},
"State":"running","Status":"Up 2 hours","HostConfig":{"NetworkMode":"shop_default"},"NetworkSettings":{"Networks":{}},
"Mounts":[]}]`

func inspectReply(id, name, image string) string {
	return fmt.Sprintf(
		`{"Id":%q,"Created":"2026-11-23T10:00:00.000000001Z","Path":"/worker","Args":[],"State":{"Status":
"running","Running":true,"Pid":4242},"Image":"sha256:9f2a","Name":%q,"RestartCount":0,"Config":{"Hostname":"9cd87474be90",
"Env":["PATH=/bin"],"Image":%q,"Labels":{"com.docker.compose.service":"worker"}},"NetworkSettings":{}}`,
		id, name, image)
}

func eventReply(action, id string) string {
	return fmt.Sprintf(`{"status":%q,"id":%q,"from":"shop/worker:7","Type":"container","Action":%q,"Actor":{"ID":%q,
"Attributes":{"exitCode":"0","image":"shop/worker:7","name":"shop-worker-1"}},"scope":"local","time":1763900001,
"timeNano":1763900001000000001}`, action, id, action, id)
}

// oneLine returns an event as the engine writes it.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "") + "\n" }

// An engine answers on a Unix socket as Docker's does.
type engine struct {
	t      *testing.T
	socket string
	server *http.Server
	events chan string // lines of the stream; one that is empty ends it

	mu      sync.Mutex
	list    string
	inspect map[string]string
	streams int
}

func startEngine(t *testing.T, socket string) *engine {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{t: t, socket: socket, events: make(chan string, 10), list: listReply, inspect: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Ostype", "linux")
		w.Write([]byte("OK"))
	})
	mux.HandleFunc("GET /v1.47/containers/json", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		w.Write([]byte(e.list))
	})
	mux.HandleFunc("GET /v1.47/containers/{id}/json", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if reply, ok := e.inspect[r.PathValue("id")]; ok {
			w.Write([]byte(reply))
			return
		}
		http.Error(w, `{"message":"No such container: `+r.PathValue("id")+`"}`, http.StatusNotFound)
	})
	mux.HandleFunc("GET /v1.47/events", e.stream)
	e.server = &http.Server{Handler: mux}
	go e.server.Serve(l)
	t.Cleanup(func() { e.server.Close() })
	return e
}

func (e *engine) stream(w http.ResponseWriter, r *http.Request) {
	var filters map[string][]string
	if err := json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters); err != nil ||
		!slices.Contains(filters["event"], "die") {
		e.t.Errorf("filters %s: %v", r.URL.RawQuery, err)
	}
	e.mu.Lock()
	e.streams++
	e.mu.Unlock()
	taggertest.Stream(w, r, e.events)
}

func (e *engine) set(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

// A watched source reports the tags that it finds.
type watched struct {
	*taggertest.Watched
	source *Source
}

func watch(t *testing.T, socket string) *watched {
	t.Helper()
	labels, err := tagger.ParseLabels("com.docker.compose.service=service,com.datadoghq.tags.env=env")
	if err != nil {
		t.Fatal(err)
	}
	store := taggertest.NewStore()
	source := New(Options{Socket: socket, Labels: labels, Log: slog.New(slog.DiscardHandler)}, store.Feed())
	source.FirstPause, source.LastPause = 5*time.Millisecond, 20*time.Millisecond
	return &watched{taggertest.Watch(t, store, source.Run), source}
}

// from returns the source of a message of a container.
func from(id string) dogstatsd.Source {
	return dogstatsd.Source{ContainerID: id, Cardinality: dogstatsd.CardinalityHigh}
}

func (w *watched) tags(id string) string { return w.Tags(from(id), "own:x") }

func (w *watched) eventually(id, want string) { w.Eventually(from(id), want, "own:x") }

const webTags = "container_id:" + web + " container_name:shop-web-1 " +
	"docker_image:registry:5000/shop/web:1.4.2 env:prod image_name:registry:5000/shop/web image_tag:1.4.2 own:x " +
	"service:web short_image:web"

func workerTags(name string) string {
	return "container_id:" + worker + " container_name:" + name +
		" docker_image:shop/worker:7 image_name:shop/worker " +
		"image_tag:7 own:x service:worker short_image:worker"
}

// TestContainersComeAndGo lists, then follows a container from its start to its end.
func TestContainersComeAndGo(t *testing.T) {
	e := startEngine(t, filepath.Join(t.TempDir(), "docker.sock"))
	w := watch(t, e.socket)
	w.eventually(web, webTags)
	none := "container_id:" + worker + " own:x"
	if got := w.tags(worker); got != none {
		t.Errorf("a container that is not there has %q", got)
	}
	e.events <- oneLine(eventReply("start", worker)) // gone before it could be looked at
	e.set(func() { e.inspect[worker] = inspectReply(worker, "/shop-worker-1", "shop/worker:7") })
	e.events <- oneLine(eventReply("start", worker))
	w.eventually(worker, workerTags("shop-worker-1"))
	e.set(func() { e.inspect[worker] = inspectReply(worker, "/renamed", "shop/worker:7@sha256:00ff") })
	e.events <- oneLine(eventReply("rename", worker))
	w.eventually(worker, workerTags("renamed"))
	e.events <- oneLine(eventReply("die", worker))
	w.eventually(worker, none) // after a while
	if got := w.tags(web); got != webTags {
		t.Errorf("the other has %q", got)
	}
}

// TestTheEngineIsAway starts before the engine, loses it, and gets another in its place that lacks
// one container. Known tags stay until the engine reports otherwise.
func TestTheEngineIsAway(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	w := watch(t, socket)
	e := startEngine(t, socket)
	w.eventually(web, webTags)
	_, before := w.source.Up()
	e.server.Close()
	for up := true; up; up, _ = w.source.Up() {
		time.Sleep(time.Millisecond)
	}
	if got := w.tags(web); got != webTags {
		t.Errorf("while the engine is away its container has %q", got)
	}
	e = startEngine(t, socket)
	e.set(func() { e.list = "[]" })
	w.eventually(web, "container_id:"+web+" own:x")
	// The tags are there before the source says that it is up.
	taggertest.Wait(t, "up", func() bool { up, _ := w.source.Up(); return up })
	if _, failures := w.source.Up(); failures <= before {
		t.Errorf("%d failures, %d before", failures, before)
	}
}

// TestAStreamThatEnds checks that the list is read again after a stream's end, and that its changes
// are found.
func TestAStreamThatEnds(t *testing.T) {
	e := startEngine(t, filepath.Join(t.TempDir(), "docker.sock"))
	w := watch(t, e.socket)
	w.eventually(web, webTags)
	e.set(func() {
		e.list = strings.ReplaceAll(strings.ReplaceAll(listReply, web, worker), "shop-web-1", "second")
	})
	e.events <- ""
	w.eventually(worker, strings.ReplaceAll(strings.ReplaceAll(webTags, web, worker), "shop-web-1", "second"))
	e.set(func() {
		if e.streams < 2 {
			t.Errorf("%d streams", e.streams)
		}
	})
}

// TestAnEventOfWhatCannotBeRead has an engine fail to inspect one container. The failure is
// counted, and the same stream reports the next.
func TestAnEventOfWhatCannotBeRead(t *testing.T) {
	e := startEngine(t, filepath.Join(t.TempDir(), "docker.sock"))
	w := watch(t, e.socket)
	w.eventually(web, webTags)
	_, before := w.source.Up()
	e.set(func() {
		e.inspect[web] = "{"
		e.inspect[worker] = inspectReply(worker, "/shop-worker-1", "shop/worker:7")
	})
	e.events <- oneLine(eventReply("update", web))
	e.events <- oneLine(eventReply("start", worker))
	w.eventually(worker, workerTags("shop-worker-1"))
	if up, failures := w.source.Up(); !up || failures != before+1 {
		t.Errorf("up %v, %d failures, %d before", up, failures, before)
	}
	e.set(func() {
		if e.streams != 1 {
			t.Errorf("%d streams", e.streams)
		}
	})
}

// TestAnImageWhoseTagMoved has the list name images by their IDs, as it does once their tags have
// moved. A container keeps the name that it was started with, and one that is gone is dropped.
func TestAnImageWhoseTagMoved(t *testing.T) {
	e := startEngine(t, filepath.Join(t.TempDir(), "docker.sock"))
	moved := strings.Replace(listReply, "registry:5000/shop/web:1.4.2", "sha256:4d6f0e6cd2", 1)
	e.set(func() {
		e.list = strings.TrimSuffix(moved, "]") + "," + strings.TrimPrefix(strings.ReplaceAll(moved, web, worker), "[")
		e.inspect[web] = strings.ReplaceAll(inspectReply(web, "/shop-web-1", "registry:5000/shop/web:1.4.2"),
			`"com.docker.compose.service":"worker"`,
			`"com.docker.compose.service":"web","com.datadoghq.tags.env":"prod"`)
	})
	w := watch(t, e.socket)
	w.eventually(web, webTags)
	if got := w.tags(worker); got != "container_id:"+worker+" own:x" {
		t.Errorf("a container that is gone has %q", got)
	}
}

// TestWrongAnswers asks servers that are no engine: each counts as a failure, and none stops the
// source.
func TestWrongAnswers(t *testing.T) {
	ok := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.47")
			if strings.HasSuffix(r.URL.Path, "/containers/json") {
				w.Write([]byte(text))
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no version": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("OK")) },
		"a path": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", "1.47/../../containers/prune?")
		},
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"no JSON":   ok("<html>"),
		"no list":   ok(`{"Id":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(answer)
			server.Listener = l
			server.Start()
			defer server.Close()
			store := tagger.NewStore(tagger.StoreOptions{})
			s := New(Options{Socket: socket, Log: slog.New(slog.DiscardHandler)}, store.Feed())
			if err := s.followStream(t.Context(), func() { t.Error("it has a whole list") }); err == nil {
				t.Error("no error")
			}
		})
	}
}

// FuzzEvents gives the source any bytes as a stream or a list: it keeps no container without an ID,
// and asks for none.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(oneLine(eventReply("start", worker))))
	f.Add([]byte(listReply))
	f.Add([]byte(inspectReply(worker, "/x", "y")))
	f.Add([]byte(`{"Type":"container","Action":"start","Actor":{"ID":"../../images/x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		store := tagger.NewStore(tagger.StoreOptions{Most: 100})
		s := New(Options{Socket: "/nowhere", Log: slog.New(slog.DiscardHandler)}, store.Feed())
		s.client.Transport = refuse(func(path string) {
			id, ok := strings.CutSuffix(strings.TrimPrefix(path, "/v1.47/containers/"), "/json")
			if !ok || !idForm.MatchString(id) {
				t.Errorf("asked for %q", path)
			}
		})
		s.event(t.Context(), "/v1.47", text)
		var all []listed
		if json.Unmarshal(text, &all) == nil {
			for _, c := range all {
				if s.put(c.ID, strings.Join(c.Names, ""), c.Image, c.Labels) && len(c.ID) != 64 {
					t.Errorf("a container %q was kept", c.ID)
				}
			}
		}
	})
}

// refuse gets the path of each request and answers none.
type refuse func(path string)

func (f refuse) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r.URL.Path)
	return nil, net.ErrClosed
}
