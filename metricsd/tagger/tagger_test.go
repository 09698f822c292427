package tagger

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/tag"
)

var entities = map[string]Entity{
	"c0ffee": {Low: []string{"env:prod"}, Orchestrator: []string{"pod_name:x"}, High: []string{"task:7"}},
	"pod-1":  {Low: []string{"team:a"}},
	"in-42":  {Low: []string{"inode:yes"}},
}

func TestCardinality(t *testing.T) {
	for _, test := range []struct{ fallback, line, detected, want string }{
		{"low", "a:1|c|#t|c:c0ffee", "", "t env:prod"},
		{"orchestrator", "a:1|c|c:ci-c0ffee", "", "env:prod pod_name:x"},
		{"high", "a:1|c|c:cid-c0ffee", "", "env:prod pod_name:x task:7 container_id:c0ffee"},
		{"high", "a:1|c|c:c0ffee|card:low", "", "env:prod"},
		{"high", "a:1|c|#t|c:c0ffee|card:none", "", "t"},
		{"none", "a:1|c|c:c0ffee|card:High", "", "env:prod pod_name:x task:7 container_id:c0ffee"},
		{"low", "a:1|c|#dd.internal.card:orchestrator|c:c0ffee", "", "env:prod pod_name:x"},
		{"low", "a:1|c|c:in-42|e:pu-pod-1", "", "inode:yes team:a"},
		{"low", "a:1|c|#dd.internal.entity_id:pod-1", "", "team:a"},
		{"low", "a:1|c|#dd.internal.entity_id:pod-1|e:pu-pod-1", "", "team:a"},
		{"low", "a:1|c|#t", "c0ffee", "t env:prod"},
		{"high", "a:1|c|c:other", "c0ffee", "container_id:other"}, // the message's own sender wins
		{"high", "a:1|c", "", ""},
	} {
		tagger, err := New(test.fallback, entities)
		if err != nil {
			t.Fatal(err)
		}
		var m dogstatsd.Metric
		if err := dogstatsd.NewParser(0, 0).Metric([]byte(test.line), &m); err != nil {
			t.Fatal(err)
		}
		got := tag.MergeTags(m.Tags, tagger.Tags(&m.Source, test.detected))
		if want := slices.Sorted(strings.FieldsSeq(test.want)); !slices.Equal(got, want) {
			t.Errorf("%s, %s, %q: got %q, want %q", test.fallback, test.line, test.detected, got, want)
		}
	}
}

func TestWhatCannotBe(t *testing.T) {
	for want, entities := range map[string]map[string]Entity{
		"tagger.cardinality": nil,
		"tagger.entities":    {"x": {High: []string{""}}},
	} {
		cardinality := "low"
		if entities == nil {
			cardinality = "lots"
		}
		if _, err := New(cardinality, entities); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
}

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestContainerID(t *testing.T) {
	outer := strings.Repeat("f", 64)
	for cgroup, want := range map[string]string{
		"":                               "",
		"0::/\n":                         "",
		"garbage":                        "",
		"0::/system.slice/ssh.service\n": "",
		"0::/system.slice/docker-" + id + ".scope\n":                                id,
		"12:cpu:/docker/" + id + "\n11:memory:/docker/" + id:                        id,
		"1:name=systemd:/user.slice\n2:cpu:/kubepods/burstable/podabc/" + id:        id,
		"0::/kubepods.slice/kubepods-pod2d3d.slice/cri-containerd-" + id + ".scope": id,
		"0::/docker/" + outer + "/docker/" + id:                                     id,
		"9:cpu:/ecs/55091c13/34dc0b5e626f2c5c4c5170e34b10e765-1234567890":           "34dc0b5e626f2c5c4c5170e34b10e765-1234567890",
		"0::/x/" + id + "0": "",
		"0::/kubepods/pod2d3da189-6407-48e3-9ab6-78188d75e609/not-a-container:with:colon": "",
	} {
		if got := containerID([]byte(cgroup)); got != want {
			t.Errorf("%q: got %q, want %q", cgroup, got, want)
		}
	}
}

func FuzzContainerID(f *testing.F) {
	f.Add([]byte("0::/docker/" + id + "\n"))
	f.Add([]byte(":::\n\n::/"))
	f.Fuzz(func(t *testing.T, cgroup []byte) {
		if got := containerID(cgroup); got != "" &&
			(len(got) < 34 || len(got) > 64 || !strings.Contains(string(cgroup), got)) {
			t.Errorf("%q gives %q", cgroup, got)
		}
	})
}

func TestContainersOfProcesses(t *testing.T) {
	proc := t.TempDir()
	write := func(pid int, container string) {
		os.MkdirAll(filepath.Join(proc, fmt.Sprint(pid)), 0o700)
		if err := os.WriteFile(filepath.Join(proc, fmt.Sprint(pid), "cgroup"), []byte("0::/docker/"+container+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := NewContainers(proc)
	write(7, id)
	other := strings.Repeat("a", 64)
	var got []string
	for _, now := range []int64{100, 109, 110, 50} { // the number is reused; the clock is set back
		got = append(got, c.ContainerOf(7, now))
		write(7, other)
	}
	if want := []string{id, id, other, other}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if c.ContainerOf(8, 100) != "" || c.ContainerOf(0, 100) != "" || c.ContainerOf(-1, 100) != "" {
		t.Error("a process that is not there has a container")
	}
	for pid := range int32(3 * maxKnown) {
		c.ContainerOf(pid, 100)
	}
	if len(c.known) > maxKnown {
		t.Errorf("%d processes are remembered", len(c.known))
	}
}

// TestExpiredProcessesGoFirst checks that valid answers stay when there is no room, and that
// invalid ones make room.
func TestExpiredProcessesGoFirst(t *testing.T) {
	c := NewContainers(t.TempDir())
	for pid := range int32(maxKnown - 1) {
		c.ContainerOf(pid+1, 100)
	}
	c.ContainerOf(100_000, 109)
	c.ContainerOf(100_001, 110)
	if _, kept := c.known[100_000]; !kept || len(c.known) != 2 {
		t.Errorf("%d are known, the newest among them: %v", len(c.known), kept)
	}
}
