package expose

import (
	"slices"
	"strings"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// metricName replaces what a metric's name must not hold.
func metricName(name string) string { return clean(name, true) }

// labelName also keeps clear of the names that Prometheus keeps for itself and of
// those that have a meaning in a summary.
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

// labels renders a context's labels without braces, sorted by name.
func labels(c *aggregate.Context) string {
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
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []byte
	for _, name := range names {
		slices.Sort(values[name])
		out = appendLabel(out, name, strings.Join(values[name], ","))
	}
	return string(out)
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func appendLabel(out []byte, name, value string) []byte {
	if len(out) > 0 {
		out = append(out, ',')
	}
	out = append(append(out, name...), `="`...)
	return append(append(out, escaper.Replace(value)...), '"')
}
