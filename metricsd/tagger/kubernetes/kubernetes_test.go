package kubernetes

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
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

// The replies are as the Kubernetes API v1 has them: PodList, WatchEvent, Status; with some of the
// fields that are not looked at.

const (
	checkoutUID = "2d3da189-6407-48e3-9ab6-78188d75e609"
	checkoutID  = "8dfafdbc3a40d5f5b5a0c5b1e6d6ea8d1e3f8d3b0c3a4b5c6d7e8f9012345678"
	renewedID   = "1f0e87474be90b2a4c6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789"
	fetchID     = "9cd87474be90b2a4c6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
	jobUID      = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
)

// checkoutPod returns a pod of a deployment with two containers, in a version.
func checkoutPod(version int, phase string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"checkout-7d9f8b6c5-x2x4q",
"generateName":"checkout-7d9f8b6c5-","namespace":"shop","uid":"`+checkoutUID+`","resourceVersion":"%d",
"creationTimestamp":"2026-11-23T10:00:00Z","labels":{"app.kubernetes.io/name":"checkout",
"pod-template-hash":"7d9f8b6c5","secret":"not in the list"},"annotations":{"team.example.org/owner":"payments",
"kubectl.kubernetes.io/last-applied-configuration":"{}"},"ownerReferences":[{"apiVersion":"apps/v1",
"kind":"ReplicaSet","name":"checkout-7d9f8b6c5","uid":"0f0e","controller":true,"blockOwnerDeletion":true}],
"managedFields":[]},"spec":{"nodeName":"node-1","containers":[{"name":"checkout","image":"shop/checkout:2.1"}]},
"status":{"phase":%q,"podIP":"10.1.0.7","containerStatuses":[{"name":"checkout","ready":true,"restartCount":0,
"state":{"running":{"startedAt":"2026-11-23T10:00:02Z"}},"image":"registry:5000/shop/checkout:2.1",
"imageID":"registry:5000/shop/checkout@sha256:00","containerID":"containerd://`+checkoutID+`"},
{"name":"proxy","ready":false,"image":"envoy:1.31","imageID":"","containerID":""}]}}`, version, phase)
}

func jobPod(version int) string {
	return fmt.Sprintf(`{"metadata":{"name":"report-29391840-q8w2z","namespace":"shop","uid":"`+jobUID+`",
"resourceVersion":"%d","ownerReferences":[{"kind":"Job","name":"report-29391840","controller":true}]},
"status":{"phase":"Running","initContainerStatuses":[{"name":"fetch","image":"shop/report:3",
"containerID":"cri-o://`+fetchID+`"}]}}`, version)
}

func listOf(version, next string, pods ...string) string {
	return fmt.Sprintf(
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`,
		version, next, strings.Join(pods, ","))
}

func changeOf(kind, object string) string {
	return strings.ReplaceAll(fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object), "\n", "") + "\n"
}

const goneObject = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
"message":"too old resource version: 100 (200)","reason":"Expired","code":410}`

func bookmark(version int) string {
	return changeOf("BOOKMARK", fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d",
"creationTimestamp":null},"spec":{"containers":null},"status":{}}`, version))
}

// An api answers over TLS as an API server does. Its lists and watches are what the test has put
// there.
type api struct {
	t       *testing.T
	server  *httptest.Server
	secrets string
	watches chan string // lines; one that is empty ends the watch

	mu      sync.Mutex
	token   string
	pages   map[string]string // by continue
	asked   []url.Values
	refuses int  // the status of watches, when it is not 0
	once    bool // only one watch is refused
	// certificate is shown to clients, unless it is nil.
	certificate *tls.Certificate
}

func startAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, secrets: t.TempDir(), watches: make(chan string, 10), token: "first-token"}
	a.server = httptest.NewUnstartedServer(http.HandlerFunc(a.serve))
	a.server.TLS = &tls.Config{GetConfigForClient: a.shown}
	a.server.StartTLS()
	t.Cleanup(a.server.Close)
	a.write("ca.crt", inPEM(a.server.Certificate().Raw))
	a.write("token", a.token+"\n")
	a.pages = map[string]string{
		"":   listOf("100", "p2", checkoutPod(90, "Running")),
		"p2": listOf("100", "", jobPod(95)),
	}
	return a
}

