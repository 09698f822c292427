package expose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// metricName replaces characters that a metric's name must not have.
func metricName(name string) string { return clean(name, true) }

// labelName also avoids the names that Prometheus reserves and those that have a meaning in a
// summary.
func labelName(name string) string {
	name = clean(name, false)
	switch {
	case strings.HasPrefix(name, "__"), name == "quantile", name == "le":
		return "tag_" + name
	}
	return name
}

func clean(name string, colon bool) string {
	out := make([]byte, 0, len(name)+1)
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':' && colon:
			out = append(out, c)
		case c >= '0' && c <= '9':
			if i == 0 {
				out = append(out, '_')
			}
			out = append(out, c)
		default:
			out = append(out, '_')
		}
	}
	if len(out) == 0 {
		return "_"
	}
	return string(out)
}

// Label is one label of a sample.
type Label struct{ Name, Value string }

// labels returns a context's labels, sorted by name, each name once.
func labels(c *aggregate.Context) []Label {
	values := make(map[string][]string, len(c.Tags)+1)
	for _, tag := range c.Tags {
		key, value, found := strings.Cut(tag, ":")
		if !found {
			value = "true"
		}
		key = labelName(key)
		values[key] = append(values[key], value)
	}
	if _, taken := values["host"]; c.Host != "" && !taken {
		values["host"] = []string{c.Host}
	}
	all := make([]Label, 0, len(values))
	for name, v := range values {
		slices.Sort(v)
		all = append(all, Label{name, strings.Join(v, ",")})
	}
	slices.SortFunc(all, compareLabels)
	return all
}

func compareLabels(a, b Label) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// appendLabels renders labels with their braces.
func appendLabels(out []byte, labels []Label) []byte {
	for i, l := range labels {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		out = append(out, separator)
		out = append(append(out, l.Name...), `="`...)
		out = append(append(out, escaper.Replace(l.Value)...), '"')
	}
	if len(labels) > 0 {
		out = append(out, '}')
	}
	return out
}
