package expose

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

func page(t *testing.T, lines ...string) (string, *Page) {
	t.Helper()
	a := aggregate.New(1, aggregate.DefaultLimits())
	for _, line := range lines {
		var m dogstatsd.Metric
		if err := dogstatsd.NewParser(0, 0).Metric([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		key, tags := contextkey.NewGenerator(0).Key(m.Name, m.Source.Host, m.Tags)
		a.Add(&aggregate.Sample{Key: key, Values: m.Values, SetValue: m.SetValue, Rate: m.Rate,
			Context: aggregate.Context{Name: m.Name, Host: m.Source.Host, Tags: tags, Type: m.Type}}, 0)
	}
	a.Flush(10)
	p := new(Page)
	p.States(a.States())
	var out strings.Builder
	p.WriteTo(&out)
	return out.String(), p
}

func TestPage(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"count", []string{"page.views:2|c|#env:prod", "page.views:3|c|@0.5|#env:prod"},
			"# TYPE page_views_total counter\npage_views_total{env=\"prod\"} 8\n"},
		{"total stays", []string{"x_total:1|c"}, "# TYPE x_total counter\nx_total 1\n"},
		{"gauge", []string{"fuel-level:0.5|g|#host:web"}, "# TYPE fuel_level gauge\nfuel_level{host=\"web\"} 0.5\n"},
		{"set", []string{"u:a|s", "u:b|s"}, "# TYPE u gauge\nu 2\n"},
		{"digit", []string{"9x:1|g|#1k:v"}, "# TYPE _9x gauge\n_9x{_1k=\"v\"} 1\n"},
		{"labels", []string{"g:1|g|#b:2,a,b:1,le:x,__x:y,c:a\"b\\"},
			"# TYPE g gauge\ng{a=\"true\",b=\"1,2\",c=\"a\\\"b\\\\\",tag___x=\"y\",tag_le=\"x\"} 1\n"},
		{"summary", []string{"d:5|ms"},
			"# TYPE d summary\nd{quantile=\"0\"} 5\nd{quantile=\"0.5\"} 5\nd{quantile=\"0.9\"} 5\n" +
				"d{quantile=\"0.95\"} 5\nd{quantile=\"0.99\"} 5\nd{quantile=\"1\"} 5\nd_sum 5\nd_count 1\n"},
		{"two types of a name", []string{"m:1|g", "m:x|s"}, "# TYPE m gauge\nm 1\n# TYPE m_set gauge\nm_set 1\n"},
		{"two names for one", []string{"a.b:1|g|#x:1", "a-b:2|g|#x:2"}, "# TYPE a_b gauge\na_b{x=\"1\"} 1\na_b{x=\"2\"} 2\n"},
	} {
		got, _ := page(t, test.lines...)
		if got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, got, test.want)
		}
	}
}

func TestCollisionsAreLeftOutAndCounted(t *testing.T) {
	got, p := page(t, "a.b:1|g", "a-b:2|g")
	if p.Collisions() != 1 || strings.Count(got, "\na_b ") != 1 {
		t.Errorf("%d collisions in\n%s", p.Collisions(), got)
	}
	got, p = page(t, "d:1|h", "d.count:7|g")
	if p.Collisions() != 0 || !strings.Contains(got, "d_count_gauge 7") {
		t.Errorf("a summary's names must stay its own:\n%s", got)
	}
}

func TestOwnNamesComeFirst(t *testing.T) {
	var p Page
	p.OwnMetric("metricsd_contexts", "gauge", "Contexts.", Value{Value: 3}, Value{Label: "a", Is: "b\n", Value: 1})
	p.States([]aggregate.State{{Context: aggregate.Context{Name: "metricsd.contexts", Type: dogstatsd.Gauge}}})
	var out strings.Builder
	p.WriteTo(&out)
	want := "# HELP metricsd_contexts Contexts.\n# TYPE metricsd_contexts gauge\nmetricsd_contexts 3\n" +
		"metricsd_contexts{a=\"b\\n\"} 1\n# TYPE metricsd_contexts_gauge gauge\nmetricsd_contexts_gauge 0\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