// shown returns the TLS configuration for a connection; nil for the server's own.
func (a *api) shown(*tls.ClientHelloInfo) (*tls.Config, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.certificate == nil {
		return nil, nil
	}
	return &tls.Config{Certificates: []tls.Certificate{*a.certificate}}, nil
}

func (a *api) write(name, text string) {
	if err := os.WriteFile(filepath.Join(a.secrets, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) set(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	a.asked = append(a.asked, q)
	allowed, page, refuses := r.Header.Get("Authorization") == "Bearer "+a.token, a.pages[q.Get("continue")], a.refuses
	if a.once && q.Get("watch") == "true" {
		a.refuses = 0
	}
	a.mu.Unlock()
	switch {
	case !allowed:
		http.Error(w, `{"kind":"Status","code":401,"message":"Unauthorized"}`, http.StatusUnauthorized)
	case r.URL.Path != "/api/v1/pods" || q.Get("fieldSelector") != "spec.nodeName=node-1":
		http.Error(w, "no such thing", http.StatusNotFound)
	case q.Get("watch") != "true":
		w.Write([]byte(page))
	case refuses != 0:
		http.Error(w, strings.ReplaceAll(goneObject, "\n", ""), refuses)
	default:
		taggertest.Stream(w, r, a.watches)
	}
}

// lists and versions return the lists that were asked for, and the versions from which watches
// began.
func (a *api) lists() (lists int, versions []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.asked {
		if q.Get("watch") == "true" {
			versions = append(versions, q.Get("resourceVersion"))
		} else if q.Get("continue") == "" {
			lists++
		}
	}
	return lists, versions
}

func optionsFor(a *api) Options {
	return Options{URL: a.server.URL, Secrets: a.secrets, Node: "node-1", Log: slog.New(slog.DiscardHandler),
		Labels:      tagger.Labels{"app.kubernetes.io/name": "app"},
		Annotations: tagger.Labels{"team.example.org/owner": "team"}}
}

// A watched source tells the tags that it finds.
type watched struct {
	*taggertest.Watched
	source *Source
}

func watch(t *testing.T, o Options) *watched {
	t.Helper()
	store := taggertest.NewStore()
	source, err := New(o, store.Feed())
	if err != nil {
		t.Fatal(err)
	}
	source.FirstPause, source.LastPause = 5*time.Millisecond, 20*time.Millisecond
	return &watched{taggertest.Watch(t, store, source.Run), source}
}

const (
	podLow = "app:checkout kube_deployment:checkout kube_namespace:shop kube_ownerref_kind:replicaset " +
		"kube_replica_set:checkout-7d9f8b6c5 team:payments"
	containerLow = "app:checkout image_name:registry:5000/shop/checkout image_tag:2.1 kube_container_name:checkout " +
		"kube_deployment:checkout kube_namespace:shop kube_ownerref_kind:replicaset " +
		"kube_replica_set:checkout-7d9f8b6c5 short_image:checkout team:payments"
	jobOrchestrator = "kube_cronjob:report kube_job:report-29391840 kube_namespace:shop kube_ownerref_kind:job " +
		"kube_ownerref_name:report-29391840 pod_name:report-29391840-q8w2z"
)

var (
	ofPod       = dogstatsd.Source{PodUID: checkoutUID}
	ofContainer = dogstatsd.Source{ContainerID: checkoutID}
	ofJob       = dogstatsd.Source{PodUID: jobUID, Cardinality: dogstatsd.CardinalityOrchestrator}
)

// TestPodsComeAndGo lists two pages and follows a watch, with what an API server sends between.
func TestPodsComeAndGo(t *testing.T) {
	a := startAPI(t)
	w := watch(t, optionsFor(a))
	w.Eventually(ofPod, podLow)
	w.Eventually(ofContainer, containerLow)
	w.Eventually(ofJob, jobOrchestrator)
	high := w.Tags(dogstatsd.Source{ContainerID: checkoutID, Cardinality: dogstatsd.CardinalityHigh})
	for _, one := range []string{"container_id:" + checkoutID,
		"display_container_name:checkout_checkout-7d9f8b6c5-x2x4q",
		"pod_name:checkout-7d9f8b6c5-x2x4q"} {
		if !slices.Contains(strings.Fields(high), one) {
			t.Errorf("at high cardinality %q lacks %s", high, one)
		}
	}
	if strings.Contains(high, "secret") {
		t.Errorf("a label that is not in the list is a tag: %q", high)
	}
	moved := strings.ReplaceAll(checkoutPod(101, "Running"), checkoutID, renewedID) // its container was started anew
	a.watches <- changeOf("MODIFIED", moved)
	w.Eventually(dogstatsd.Source{ContainerID: renewedID}, containerLow)
	w.Eventually(ofContainer, "") // after a while
	a.watches <- changeOf("MODIFIED", checkoutPod(102, "Succeeded"))
	a.watches <- changeOf("DELETED", jobPod(103))
	w.Eventually(ofPod, "")
	w.Eventually(ofJob, "")
	if n, _ := w.source.Stats(); n > 4 {
		t.Errorf("%d entities are kept", n)
	}
}

// TestAWatchGoesOn ends a watch: the next begins where the bookmark was, without a list.
func TestAWatchGoesOn(t *testing.T) {
	a := startAPI(t)
	w := watch(t, optionsFor(a))
	w.Eventually(ofPod, podLow)
	a.watches <- bookmark(140)
	a.watches <- ""
	taggertest.Wait(t, "watched again", func() bool { _, v := a.lists(); return len(v) == 2 })
	if lists, versions := a.lists(); lists != 1 || !slices.Equal(versions, []string{"100", "140"}) {
		t.Errorf("%d lists, watches from %q", lists, versions)
	}
	if got := w.Tags(ofPod); got != podLow {
		t.Errorf("got %q", got)
	}
}

// TestAVersionThatIsGone has the server refuse to continue, in the stream and by its status. The
// list that is read then has one pod less.
func TestAVersionThatIsGone(t *testing.T) {
	for name, gone := range map[string]func(*api){
		"in the stream": func(a *api) { a.watches <- changeOf("ERROR", goneObject) },
		"by its status": func(a *api) {
			a.set(func() { a.refuses, a.once = http.StatusGone, true })
			a.watches <- ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAPI(t)
			w := watch(t, optionsFor(a))
			w.Eventually(ofPod, podLow)
			a.set(func() { a.pages[""] = listOf("200", "", jobPod(95)) })
			gone(a)
			w.Eventually(ofPod, "")
			w.Eventually(ofJob, jobOrchestrator)
			taggertest.Wait(t, "watched", func() bool { _, v := a.lists(); return v[len(v)-1] == "200" })
			if _, failures := w.source.Up(); failures != 0 {
				t.Errorf("%d failures: that a version grows old is none", failures)
			}
		})
	}
}

// TestTheServerIsAway closes connections, and changes the token as the kubelet does. Known tags
// stay.
func TestTheServerIsAway(t *testing.T) {
	a := startAPI(t)
	w := watch(t, optionsFor(a))
	w.Eventually(ofPod, podLow)
	a.set(func() { a.token = "second-token" })
	a.server.CloseClientConnections()
	taggertest.Wait(t, "away", func() bool { _, failures := w.source.Up(); return failures > 1 })
	if got := w.Tags(ofPod); got != podLow {
		t.Errorf("while the server is away: %q", got)
	}
	a.write("token", "second-token")
	taggertest.Wait(t, "back", func() bool { up, _ := w.source.Up(); return up })
	a.watches <- changeOf("DELETED", checkoutPod(300, "Running"))
	w.Eventually(ofPod, "")
}

func TestWhatCannotBe(t *testing.T) {
	a := startAPI(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for want, change := range map[string]func(*Options){
		"kubernetes_node":                      func(o *Options) { o.Node = "" },
		"kubernetes_secrets: open":             func(o *Options) { o.Secrets = t.TempDir() },
		"tagger.kubernetes is not an address":  func(o *Options) { o.URL = "node-1:6443" },
		"KUBERNETES_SERVICE_HOST is not":       func(o *Options) { o.URL = InCluster },
		"kubernetes_secrets: ca.crt is no one": nil,
	} {
		o := optionsFor(a)
		if change == nil {
			o.Secrets, want = t.TempDir(), "holds no certificate"
			os.WriteFile(filepath.Join(o.Secrets, "ca.crt"), []byte("nothing"), 0o600)
		} else {
			change(&o)
		}
		if _, err := New(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	u, _ := url.Parse(a.server.URL)
	t.Setenv("KUBERNETES_SERVICE_HOST", u.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", u.Port())
	o := optionsFor(a)
	o.URL = InCluster
	watch(t, o).Eventually(ofPod, podLow)

	other := startAPI(t) // whose certificate this cluster's authority has not signed
	other.write("ca.crt", inPEM(selfSigned(t).Certificate[0]))
	s, err := New(optionsFor(other), tagger.NewStore(tagger.StoreOptions{}).Feed())
	if err != nil {
		t.Fatal(err)
	}
	err = s.followStream(t.Context(), func() {})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server with another certificate: %v", err)
	}
}

// TestAWatchThatIsRefused has a server that gives its list and refuses each watch after it. Each is
// a failure, the pauses grow, and the log does not fill.
func TestAWatchThatIsRefused(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusGone} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel() // it waits
			a := startAPI(t)
			a.set(func() { a.refuses = status })
			var log strings.Builder
			o := optionsFor(a)
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			s, err := New(o, tagger.NewStore(tagger.StoreOptions{}).Feed())
			if err != nil {
				t.Fatal(err)
			}
			// A refusal that takes longer than the pause, on a busy machine, would count as time
			// in which the source was up.
			s.FirstPause, s.LastPause = 10*time.Second, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { s.Run(ctx) })
			taggertest.Wait(t, "refused twice", func() bool { _, failures := s.Up(); return failures >= 2 })
			cancel()
			running.Wait()
			if n := strings.Count(log.String(), "\n"); n != 2 {
				t.Errorf("the log has %d lines, want 2:\n%s", n, log.String())
			}
		})
	}
}

