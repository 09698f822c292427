package dogstatsd

import (
	"reflect"
	"testing"
)

// datagrams come from real clients, one of each shape: other servers were compared on them. Every
// line must be accepted.
var datagrams = []struct {
	name, datagram string
	want           Metric
}{
	{"count", "page.views:1|c|#env:prod", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Tags: []string{"env:prod"}}},
	{"gauge", "fuel.level:0.5|g|#env:prod", Metric{Name: "fuel.level", Type: Gauge, Values: []float64{0.5}, Tags: []string{"env:prod"}}},
	{"timing", "request.time:320|ms|#env:prod", Metric{Name: "request.time", Type: Timing, Values: []float64{320}, Tags: []string{"env:prod"}}},
	{"histogram", "song.length:240|h|@0.5|#env:prod", Metric{Name: "song.length", Type: Histogram, Values: []float64{240}, Rate: 0.5, Tags: []string{"env:prod"}}},
	{"set", "users.uniques:12:34|s|#env:prod", Metric{Name: "users.uniques", Type: Set, SetValue: "12:34", Tags: []string{"env:prod"}}},
	{"distribution", "latency:1.5|d|#env:prod", Metric{Name: "latency", Type: Distribution, Values: []float64{1.5}, Tags: []string{"env:prod"}}},
	{"no tags", "page.views:1|c", Metric{Name: "page.views", Type: Count, Values: []float64{1}}},
	{"rate", "page.views:1|c|@0.1|#env:prod", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Rate: 0.1, Tags: []string{"env:prod"}}},
	{"tag without value", "page.views:1|c|#canary", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Tags: []string{"canary"}}},
	{"signed gauge", "fuel.level:-3|g", Metric{Name: "fuel.level", Type: Gauge, Values: []float64{-3}}},
	{"packed count", "page.views:1:2:32|c|#env:prod", Metric{Name: "page.views", Type: Count, Values: []float64{1, 2, 32}, Tags: []string{"env:prod"}}},
	{"packed gauge", "fuel.level:1:2|g|#env:prod", Metric{Name: "fuel.level", Type: Gauge, Values: []float64{1, 2}, Tags: []string{"env:prod"}}},
	{"packed timing", "request.time:1:2:3|ms|#env:prod", Metric{Name: "request.time", Type: Timing, Values: []float64{1, 2, 3}, Tags: []string{"env:prod"}}},
	{"packed distribution", "latency:1:2.5|d|@0.5|#env:prod", Metric{Name: "latency", Type: Distribution, Values: []float64{1, 2.5}, Rate: 0.5, Tags: []string{"env:prod"}}},
	{"v1.2 with tags", "page.views:1|g|#env:dev|c:83c0a99c0a54c0c187f461c7980e9b57f3f6a8b0c918c8d93df19a9de6f3fe1d",
		Metric{Name: "page.views", Type: Gauge, Values: []float64{1}, Tags: []string{"env:dev"},
			Source: Source{ContainerID: "83c0a99c0a54c0c187f461c7980e9b57f3f6a8b0c918c8d93df19a9de6f3fe1d"}}},
	{"v1.2 without tags", "page.views:1|c|c:83c0a99c", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Source: Source{ContainerID: "83c0a99c"}}},
	{"v1.3", "page.views:15|c|#env:dev|T1656581400", Metric{Name: "page.views", Type: Count, Values: []float64{15}, Tags: []string{"env:dev"}, Timestamp: 1656581400}},
	{"v1.5", "page.views:1|g|#env:dev|e:it-false,cn-nginx,pu-75a2b6d5", Metric{Name: "page.views", Type: Gauge, Values: []float64{1}, Tags: []string{"env:dev"},
		Source: Source{Container: "nginx", PodUID: "75a2b6d5"}}},
	{"v1.6", "page.views:1|g|#env:dev|card:low", Metric{Name: "page.views", Type: Gauge, Values: []float64{1}, Tags: []string{"env:dev"}, Source: Source{Cardinality: CardinalityLow}}},
	{"unknown field", "page.views:1|c|#env:dev|zz:later", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Tags: []string{"env:dev"}}},
	{"all fields", "page.views:21|c|@0.5|#env:prod,role:db|c:ci-83c0,in-42|T1656581400|e:it-true,cn-nginx,pu-75a2|card:HIGH",
		Metric{Name: "page.views", Type: Count, Values: []float64{21}, Rate: 0.5, Tags: []string{"env:prod", "role:db"},
			Timestamp: 1656581400,
			Source: Source{ContainerID: "83c0", Inode: 42, Init: true, Container: "nginx", PodUID: "75a2",
				Cardinality: CardinalityHigh}}},
	{"client in Kubernetes", "page.views:1|c|#env:prod,dd.internal.entity_id:75a2|c:in-4026531835|e:it-false,cn-nginx,pu-75a2|card:orchestrator",
		Metric{Name: "page.views", Type: Count, Values: []float64{1}, Tags: []string{"env:prod"},
			Source: Source{Inode: 4026531835, Container: "nginx", PodUID: "75a2", EntityID: "75a2",
				Cardinality: CardinalityOrchestrator}}},
	{"UTF-8 tag", "page.views:1|c|#city:é", Metric{Name: "page.views", Type: Count, Values: []float64{1}, Tags: []string{"city:é"}}},
}

func TestDatagramsOfRealClients(t *testing.T) {
	if len(datagrams) != 23 {
		t.Fatalf("%d datagrams, want 23", len(datagrams))
	}
	p := NewParser(0, 0)
	for _, test := range datagrams {
		var got Metric
		if err := p.Metric([]byte(test.datagram), &got); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := test.want
		if want.Rate == 0 {
			want.Rate = 1
		}
		if len(got.Tags) == 0 {
			got.Tags = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", test.name, test.datagram, got, want)
		}
	}
}
