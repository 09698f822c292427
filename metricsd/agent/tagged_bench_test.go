package agent

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/load"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// BenchmarkTagged measures the cost of a datagram whose messages name their container and pod, as
// in a cluster. The configuration adds six tags of the container and two of the pod. One of these
// is a tag of both, and one stands in the message already.
func BenchmarkTagged(b *testing.B) {
	g := load.NewGenerator(load.Shape{Contexts: 1000, Packet: 8192}, 0, 1)
	entities := map[string]tagger.Entity{}
	var packets [][]byte
	for g.Totals().Messages < 20_000 {
		var packet []byte
		pod := len(packets) % 40 // a datagram comes from one process
		for line := range bytes.Lines(g.Packet()) {
			packet = append(packet, bytes.TrimSuffix(line, []byte("\n"))...)
			packet = fmt.Appendf(packet, "|c:ci-c0ffee%02d|e:it-false,cn-app,pu-pod-%02d\n", pod, pod)
			entities[fmt.Sprintf("c0ffee%02d", pod)] = tagger.Entity{
				Low: []string{"kube_cluster:eu1", "env:prod", "image:checkout"},
				Orchestrator: []string{fmt.Sprintf("pod_phase:running-%d", pod), "kube_deployment:checkout",
					"git_commit:3f2a9bd"},
			}
			entities[fmt.Sprintf("pod-%02d", pod)] = tagger.Entity{
				Low: []string{"kube_cluster:eu1", fmt.Sprintf("kube_node:node-%d", pod%8)},
			}
		}
		packets = append(packets, packet)
	}
	tags, err := tagger.New("orchestrator", entities)
	if err != nil {
		b.Fatal(err)
	}
	in := NewIntake(aggregate.New(2, aggregate.DefaultLimits()), "web-1", 7)
	in.tagger.Store(tags)
	w := in.Worker()
	for _, p := range packets {
		w.Datagram(p, false, "unix", 0)
	}
	before := w.Counters.Metrics.Load()
	i := 0
	for b.Loop() {
		w.Datagram(packets[i%len(packets)], false, "unix", 0)
		i++
	}
	taken := float64(w.Counters.Metrics.Load() - before)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/taken, "ns/message")
	b.ReportMetric(taken/float64(i), "messages")
}
