package probe

import (
	"testing"

	"github.com/beagle-go/beagle/probe/wire"
)

// BenchmarkCapture captures a call with a key and eight tags.
func BenchmarkCapture(b *testing.B) {
	type in struct {
		Key  string
		Tags []string
	}
	for name, raw := range map[string]bool{"shapes": false, "raw": true} {
		b.Run(name, func(b *testing.B) {
			p, _ := newProber()
			var site Site
			add[in, struct{}](p, &site, "m/p.F")
			s, err := p.begin(wire.Start{Sites: []string{"m/p.F"}, Raw: raw})
			if err != nil {
				b.Fatal(err)
			}
			defer p.end(s, "test")
			v := in{"tags-7-host", []string{"env:prod", "host:a", "service:x", "version:1", "region:eu",
				"team:y", "shard:3", "az:b"}}
			site.word.Store(0)
			b.ReportAllocs()
			for b.Loop() {
				s.bytes.Store(maxBytes)
				c := Enter(&site, &v)
				c.End()
				s.ring.release(c.slot)
			}
		})
	}
}
