package rt

import (
	"strings"
	"testing"
)

func BenchmarkGuide(b *testing.B) {
	f := func(a *textArgs, r *textResults) {
		var sb strings.Builder
		for _, c := range a.A0 {
			switch {
			case TraceInt(0, TraceGe, c, 'A') && TraceInt(1, TraceLe, c, 'Z'):
				sb.WriteRune(c + 32)
			case TraceInt(2, TraceEq, c, ' ') || TraceInt(3, TraceEq, c, '\t'):
				sb.WriteByte('_')
			default:
				sb.WriteRune(c)
			}
		}
		r.R0 = sb.String()
	}
	h := &Harness[textArgs, textResults]{}
	h.Variants = append(h.Variants, version(f), version(f))
	for range b.N {
		out, err := h.guided(&Guide{Exhaust: Exhaust{Variant: 1, Ints: []int64{65, 90, 32, 9}, Budget: 5e9, Skip: []string{"long", "deep"}}, Sites: 4})
		if err != nil {
			b.Fatal(err)
		}
		r := out.(*GuideReply)
		b.Logf("%d inputs, kept %d, last %d, %.1f ms, saturated %v", r.Inputs, r.Kept, r.Last, r.Millis, r.Saturated)
	}
}
