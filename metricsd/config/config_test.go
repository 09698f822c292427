package config

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func load(t *testing.T, yaml string, environ []string, args ...string) (Config, error) {
	t.Helper()
	if yaml != "" {
		name := filepath.Join(t.TempDir(), "metricsd.yaml")
		if err := os.WriteFile(name, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"-config", name}, args...)
	}
	l, err := NewLoader("agent", args, environ, io.Discard)
	if err != nil {
		return Config{}, err
	}
	return l.Load()
}

func TestLaterPlacesWin(t *testing.T) {
	file := "host: file\nlisten:\n  udp: 127.0.0.1:1\n  workers: 3\nlimits:\n  contexts: 5\nlog:\n  json: true\n"
	environ := []string{"METRICSD_LISTEN_UDP=127.0.0.1:2", "METRICSD_LIMITS_CONTEXTS=6", "HOME=/"}
	c, err := load(t, file, environ, "-limits.contexts=7", "-log.json=false")
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "file" || c.Listen.Workers != 3 || c.Listen.UDP != "127.0.0.1:2" ||
		c.Limits.Contexts != 7 || c.Log.JSON {
		t.Errorf("got %+v", c)
	}
	if c.Listen.Batch != Default().Listen.Batch {
		t.Error("what is not set must keep its default")
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		environ    []string
		args       []string
		want       string
	}{
		{"unknown field", "listen:\n  upd: x\n", nil, nil, "line 2: field upd not found"},
		{"wrong type", "limits:\n  contexts: many\n", nil, nil, "line 2"},
		{"two documents", "host: a\n---\nhost: b\n", nil, nil, "second document"},
		{"unknown variable", "", []string{"METRICSD_LISTEN_UPD=x"}, nil, "METRICSD_LISTEN_UPD is not a setting"},
		{"variable's value", "", []string{"METRICSD_LISTEN_BATCH=x"}, nil, `METRICSD_LISTEN_BATCH: "x" is not a whole number`},
		{"unknown flag", "", nil, []string{"-listen.upd=x"}, "listen.upd"},
		{"flag's value", "", nil, []string{"-log.json=maybe"}, `-log.json: "maybe" is neither`},
		{"argument", "", nil, []string{"now"}, `argument "now"`},
		{"range", "", nil, []string{"-listen.batch=0"}, "listen.batch is 0; give a number from 1"},
		{"level", "", nil, []string{"-log.level=loud"}, `log.level is "loud"`},
		{"nothing to do", "", nil, []string{"-listen.udp="}, "nothing to listen on"},
		{"no queue", "", nil, []string{"-datadog.url=http://x"}, "datadog.queue is not"},
		{"a queue for two", "", nil, []string{"-datadog.url=http://x", "-datadog.queue=q", "-remote_write.url=http://x", "-remote_write.queue=q"}, "directory of its own"},
		{"no file", "", nil, []string{"-config=/does/not/exist"}, "/does/not/exist"},
	} {
		_, err := load(t, test.yaml, test.environ, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestEmptyFileIsTheDefault(t *testing.T) {
	c, err := load(t, "# nothing\n", nil)
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestTheEnvironmentNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "metricsd.yaml")
	os.WriteFile(name, []byte("host: file\n"), 0o600)
	c, err := load(t, "", []string{"METRICSD_CONFIG=" + name})
	if err != nil || c.Host != "file" {
		t.Errorf("got %q, %v", c.Host, err)
	}
	if c, err = load(t, "host: flag\n", []string{"METRICSD_CONFIG=" + name}); err != nil || c.Host != "flag" {
		t.Errorf("the flag must win: %q, %v", c.Host, err)
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	c := Default()
	for path, field := range leaves(reflect.ValueOf(&c).Elem(), "") {
		if field.help == "" || strings.HasSuffix(path, ".") {
			t.Errorf("field %q has no help or no name", path)
		}
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	_, err := NewLoader("agent", []string{"-h"}, nil, &out)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "-listen.unixgram") {
		t.Errorf("got %v and %q", err, out.String())
	}
}

func TestTagsOfContainers(t *testing.T) {
	c, err := load(t, "tagger:\n  cardinality: high\n  entities:\n    c0ffee: {low: [env:prod], high: ['task:7']}\n",
		nil)
	want := map[string]Entity{"c0ffee": {Low: []string{"env:prod"}, High: []string{"task:7"}}}
	if err != nil || c.Tagger.Cardinality != "high" || !reflect.DeepEqual(c.Tagger.Entities, want) {
		t.Errorf("got %+v, %v", c.Tagger, err)
	}
	if _, err := load(t, "tagger: {entities: {x: {middle: [a]}}}\n", nil); err == nil ||
		!strings.Contains(err.Error(), "middle") {
		t.Errorf("an unknown field of an entity: %v", err)
	}
}

// TestSketchesAreAskedFor checks that an upgrade does not end the series that users have of their
// distributions.
func TestSketchesAreAskedFor(t *testing.T) {
	if got := Default().Datadog.Sketches; got != "auto" {
		t.Errorf("datadog.sketches is %q by default", got)
	}
}

// FuzzFile reads any file: accepted settings are within the bounds.
func FuzzFile(f *testing.F) {
	f.Add("host: a\nlisten:\n  udp: x\nlimits: {contexts: 5}\n")
	f.Add("tagger:\n  entities:\n    c: {low: [a]}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := NewLoader("all", []string{"-config", name}, nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := l.Load(); err == nil && (c.Listen.Batch < 1 || c.Intake.Names < 100) {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}
