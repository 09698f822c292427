package main

import (
	"context"
	"fmt"

	"github.com/beagle-go/beagle"
)

// exitUndecided is the status of a rollout that may neither ship nor is rolled back.
const exitUndecided = 3

var rolloutCommand = &command{
	name: "rollout", args: "judge [arguments]",
	short: "try a faster version in production, and decide",
	long: `
Compares a candidate with the original in production, and decides by evidence: it ships when a success metric is better
beyond doubt and every guardrail is non-inferior. An inconclusive rollout never ships. docs/rollout.md has the details.

  beagle rollout judge --plan PLAN BLOCKS...    judge blocks of slice statistics that another program collected

With --state the judge goes on where it was; blocks that were counted before are passed over.

Examples:
  beagle rollout judge --plan plan.json blocks.jsonl
  beagle rollout judge --plan plan.json --state state.json --json new-blocks.jsonl

Exit status: 0 shipped; 1 rolled back, or the machinery failed; 2 bad usage; 3 not decided yet: hold.`,
}

func init() { rolloutCommand.run = runRollout }

// A rolling is the flags of all verbs.
type rolling struct {
	plan, state string
	asJSON      bool
	std         stdio
	rest        []string
}

func (o *rolling) flags(f *flagSet) {
	f.StringVar(&o.plan, "plan", "", "`file` with the plan, as JSON (docs/rollout.md)")
	f.StringVar(&o.state, "state", "", "judge: `file` that keeps the experiment; made from the plan when it is not there")
	f.BoolVar(&o.asJSON, "json", false, "print JSON (docs/json.md)")
}

// rolloutVerbs are the verbs with the numbers of their arguments.
var rolloutVerbs = map[string]struct {
	least, most int
	run         func(ctx context.Context, o *rolling) (int, error)
}{
	"judge": {1, 1000, rolloutJudge},
}

func runRollout(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	o := &rolling{std: std}
	f := c.flags(std)
	o.flags(f)
	rest, err := parse(f, args, 1, 1001)
	if err != nil {
		return exitUsage, err
	}
	verb, ok := rolloutVerbs[rest[0]]
	if !ok {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no verb %q", rest[0]),
			Remedy: "'beagle rollout --help' shows examples"}
	}
	o.rest = rest[1:]
	if n := len(o.rest); n < verb.least || n > verb.most {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("rollout %s: %d arguments given", rest[0], n),
			Remedy: "'beagle rollout --help' shows examples"}
	}
	return verb.run(ctx, o)
}