func TestOwners(t *testing.T) {
	for _, test := range []struct {
		owner  owner
		labels map[string]string
		want   string
	}{
		{owner{Kind: "DaemonSet", Name: "agent"}, nil, "kube_daemon_set:agent kube_ownerref_kind:daemonset"},
		{owner{Kind: "StatefulSet", Name: "db"}, nil, "kube_ownerref_kind:statefulset kube_stateful_set:db"},
		{owner{Kind: "ReplicaSet", Name: "a-b"}, nil, "kube_ownerref_kind:replicaset kube_replica_set:a-b"},
		{owner{Kind: "ReplicaSet", Name: "a-b"}, map[string]string{"pod-template-hash": "b"},
			"kube_deployment:a kube_ownerref_kind:replicaset kube_replica_set:a-b"},
		{owner{Kind: "Job", Name: "by-hand-7"}, nil, "kube_ownerref_kind:job"},
		{owner{Kind: "Rollout", Name: "x"}, nil, "kube_ownerref_kind:rollout"},
	} {
		got := slices.Sorted(slices.Values(test.owner.entity(test.labels).Low))
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %q, want %q", test.owner, got, test.want)
		}
	}
}

// FuzzChange gives the source any bytes as a watch: no panic, and as many entities as the pod has
// containers, and itself.
func FuzzChange(f *testing.F) {
	f.Add([]byte(changeOf("ADDED", checkoutPod(1, "Running"))))
	f.Add([]byte(changeOf("DELETED", jobPod(2))))
	f.Add([]byte(changeOf("ERROR", goneObject)))
	f.Add([]byte(bookmark(3)))
	f.Fuzz(func(t *testing.T, line []byte) {
		feed := tagger.NewStore(tagger.StoreOptions{Most: 100}).Feed()
		s := &Source{feed: feed, version: "1", options: Options{Labels: tagger.Labels{"a": "b"}}}
		s.change(line)
		if s.version == "" {
			t.Error("there is no version to go on from")
		}
		if n, _ := feed.Stats(); n > 100 {
			t.Errorf("%d entities", n)
		}
	})
}
