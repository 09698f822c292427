package dogstatsd

import (
	"reflect"
	"slices"
	"testing"
)

func TestEvents(t *testing.T) {
	tests := []struct {
		line string
		want Event
	}{
		{"_e{5,4}:title|text", Event{Title: "title", Text: "text", Priority: "normal", Alert: "info"}},
		{"_e{5,0}:title|", Event{Title: "title", Priority: "normal", Alert: "info"}},
		{"_e{3,3}:a|b|c|d", Event{Title: "a|b", Text: "c|d", Priority: "normal", Alert: "info"}},
		{`_e{4,4}:a\nb|c\nd`, Event{Title: "a\nb", Text: "c\nd", Priority: "normal", Alert: "info"}},
		{"_e{2,2}:é|é", Event{Title: "é", Text: "é", Priority: "normal", Alert: "info"}},
		{"_e{1,1}:a|b|d:12|h:web|k:key|p:low|s:nagios|t:error|#x,y|c:ci-1|e:cn-n|card:low",
			Event{Title: "a", Text: "b", Timestamp: 12, Key: "key", Priority: "low", SourceType: "nagios",
				Alert: "error", Tags: []string{"x", "y"},
				Source: Source{Host: "web", HostSet: true, ContainerID: "1", Container: "n",
					Cardinality: CardinalityLow}}},
		{"_e{1,1}:a|b|#host:tag|h:field", Event{Title: "a", Text: "b", Priority: "normal", Alert: "info", Source: Source{Host: "field", HostSet: true}}},
		{"_e{1,1}:a|b|", Event{Title: "a", Text: "b", Priority: "normal", Alert: "info"}},
	}
	for _, test := range tests {
		got, err := NewParser(0, 0).Event([]byte(test.line))
		if len(got.Tags) == 0 {
			got.Tags = nil
		}
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", test.line, got, err, test.want)
		}
	}
}

func TestEventErrors(t *testing.T) {
	for _, test := range []struct {
		line    string
		offset  int
		problem string
	}{
		{"_e{5,4:title|text", 0, "no end"},
		{"_e{0,4}:|text", 3, "title is empty"},
		{"_e{-1,4}:a|text", 3, "not a length"},
		{"_e{5}:title|text", 4, "second length"},
		{"_e{5,x}:title|text", 5, "not a length"},
		{"_e{5,9}:title|text", 18, "shorter"},
		{"_e{4,4}:title|text", 12, "where the title ends"},
		{"_e{5,3}:title|text", 17, "where the text ends"},
		{"_e{9223372036854775807,1}:a|b", 3, "more than the whole line"},
	} {
		_, err := NewParser(0, 0).Event([]byte(test.line))
		checkError(t, test.line, err, test.offset, test.problem)
	}
}

func TestBrokenEventFieldsAreWarnings(t *testing.T) {
	e, err := NewParser(0, 0).Event([]byte("_e{1,1}:a|b|d:x|p:urgent|t:odd|#k"))
	if err != nil || len(e.Warnings) != 3 || !slices.Equal(e.Tags, []string{"k"}) || e.Priority != "normal" ||
		e.Alert != "info" {
		t.Errorf("got %+v, %v", e, err)
	}
	if e.Warnings[1].Offset != 18 {
		t.Errorf("warning at byte %d, want 18", e.Warnings[1].Offset)
	}
}

func TestChecks(t *testing.T) {
	c, err := NewParser(0, 0).Check([]byte(`_sc|Redis connection|2|d:12|h:web|#a,b|m:timed out\nafter 10s m\:x|c:ci-1`))
	want := Check{Name: "Redis connection", Status: 2, Message: "timed out\nafter 10s m:x", Timestamp: 12,
		Tags:   []string{"a", "b"},
		Source: Source{Host: "web", HostSet: true, ContainerID: "1"}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, test := range []struct {
		line    string
		offset  int
		problem string
	}{
		{"_sca|x|0", 0, "does not start"},
		{"_sc", 0, "no name"},
		{"_sc||0", 4, "no name"},
		{"_sc|x", 5, "no status"},
		{"_sc|x|4", 6, "status"},
		{"_sc|x|00", 6, "status"},
	} {
		_, err := NewParser(0, 0).Check([]byte(test.line))
		checkError(t, test.line, err, test.offset, test.problem)
	}
	c, err = NewParser(0, 0).Check([]byte("_sc|x|0|d:soon"))
	if err != nil || len(c.Warnings) != 1 {
		t.Errorf("a bad time is a warning: %+v, %v", c, err)
	}
}
