package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Asker answers requests: a [Client], or a [Recorder] or [Replayer] in its
// place. It is safe for concurrent use.
type Asker interface {
	Ask(context.Context, Request) (Reply, error)
}

// A Client asks one or several models. The fields other than Models are
// optional; they do not change once it is in use. It is safe for concurrent
// use.
type Client struct {
	Models   []Model
	Keys     Keys          // nil reads the environment
	Budget   *Budget       // every attempt is reserved before and settled after; nil has no limits
	InFlight *Limiter      // attempts that may be under way at once; nil has no limit
	Attempts int           // tries of one call; 0 means 5
	Backoff  time.Duration // the first wait between tries, doubled for each further one; 0 means half a second
	Stall    time.Duration // the longest silence of a server; 0 means 3 minutes
	MaxText  int           // the longest reply in bytes; 0 means 1 MiB
}

// Model is the model of that name.
func (c *Client) Model(name string) (Model, error) {
	i := slices.IndexFunc(c.Models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range c.Models {
			names = append(names, m.Name)
		}
		return Model{}, usage(fmt.Sprintf("model %s is not one of this run's", name), "Known: "+strings.Join(names, ", "))
	}
	return c.Models[i], nil
}

// Ask sends the request and waits for the whole reply. An error is an
// [*Error], the context's, or a [beagle.UsageError] for a model that the
// client does not have. It takes no longer than the request's Limit, whatever
// the server does.
func (c *Client) Ask(ctx context.Context, r Request) (Reply, error) {
	return Reply{}, errors.New("llm: not connected yet")
}
