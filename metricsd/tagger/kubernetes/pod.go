package kubernetes

import (
	"regexp"
	"strings"

	"github.com/beagle-go/beagle/metricsd/tagger"
)

// A podList is a page of the API's PodList, and a pod its Pod: the fields that are looked at.
type podList struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []pod `json:"items"`
}

type pod struct {
	Metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []owner           `json:"ownerReferences"`
	} `json:"metadata"`
	Status struct {
		Phase      string      `json:"phase"`
		Containers []container `json:"containerStatuses"`
		Init       []container `json:"initContainerStatuses"`
		Ephemeral  []container `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	ID    string `json:"containerID"` // containerd://..., empty before it has started
}

// entities returns the pod under its UID, and its containers under their IDs. A container has the
// pod's tags too.
func (p *pod) entities(labels, annotations tagger.Labels) map[string]tagger.Entity {
	m := &p.Metadata
	whole := tagger.Entity{Orchestrator: tagger.Add(nil, "pod_name", m.Name)}
	whole.Low = tagger.Add(whole.Low, "kube_namespace", m.Namespace)
	for _, o := range m.OwnerReferences {
		if o.Controller {
			whole = whole.With(o.entity(m.Labels))
		}
	}
	whole.Low = append(whole.Low, labels.Tags(m.Labels)...)
	whole.Low = append(whole.Low, annotations.Tags(m.Annotations)...)
	all := map[string]tagger.Entity{m.UID: whole}
	for _, some := range [][]container{p.Status.Init, p.Status.Ephemeral, p.Status.Containers} {
		for _, c := range some {
			if id := c.id(); id != "" {
				all[id] = whole.With(c.entity(m.Name))
			}
		}
	}
	return all
}

// id returns the container's ID without its runtime.
func (c *container) id() string {
	_, id, ok := strings.Cut(c.ID, "://")
	if !ok {
		return ""
	}
	return id
}

func (c *container) entity(pod string) tagger.Entity {
	return tagger.Entity{
		Low:  tagger.Image(tagger.Add(nil, "kube_container_name", c.Name), c.Image),
		High: tagger.Add(nil, "display_container_name", c.Name+"_"+pod),
	}
}

// ofCronJob matches the name of a job that a cron job has made: its own and the minute.
var ofCronJob = regexp.MustCompile(`^(.+)-[0-9]{8,}$`)

// entity returns the tags of a pod's controller. Tags that change with each run have the
// cardinality of pods.
func (o *owner) entity(labels map[string]string) (e tagger.Entity) {
	e.Low = tagger.Add(nil, "kube_ownerref_kind", strings.ToLower(o.Kind))
	e.Orchestrator = tagger.Add(nil, "kube_ownerref_name", o.Name)
	switch o.Kind {
	case "ReplicaSet":
		e.Low = tagger.Add(e.Low, "kube_replica_set", o.Name)
		if hash := labels["pod-template-hash"]; hash != "" {
			if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok {
				e.Low = tagger.Add(e.Low, "kube_deployment", name)
			}
		}
	case "DaemonSet":
		e.Low = tagger.Add(e.Low, "kube_daemon_set", o.Name)
	case "StatefulSet":
		e.Low = tagger.Add(e.Low, "kube_stateful_set", o.Name)
	case "Job":
		e.Orchestrator = tagger.Add(e.Orchestrator, "kube_job", o.Name)
		if m := ofCronJob.FindStringSubmatch(o.Name); m != nil {
			e.Low = tagger.Add(e.Low, "kube_cronjob", m[1])
		}
	}
	return e
}
