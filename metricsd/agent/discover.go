package agent

import (
	"context"
	"maps"
	"sync"

	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/tagger"
	"github.com/beagle-go/beagle/metricsd/tagger/docker"
	"github.com/beagle-go/beagle/metricsd/tagger/kubernetes"
)

// A source of tags is asked while the agent runs.
type source interface {
	Run(context.Context)
	Up() (up bool, failures uint64)
	Stats() (entities int, refused uint64)
}

// tags holds all known tags of containers and pods, from the configuration and from sources.
type tags struct {
	store   *tagger.Store
	sources map[string]source

	mu         sync.Mutex
	cardinal   string
	configured map[string]tagger.Entity
	found      map[string]tagger.Entity
}

// openTags makes the sources that the configuration names.
func (a *Agent) openTags(c config.Tagger) error {
	a.tags = &tags{store: tagger.NewStore(tagger.StoreOptions{}), sources: map[string]source{}}
	if c.Docker != "" {
		labels, err := tagger.ParseLabels(c.DockerLabels)
		if err != nil {
			return err
		}
		a.tags.sources["docker"] = docker.New(docker.Options{Socket: c.Docker, Labels: labels, Log: a.log},
			a.tags.store.Feed())
	}
	if c.Kubernetes != "" {
		labels, err := tagger.ParseLabels(c.KubernetesLabels)
		if err != nil {
			return err
		}
		annotations, err := tagger.ParseLabels(c.KubernetesAnnotations)
		if err != nil {
			return err
		}
		s, err := kubernetes.New(kubernetes.Options{URL: c.Kubernetes, Secrets: c.KubernetesSecrets,
			Node: c.KubernetesNode, Labels: labels, Annotations: annotations, Log: a.log}, a.tags.store.Feed())
		if err != nil {
			return err
		}
		a.tags.sources["kubernetes"] = s
	}
	return nil
}

// configure takes the tags of the configuration. If it returns an error, nothing has changed.
func (a *Agent) configure(c config.Tagger) error {
	entities := make(map[string]tagger.Entity, len(c.Entities))
	for id, e := range c.Entities {
		entities[id] = tagger.Entity(e)
	}
	t := a.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	return a.retag(c.Cardinality, entities, t.found)
}

// find takes the tags of the sources.
func (a *Agent) find(found map[string]tagger.Entity) {
	t := a.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := a.retag(t.cardinal, t.configured, found); err != nil {
		a.log.Error("tags of containers were not taken", "error", err)
	}
}

// retag gives new messages the current tags; the lock is held.
func (a *Agent) retag(cardinality string, configured, found map[string]tagger.Entity) error {
	all := configured
	if len(found) > 0 {
		all = maps.Clone(found)
		for id, e := range configured {
			all[id] = all[id].With(e)
		}
	}
	made, err := tagger.New(cardinality, all)
	if err != nil {
		return err
	}
	t := a.tags
	t.cardinal, t.configured, t.found = cardinality, configured, found
	if a.containers == nil && len(all) == 0 && len(t.sources) == 0 { // no sender is known by anything
		made = nil
	}
	a.SetTagger(made)
	return nil
}

// follow runs the sources until the returned function is called.
func (a *Agent) follow() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if len(a.tags.sources) > 0 {
		running.Go(func() { a.tags.store.Run(ctx, a.find) })
	}
	for _, s := range a.tags.sources {
		running.Go(func() { s.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// ownTags shows the state of the sources.
func (a *Agent) ownTags(p *expose.Page) {
	var up, failures, entities, refused []expose.Value
	for _, name := range []string{"docker", "kubernetes"} {
		s, ok := a.tags.sources[name]
		if !ok {
			continue
		}
		answers, failed := s.Up()
		known, none := s.Stats()
		up = append(up, expose.Labelled("source", name, map[bool]int{true: 1}[answers]))
		failures = append(failures, expose.Labelled("source", name, failed))
		entities = append(entities, expose.Labelled("source", name, known))
		refused = append(refused, expose.Labelled("source", name, none))
	}
	if len(up) == 0 {
		return
	}
	p.OwnMetric("metricsd_tagger_up", "gauge", "Whether a source of tags answers: 1 or 0.", up...)
	p.OwnMetric("metricsd_tagger_failures_total", "counter",
		"Times that a source of tags failed and is asked again.", failures...)
	p.OwnMetric("metricsd_tagger_entities", "gauge",
		"Containers and pods with known tags, including those that ended lately.",
		entities...)
	p.OwnMetric("metricsd_tagger_refused_total", "counter", "Pods and containers that found no room.", refused...)
}
