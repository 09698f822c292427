package coder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate/llm"
)

// discard drops the protocol library's log: it returns its errors, too.
var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

// fault classifies a failure in the terms of a failed model.
func (t *turn) fault(ctx context.Context, err error) error {
	var bad *beagle.UsageError
	if errors.As(err, &bad) { // the agent was not started
		return &llm.Halted{Cause: err}
	}
	e := &llm.Error{
		Kind:     llm.Unavailable,
		Model:    t.model.Name,
		Message:  llm.Scrub(err.Error()),
		Attempts: 1,
		Wasted:   t.tokens(),
		Cost:     t.price(),
	}
	if words := lastWords(t.stderr); words != "" {
		e.Message += "; its last words: " + words
	}
	var refused *acp.RequestError
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the run ends, the agent did nothing wrong
		return context.Cause(ctx)
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Remedy = llm.Timeout, context.Cause(ctx).Error(),
			"give it more time with --call-limit, or a smaller function"
	case t.exit == statusNotKept:
		e.Message = "the process that looks after the agent's processes could not start it: " + lastWords(t.stderr)
		e.Remedy = "run Beagle where prctl, fork and /bin/sh are allowed, or let models write candidates instead: " +
			"--model"
	case t.exit == statusCannotExecute || t.exit == statusNotFound:
		e.Kind, e.Remedy = llm.UnknownModel, fmt.Sprintf("give a command that can be started: --agent %q", t.model.URL)
	case errors.As(err, &refused) && refused.Code == authRequired:
		e.Kind, e.Remedy = llm.BadKey,
			fmt.Sprintf("log in with the agent itself first, then try again: %s", t.model.URL)
	case errors.As(err, &refused) && refused.Code != internalError:
		e.Kind = llm.Refused
	default:
		e.Remedy = fmt.Sprintf("try the command by itself, it must speak the Agent Client Protocol on standard input "+
			"and output: %s", t.model.URL)
	}
	return e
}

// lastWords returns the end of an agent's standard error, without keys and control sequences of
// terminals.
func lastWords(text string) string {
	const most = 300 // bytes
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	words := llm.Scrub(lines[len(lines)-1])
	for i := len(lines) - 2; i >= 0; i-- {
		longer := llm.Scrub(strings.Join(lines[i:], "\n"))
		if len(longer) > most {
			break
		}
		words = longer
	}
	return words
}

const (
	statusNotKept       = 113    // a keeper's own status, which it gives its reason for
	statusCannotExecute = 126    // a shell's status for a program that it may not start
	statusNotFound      = 127    // and for one that is not there
	authRequired        = -32000 // the protocol's code for an agent that wants a login first
	internalError       = -32603 // the agent failed, or is not there any more
)

func sortedNames(set map[string]bool) []string {
	var out []string
	for name := range set {
		out = append(out, name)
	}
	inorder.Sort(out)
	return out
}
