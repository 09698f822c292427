// Package settings reads beagle.yaml, where a team keeps facts about its services that no profile
// and no source text has: their costs and how they scale.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/inorder"
)

// Name is the file that is read when none is named.
const Name = "beagle.yaml"

// A Service is an entry under services.
type Service struct {
	Sources       []string `yaml:"sources"`
	Own           []string `yaml:"own"`
	Cores         float64  `yaml:"cores"`
	Utilisation   float64  `yaml:"utilisation"`
	Price         string   `yaml:"price"`
	Follow        string   `yaml:"replicas_follow_cpu"`
	Fraction      float64  `yaml:"fraction"`
	Replicas      float64  `yaml:"replicas"`
	LeastReplicas float64  `yaml:"least_replicas"`
	LeastPercent  float64  `yaml:"least_percent"`
	Rollout       *Rollout `yaml:"rollout"`
	Campaign      Campaign `yaml:"campaign"`
	Watch         Watch    `yaml:"watch"`
	Toto          string   `yaml:"toto"` // weights that forecast, beside beagle.yaml
}

// A Watch lists the limits that `beagle watch` looks after.
type Watch struct {
	Prometheus string   `yaml:"prometheus"` // that of the rollout by default
	From       []string `yaml:"from"`       // files of sloth or OpenSLO; those of the rollout by default
	Budget     float64  `yaml:"budget"`     // for the service's processors a month, in the price's currency
	Cores      float64  `yaml:"cores"`      // that an instance may use
	Saturated  float64  `yaml:"saturated"`  // share of them that is too much; default 0.8
}

// A Rollout names outside guardrails of a rollout.
type Rollout struct {
	Prometheus string            `yaml:"prometheus"`
	Alerts     map[string]string `yaml:"alerts"`
	Rules      []string          `yaml:"rules"` // alerts that must be loaded and quiet
	Guardrails []Guardrail       `yaml:"guardrails"`
	From       []string          `yaml:"from"` // files of sloth, OpenSLO or rules, beside beagle.yaml
}

// A Guardrail is a query to Prometheus, or the ratio of two, with the value above which it is bad.
type Guardrail struct {
	Name   string  `yaml:"name"`
	Query  string  `yaml:"query"`
	Bad    string  `yaml:"bad"`
	Total  string  `yaml:"total"`
	Least  float64 `yaml:"least"`
	Absent string  `yaml:"absent"`
	Above  float64 `yaml:"above"`
	Then   string  `yaml:"then"` // hold or roll-back
}

// A Campaign bounds `beagle campaign`.
type Campaign struct {
	Processor  time.Duration     `yaml:"processor"`  // processor time
	Dollars    float64           `yaml:"usd"`        // for models
	Targets    int               `yaml:"targets"`    // hot spots to take up
	Candidates int               `yaml:"candidates"` // versions of each
	Inputs     map[string]string `yaml:"inputs"`     // files of recorded calls, by target
}

// Read reads a service of the file. Without a name the only service there is
// taken. A file that is not there is no error unless must is set: it is nil.
func Read(file, name string, must bool) (*Service, string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", &beagle.UsageError{What: err.Error(),
			Remedy: "write the file (docs/hotspots.md), or name another one with --config"}
	}
	return Parse(file, data, name)
}

// Parse is [Read] of a file's content.
func Parse(file string, data []byte, name string) (*Service, string, error) {
	var all struct {
		Services map[string]yaml.Node `yaml:"services"`
	}
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, "", &beagle.UsageError{
			What:   fmt.Sprintf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: ")),
			Remedy: "correct the file (docs/hotspots.md has an example)",
		}
	}
	// Choose the service: the named one, or the only one.
	names := inorder.Keys(all.Services)
	if name == "" {
		switch len(names) {
		case 0:
			return nil, "", nil
		case 1:
			name = names[0]
		default:
			return nil, "", &beagle.UsageError{
				What:   fmt.Sprintf("%s has %d services", file, len(names)),
				Remedy: "name one with --service: " + strings.Join(names, ", "),
			}
		}
	}
	node, ok := all.Services[name]
	if !ok {
		return nil, "", &beagle.UsageError{
			What:   fmt.Sprintf("%s has no service %q", file, name),
			Remedy: "it has " + strings.Join(names, ", "),
		}
	}
	// Decode it. A key that is not known is an error.
	s := &Service{}
	if err := refuseUnknown(file, &node); err != nil {
		return nil, "", err
	}
	if err := node.Decode(s); err != nil {
		return nil, "", &beagle.UsageError{
			What:   fmt.Sprintf("%s: service %s: %s", file, name, strings.TrimPrefix(err.Error(), "yaml: ")),
			Remedy: "correct the file (docs/hotspots.md has an example)",
		}
	}
	return s, name, s.check(file, &node)
}

