package intake

import (
	"cmp"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// Bounds are the settings that can change while the intake runs. The zero value of a field means
// its default.
type Bounds struct {
	Limits   wire.Limits // of one request
	Requests int         // most requests read at the same time; senders of others must retry
	Pending  int         // names with unwritten counts at which counts are written early
}

func (b Bounds) withDefaults() Bounds {
	if b.Limits == (wire.Limits{}) {
		b.Limits = wire.DefaultLimits()
	}
	return Bounds{b.Limits, cmp.Or(b.Requests, 64), cmp.Or(b.Pending, 500_000)}
}

// Options say how an intake works. The zero value of a field means its default.
type Options struct {
	Token         string         // that senders and readers must give; "" for none
	Customers     *customer.Keys // that senders and readers may give instead of the token; nil for a single customer
	Bounds        Bounds
	Names         int           // most names of each kind
	CustomerNames int           // of one customer of the key file
	Verbatim      string        // keys of tags, separated by commas, whose values are kept as written
	News          time.Duration // longest time until a new name is written
	Flush         time.Duration // between two writings of counts
	Remember      time.Duration // how long the history knows a name that is not seen
	Retention     time.Duration // how long the index keeps a name that is not seen
	Now           func() time.Time
}

// withDefaults fills zero fields. Customers' names are bounded by all names if there is no bound.
func (o Options) withDefaults() Options {
	d := Options{
		Names: 10_000_000,
		News:  200 * time.Millisecond, Flush: 5 * time.Minute, Remember: 24 * time.Hour, Retention: 30 * 24 * time.Hour,
	}
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	o.Names = cmp.Or(o.Names, d.Names)
	o.CustomerNames = cmp.Or(o.CustomerNames, o.Names)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Bounds = o.Bounds.withDefaults()
	or(&o.News, d.News)
	or(&o.Flush, d.Flush)
	or(&o.Remember, d.Remember)
	or(&o.Retention, d.Retention)
	return o
}
