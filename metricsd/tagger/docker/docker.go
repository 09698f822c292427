// Package docker finds the tags of containers by asking the Docker Engine over its Unix socket, as
// its public API has it (Podman's service answers alike).
//
// The stream of events is opened first and the list of containers read then, so that nothing that
// happens between is missed. A container that starts, or is given another name, is looked at; one
// that dies leaves its tags for a while. After ten minutes, and after each failure, all begins
// anew: what was missed nevertheless is found then.
//
// # Limits
//
// A process that may use the socket may do anything to the machine. Kubernetes has another source:
// package kubernetes.
package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle/metricsd/tagger"
	"github.com/beagle-go/beagle/metricsd/tagger/follow"
)

// Options choose the engine, and the labels that become tags.
type Options struct {
	Socket string
	Labels tagger.Labels
	Log    *slog.Logger
}

// A Source asks one engine.
type Source struct {
	follow.Follower
	options Options
	feed    *tagger.Feed
	client  *http.Client
}

// New makes a source that puts what it finds into a feed.
func New(o Options, feed *tagger.Feed) *Source {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", o.Socket)
	}
	return &Source{
		Follower: follow.Follower{Name: "docker", Log: o.Log},
		options:  o,
		feed:     feed,
		client:   &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 2}},
	}
}

// Run follows the engine until ctx is done.
func (s *Source) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	s.Follower.Run(ctx, s.followStream)
}

// Stats returns those of the feed.
func (s *Source) Stats() (entities int, refused uint64) { return s.feed.Stats() }

const (
	// patience is the time limit of an answer.
	patience = 10 * time.Second
	// relistInterval is the time until the list is read again.
	relistInterval = 10 * time.Minute
)

// followStream opens the stream, reads the list, and follows the stream until it ends.
func (s *Source) followStream(ctx context.Context, up func()) error {
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, relistInterval)
	defer cancel()
	const filters = `{"type":["container"],"event":["start","die","destroy","rename","update"]}`
	stream, err := s.get(ctx, version+"/events?filters="+url.QueryEscape(filters))
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := s.list(ctx, version); err != nil {
		return err
	}
	up()
	err = follow.Lines(stream, func(line []byte) error { return s.event(ctx, version, line) })
	if ctx.Err() != nil { // it is time to read the list again
		return nil
	}
	return err
}

var versionForm = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)

// version returns the prefix of paths for the engine's own version: newer engines refuse old
// versions.
func (s *Source) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return "", err
	}
	body, header, err := follow.Open(s.client, r)
	if err != nil {
		return "", fmt.Errorf("%w; is %s the engine's socket, and may this user open it?", err, s.options.Socket)
	}
	body.Close()
	v := header.Get("Api-Version")
	if !versionForm.MatchString(v) {
		return "", fmt.Errorf("the engine reports API version %.20q; this is not a Docker Engine", v)
	}
	return "/v" + v, nil
}

func (s *Source) get(ctx context.Context, path string) (body interface {
	Read([]byte) (int, error)
	Close() error
}, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+path, nil)
	if err != nil {
		return nil, err
	}
	body, _, err = follow.Open(s.client, r)
	return body, err
}

// ask reads one answer.
func (s *Source) ask(ctx context.Context, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	return follow.JSON(body, v)
}

// A listed container is one of /containers/json.
type listed struct {
	ID     string `json:"Id"`
	Names  []string
	Image  string
	Labels map[string]string
}

// list puts the running containers, and drops the others.
func (s *Source) list(ctx context.Context, version string) error {
	var all []listed
	if err := s.ask(ctx, version+"/containers/json", &all); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, c := range all {
		kept, err := s.take(ctx, version, c)
		if err != nil {
			return err
		}
		if kept {
			there[c.ID] = true
		}
	}
	s.feed.Sync(there)
	return nil
}

// take puts a container of the list. The list names an image by its ID once its tag has moved to
// another image. The container itself still has the name that it was started with.
func (s *Source) take(ctx context.Context, version string, c listed) (kept bool, err error) {
	if imageName(c.Image) == "" && idForm.MatchString(c.ID) {
		return s.look(ctx, version, c.ID)
	}
	name := ""
	if len(c.Names) > 0 {
		name = c.Names[0]
	}
	return s.put(c.ID, name, c.Image, c.Labels), nil
}

// An inspected container is the answer to /containers/{id}/json.
type inspected struct {
	ID     string `json:"Id"`
	Name   string
	Config struct {
		Image  string
		Labels map[string]string
	}
}

// look inspects a container and puts it. A container that is gone by then is not kept. That is no
// error: another event reports its end.
func (s *Source) look(ctx context.Context, version, id string) (kept bool, err error) {
	var c inspected
	err = s.ask(ctx, version+"/containers/"+id+"/json", &c)
	if gone := new(follow.StatusError); errors.As(err, &gone) && gone.Status == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.put(c.ID, c.Name, c.Config.Image, c.Config.Labels), nil
}

// idForm matches a container's ID. Nothing else becomes part of a path.
var idForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// put takes a container.
func (s *Source) put(id, name, image string, labels map[string]string) bool {
	if !idForm.MatchString(id) {
		return false
	}
	low := tagger.Image(tagger.Add(nil, "docker_image", imageName(image)), image)
	e := tagger.Entity{
		Low:  append(low, s.options.Labels.Tags(labels)...),
		High: tagger.Add(nil, "container_name", strings.TrimPrefix(name, "/")),
	}
	s.feed.Put(id, map[string]tagger.Entity{id: e})
	return true
}

// imageName leaves out digests: each build has its own.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if strings.HasPrefix(image, "sha256:") {
		return ""
	}
	return image
}

// An event is one line of /events.
type event struct {
	Type   string
	Action string
	Actor  struct{ ID string }
}

// event reacts to an event. A container that cannot be inspected counts as a failure, and the
// stream goes on: to begin anew for one container would mean to ask for all, again and again.
func (s *Source) event(ctx context.Context, version string, line []byte) error {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("an event cannot be read: %w", err)
	}
	if e.Type != "container" || !idForm.MatchString(e.Actor.ID) {
		return nil
	}
	switch e.Action {
	case "die", "destroy":
		s.feed.Drop(e.Actor.ID)
	case "start", "rename", "update":
		if _, err := s.look(ctx, version, e.Actor.ID); err != nil && ctx.Err() == nil {
			s.Miss("container "+e.Actor.ID, err)
		}
	}
	return nil
}
