package capture

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Question is a condition on the calls of a site.
type Question struct {
	Site    string
	Text    string     // a Go expression
	Start   wire.Start // bounds of a session, where none is alive
	Long    time.Duration
	Samples int // of each process; 0 means by Long alone
}

// Asked is the answer to a question, over all processes.
type Asked struct {
	Site      string `json:"site"`
	Condition string `json:"condition"`
	Yes       uint64 `json:"yes"`
	No        uint64 `json:"no"`
	Undecided uint64 `json:"undecided"`
	Share     Share  `json:"share"` // of the decided calls
}

// Ask counts the calls for which the condition holds. Where a capture is alive already, it asks the
// calls that the capture takes. Otherwise it arms sites for the question alone. No value leaves a
// process. Where a process is lost on the way, the answer is that of the others, beside the error.
func (q *Question) Ask(ctx context.Context, clients []*Client) (*Asked, error) {
	sum := &Asked{Condition: q.Text}
	ids := make([]int, len(clients))
	// Compile the question for the site of each process.
	sites := make([]wire.Site, len(clients))
	busy := make([]bool, len(clients))
	programs := make([]*wire.Program, len(clients))
	if err := Each(clients, func(i int, c *Client) error {
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbStatus})
		if err != nil {
			return err
		}
		busy[i] = r.Status.Session != nil
		if sites[i], err = siteNamed(r.Status, q.Site, c.Address); err != nil {
			return err
		}
		programs[i], err = Compile(q.Text, sites[i])
		return err
	}); err != nil {
		return nil, err
	}
	var armed, others []*Client // with a session of somebody else, and without
	for i, c := range clients {
		sum.Site = sites[i].Name
		if busy[i] {
			armed = append(armed, c)
		} else {
			others = append(others, c)
		}
	}
	// Install it, and count.
	order := append(slices.Clone(armed), others...)
	install := func(ctx context.Context, c *Client) error {
		i := slices.Index(order, c)
		prog := programs[slices.Index(clients, c)]
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbAsk, Site: sum.Site, Program: prog})
		if err == nil {
			ids[i] = r.ID
		}
		return err
	}
	if err := Each(armed, func(_ int, c *Client) error { return install(ctx, c) }); err != nil {
		return nil, err
	}
	q.Start.Sites, q.Start.Count, q.Start.Hits = []string{sum.Site}, true, 0
	q.Start.TTL = min(q.Long.Seconds()+60, 86400)
	read := func(ctx context.Context) error { return q.sumCounts(ctx, order, ids, sum) }
	h := &Hold{Start: q.Start, Long: q.Long}
	h.Begun = func(ctx context.Context, i int) error { return install(ctx, others[i]) }
	return sum, q.wait(ctx, h, others, read, sum)
}

// wait holds the sessions that the question needed, and reads the counts before they end.
func (q *Question) wait(
	ctx context.Context, h *Hold, others []*Client, read func(context.Context) error, sum *Asked,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var trouble error
	h.Last = func(ctx context.Context) { trouble = read(ctx) }
	h.Watch = func([]Pulled) {
		if q.Samples > 0 && read(context.WithoutCancel(ctx)) == nil && sum.Yes+sum.No >= uint64(q.Samples) {
			cancel()
		}
	}
	if _, err := h.Run(ctx, others); err != nil {
		return err
	}
	return trouble
}

// sumCounts sums the counts so far of the processes that answer. The error names the others.
func (q *Question) sumCounts(ctx context.Context, clients []*Client, ids []int, sum *Asked) error {
	answers := make([]wire.Answer, len(clients))
	err := Each(clients, func(i int, c *Client) error {
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbStatus})
		if err != nil {
			return err
		}
		if r.Status.Session == nil {
			return fmt.Errorf("%s: the capture ended before the answer: %s", c.Address, r.Status.Disarmed)
		}
		at := slices.IndexFunc(r.Status.Session.Asked, func(a wire.Answer) bool { return a.ID == ids[i] })
		if at < 0 {
			return fmt.Errorf("%s: the question is gone: another controller ended it", c.Address)
		}
		answers[i] = r.Status.Session.Asked[at]
		return nil
	})
	sum.Yes, sum.No, sum.Undecided = 0, 0, 0
	for _, a := range answers {
		sum.Yes, sum.No, sum.Undecided = sum.Yes+a.Yes, sum.No+a.No, sum.Undecided+a.Undecided
	}
	sum.Share = shareOf(sum.Yes, sum.Yes+sum.No)
	return err
}

// siteNamed finds the site of a process that a name means.
func siteNamed(st *wire.Status, name, address string) (wire.Site, error) {
	var found []wire.Site
	for _, s := range st.Sites {
		if wire.Matches(name, s.Name) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var all []string
	for _, s := range st.Sites {
		all = append(all, s.Name)
	}
	return wire.Site{}, &beagle.UsageError{What: fmt.Sprintf("%s: %d sites are called %s", address, len(found), name),
		Remedy: fmt.Sprintf("name one of %v", all)}
}
