// Package kubernetes finds the tags of the pods of one node by asking the API server, as its public
// API has it: a list in pages, then a watch from the list's version on. The server says when a
// version is too old to go on from (410 Gone): then the list is read again, as it is after each
// failure. A new list whose version is too old at once is a failure itself.
//
// # Limits
//
// Only pods are asked for: the names of deployments and cron jobs are those of their replica sets
// and jobs without what the controllers have put after them. The account needs to get, list and
// watch pods.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle/metricsd/tagger"
	"github.com/beagle-go/beagle/metricsd/tagger/follow"
)

// InCluster stands for the address of the API server that each pod has in its environment.
const InCluster = "in-cluster"

// Options choose the server, and the labels and annotations that become tags.
type Options struct {
	URL         string // of the API server, or InCluster
	Secrets     string // directory with token and ca.crt, as pods have it; token may be missing
	Node        string // whose pods are followed
	Labels      tagger.Labels
	Annotations tagger.Labels
	Log         *slog.Logger
	// Anew is the time after which a watch ends and begins again; the default is five minutes.
	Anew time.Duration
}

// A Source asks one API server.
type Source struct {
	follow.Follower
	options Options
	feed    *tagger.Feed
	client  *http.Client
	pem     []byte // of the authorities that client trusts, as they were read
	// distrust is the logged reason why ca.crt was not read again.
	distrust string
	base     string
	version  string // from which to continue; empty to read the list
	stale    bool   // the last watch was refused for its version, and nothing has come since
}

// New makes a source that puts what it finds into a feed.
func New(o Options, feed *tagger.Feed) (*Source, error) {
	base, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Node == "" {
		return nil, errors.New("tagger.kubernetes_node is empty; give the node's name, from spec.nodeName")
	}
	if o.Anew == 0 {
		o.Anew = 5 * time.Minute
	}
	s := &Source{
		Follower: follow.Follower{Name: "kubernetes", Log: o.Log},
		options:  o, feed: feed, client: &http.Client{Transport: transport(nil)}, base: base,
	}
	if err := s.trust(); err != nil {
		return nil, err
	}
	return s, nil
}

// transport connects to an API server whose certificate one of the roots has signed.
func transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		MaxIdleConns: 2, ForceAttemptHTTP2: true, TLSHandshakeTimeout: patience, ResponseHeaderTimeout: patience,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
}

// trust reads ca.crt and adopts its changes: the cluster puts a new authority into the file before
// its servers change. After an error the source keeps the old authorities.
func (s *Source) trust() error {
	if !strings.HasPrefix(s.base, "https:") {
		return nil
	}
	name := filepath.Join(s.options.Secrets, "ca.crt")
	pem, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("tagger.kubernetes_secrets: %w; is automountServiceAccountToken false?", err)
	}
	if bytes.Equal(pem, s.pem) {
		return nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("tagger.kubernetes_secrets: %s holds no certificate; give the cluster's", name)
	}
	s.client.CloseIdleConnections()
	s.client.Transport, s.pem = transport(roots), pem
	return nil
}

func address(configured string) (string, error) {
	if configured != InCluster {
		u, err := url.Parse(configured)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return "", errors.New("tagger.kubernetes is not an address; give in-cluster, or https://host:port")
		}
		return strings.TrimSuffix(configured, "/"), nil
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("tagger.kubernetes is in-cluster and KUBERNETES_SERVICE_HOST is not set; " +
			"run in a pod, or give the API server's address")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}

// Run follows the server until ctx is done.
func (s *Source) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	s.Follower.Run(ctx, s.followStream)
}

// Stats returns those of the feed.
func (s *Source) Stats() (entities int, refused uint64) { return s.feed.Stats() }

// patience is the time limit for the start of an answer, and for a whole list.
const patience = 30 * time.Second