var fields = []string{
	"sources", "own", "cores", "utilisation", "price", "replicas_follow_cpu", "fraction", "replicas", "least_replicas",
	"least_percent", "rollout", "campaign", "watch", "toto",
}

var campaignFields = []string{"processor", "usd", "targets", "candidates", "inputs"}

var rolloutFields = []string{"prometheus", "alerts", "rules", "guardrails", "from"}

var watchFields = []string{"prometheus", "from", "budget", "cores", "saturated"}

// refuseUnknown refuses unknown fields, which are slips.
func refuseUnknown(file string, node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return &beagle.UsageError{What: fmt.Sprintf("%s:%d: a service is a table of fields", file, node.Line),
			Remedy: "write price: aws/c7g, and so on"}
	}
	if err := refuseOthers(file, node, "a service", fields); err != nil {
		return err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		parts := map[string][]string{"campaign": campaignFields, "rollout": rolloutFields,
			"watch": watchFields}
		if names := parts[node.Content[i].Value]; names != nil && node.Content[i+1].Kind == yaml.MappingNode {
			if err := refuseOthers(file, node.Content[i+1], "a "+node.Content[i].Value, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseOthers refuses fields of a table that are not among names.
func refuseOthers(file string, node *yaml.Node, what string, names []string) error {
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(names, key.Value) {
			return &beagle.UsageError{
				What:   fmt.Sprintf("%s:%d: unknown field %q", file, key.Line, key.Value),
				Remedy: what + " has " + strings.Join(names, ", "),
			}
		}
	}
	return nil
}

// check returns a *beagle.UsageError with the line of a field whose value makes no sense.
func (s *Service) check(file string, node *yaml.Node) error {
	// An error names the line of the field.
	bad := func(field, what, remedy string) error {
		line := node.Line
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == field {
				line = node.Content[i].Line
			}
		}
		return &beagle.UsageError{What: fmt.Sprintf("%s:%d: %s: %s", file, line, field, what), Remedy: remedy}
	}
	// Check the answers first, then the numbers.
	switch {
	case !slices.Contains([]string{"", "yes", "no", "partly"}, s.Follow):
		return bad("replicas_follow_cpu", fmt.Sprintf("%q is not one of the answers", s.Follow),
			"write yes, no or partly")
	case s.Follow == "partly" && !(s.Fraction > 0 && s.Fraction < 1):
		return bad("fraction", "replicas follow partly, and no part of a saving is given",
			"write fraction: 0.5 when half of a saving becomes fewer replicas")
	case s.Follow != "partly" && s.Fraction != 0:
		return bad("fraction", "it counts only with replicas_follow_cpu: partly", "leave it out")
	case s.Utilisation < 0 || s.Utilisation > 1:
		return bad("utilisation", fmt.Sprintf("%g is not between 0 and 1", s.Utilisation),
			"write 0.6 when 60 % of the cores paid for are busy")
	case s.Cores < 0 || s.Replicas < 0 || s.LeastReplicas < 0:
		return bad("cores", "a number is negative", "write the number that the service has")
	case s.Campaign.Processor < 0 || s.Campaign.Dollars < 0 || s.Campaign.Targets < 0 || s.Campaign.Candidates < 0:
		return bad("campaign", "a number is negative", "write processor: 30m, usd: 2, targets: 5, candidates: 60")
	case !(s.Watch.Budget >= 0) || !(s.Watch.Cores >= 0):
		return bad("watch", "a number is negative", "write budget: 3000, cores: 16")
	case !(s.Watch.Saturated >= 0 && s.Watch.Saturated <= 1):
		return bad("watch", fmt.Sprintf("saturated: %g is not between 0 and 1", s.Watch.Saturated), "0.8 is common")
	case s.Watch.Budget > 0 && s.Price == "":
		return bad("watch", "a budget without a price", "write price: aws/c7g, or what an hour of a core costs")
	case s.LeastPercent < 0 || s.LeastPercent > 50:
		return bad("least_percent", fmt.Sprintf("%g is not between 0 and 50", s.LeastPercent), "0.5 is common")
	}
	return nil
}

// Money returns the service's costs as the file states them.
func (s *Service) Money(name string) (hotspots.Service, error) {
	out := hotspots.Service{
		Name: name, Cores: s.Cores, Utilisation: s.Utilisation, Follows: s.Follow, Fraction: s.Fraction,
		Replicas: s.Replicas, LeastReps: s.LeastReplicas,
	}
	if s.Price == "" {
		return out, nil
	}
	var err error
	out.Price, err = hotspots.ParsePrice(s.Price)
	return out, err
}