// followStream reads the list, unless there is a version to continue from, and watches until the
// stream ends.
func (s *Source) followStream(ctx context.Context, up func()) error {
	if err := s.trust(); err != nil && err.Error() != s.distrust {
		s.distrust = err.Error()
		s.options.Log.Warn("the cluster's authority was not read again; the old one holds", "error", err)
	}
	if s.version == "" {
		version, err := s.list(ctx)
		if err != nil {
			return err
		}
		s.version = version
	}
	up()
	err := s.watch(ctx)
	if err == nil {
		s.stale = false
		return nil
	}
	s.version = ""
	gone := new(follow.StatusError)
	if errors.As(err, &gone) && gone.Status == http.StatusGone && !s.stale {
		s.stale = true
		return nil
	}
	return err
}

// getPods asks for pods of the node.
func (s *Source) getPods(ctx context.Context, q url.Values) (io.ReadCloser, error) {
	q.Set("fieldSelector", "spec.nodeName="+s.options.Node)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/v1/pods?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	// The kubelet changes the token in the file every hour or so.
	if token, err := os.ReadFile(filepath.Join(s.options.Secrets, "token")); err == nil {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	r.Header.Set("Accept", "application/json")
	body, _, err := follow.Open(s.client, r)
	return body, err
}

// pageSize is how many pods an answer has; a node has 110 as a rule.
const pageSize = "500"

// list puts the pods of all pages, drops the others, and returns the list's version.
func (s *Source) list(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	there := map[string]bool{}
	for next := ""; ; {
		q := url.Values{"limit": {pageSize}}
		if next != "" {
			q.Set("continue", next)
		}
		page, err := s.page(ctx, q)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if s.put(&page.Items[i]) {
				there[page.Items[i].Metadata.UID] = true
			}
		}
		version, next = page.Metadata.ResourceVersion, page.Metadata.Continue
		if next == "" {
			break
		}
	}
	if version == "" {
		return "", errors.New("the list of pods has no resourceVersion; is this a Kubernetes API server?")
	}
	s.feed.Sync(there)
	return version, nil
}

func (s *Source) page(ctx context.Context, q url.Values) (page podList, err error) {
	body, err := s.getPods(ctx, q)
	if err != nil {
		return page, err
	}
	defer body.Close()
	return page, follow.JSON(body, &page)
}

// watch follows the changes after s.version, and keeps that up to date.
func (s *Source) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Anew+patience) // the server should have ended it before
	defer cancel()
	body, err := s.getPods(ctx, url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {s.version},
		"timeoutSeconds": {fmt.Sprint(max(1, int(s.options.Anew.Seconds())))},
	})
	if err != nil {
		return err
	}
	defer body.Close()
	return follow.Lines(body, s.change)
}

// A change is one line of a watch.
type change struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// change applies one line of a watch. An error can also come as a line, inside a successful answer.
// It ends the watch, with the status by which the follower knows that it must list again.
func (s *Source) change(line []byte) error {
	var c change
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("a change cannot be read: %w", err)
	}
	if c.Type == "ERROR" {
		var status struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(c.Object, &status); err != nil {
			return fmt.Errorf("the watch ends with an error that cannot be read: %w", err)
		}
		return &follow.StatusError{Status: status.Code, Text: status.Message}
	}
	var p pod
	if err := json.Unmarshal(c.Object, &p); err != nil {
		return fmt.Errorf("a pod cannot be read: %w", err)
	}
	switch c.Type {
	case "ADDED", "MODIFIED":
		s.put(&p)
	case "DELETED":
		s.feed.Drop(p.Metadata.UID)
	}
	// The next watch begins after the last change, so that it misses and repeats nothing.
	if v := p.Metadata.ResourceVersion; v != "" { // a bookmark has nothing else
		s.version, s.stale = v, false
	}
	return nil
}

// put puts a pod, or drops it if it has ended.
func (s *Source) put(p *pod) bool {
	if p.Metadata.UID == "" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		s.feed.Drop(p.Metadata.UID)
		return false
	}
	s.feed.Put(p.Metadata.UID, p.entities(s.options.Labels, s.options.Annotations))
	return true
}
