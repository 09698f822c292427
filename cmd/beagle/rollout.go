package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/probe/wire"
)

// exitUndecided is the status of a rollout that may neither ship nor is rolled back.
const exitUndecided = 3

var rolloutCommand = &command{
	name: "rollout", args: "VERB [arguments]",
	short: "try a faster version in production, and decide",
	long: `
Compares a candidate with the original in production, and decides by evidence: it ships
when a success metric is better beyond doubt and every guardrail is non-inferior. An
inconclusive rollout never ships. docs/rollout.md has the details.

  beagle rollout shadow --corpus CALLS CANDIDATE.go PKG.F
      replay captured calls with both versions, in the sandbox
  beagle rollout patch CANDIDATE.go PKG.F
      print a patch with both versions behind a switch, to merge
  beagle rollout rehearse --run S --load L PKG.F
      let them take turns in a service of its own, under load
  beagle rollout start --at SOCKETS PKG.F
      let the versions take turns, while this command runs
  beagle rollout status [ID]
      how rollouts stand
  beagle rollout stop ID
      end one: the original runs again
  beagle rollout judge --plan PLAN BLOCKS...
      judge blocks that another program collected
  beagle rollout guardrails SLO.yml...
      print guardrails for beagle.yaml, from SLOs or rule files
  beagle rollout template argo|flagger|job|openfeature
      print settings for other deployers, to ask this judge

The service is built by 'beagle build --rollout CANDIDATE.go PKG.F', or has the patch. A
rollout starts after a shadow of the same versions, and goes on where it was when it is
started again. A process whose controller is silent for ten seconds runs the original.
With --listen the judge answers Argo Rollouts, Flagger, OFREP and Prometheus. With
--temporal a workflow drives the rollout, by a worker that reaches the processes ('beagle
worker --queues rollout'), and goes on when this command ends.

Examples:
  beagle rollout shadow --corpus calls.jsonl faster.go ./tags.Normalize
  beagle rollout rehearse --run './service -listen :8080' \
      --load 'vegeta attack -targets calls.txt' ./tags.Normalize
  beagle rollout start --at s.sock --token token --listen 127.0.0.1:9110 ./tags.Normalize
  beagle rollout start --at s.sock --temporal temporal.internal:7233 ./tags.Normalize
  beagle rollout judge --plan plan.json --state state.json --json new-blocks.jsonl

Exit status: 0 shipped; 1 rolled back, or the machinery failed; 2 bad usage; 3 not decided
yet: hold; 130 interrupted.`,
}

func init() { rolloutCommand.run = runRollout }

// A rolloutFlags is the flags of all verbs, by the verb that reads them.
type rolloutFlags struct {
	rolloutCall
	shadowFlags
	startFlags
	rehearseFlags
	judgeFlags
}

// A rolloutCall is what all verbs read.
type rolloutCall struct {
	verb   string
	plan   string // of start and judge
	dir    string
	asJSON bool
	std    stdio
	rest   []string // arguments after the verb
}

type shadowFlags struct {
	corpus string
}

type startFlags struct {
	at            []string
	token, listen string
	server        fleet.Server // whose workflow drives it; none: this process does

	// For the plan and the ledger.
	id, service, config string
	predicted           string
	cores, slow         float64
	noShadow            bool

	// Orders to each process.
	unit   string
	slice  time.Duration
	orders wire.RolloutOrders
}

type rehearseFlags struct {
	program, load string
	lasts         time.Duration
}

type judgeFlags struct {
	state string
}

// flags declares the flags of all verbs.
func (o *rolloutFlags) flags(f *flagSet) {
	f.StringVar(&o.plan, "plan", "", "start, rehearse, judge: `file` with the plan, as JSON (docs/rollout.md)")
	f.StringVar(&o.dir, "C", ".", "shadow, patch, start, rehearse: `directory` of the module")
	f.BoolVar(&o.asJSON, "json", false, "print JSON (docs/json.md)")
	o.shadowFlags.flags(f)
	o.startFlags.flags(f)
	o.rehearseFlags.flags(f)
	o.judgeFlags.flags(f)
}

// flags declares the flags of beagle rollout shadow.
func (o *shadowFlags) flags(f *flagSet) {
	f.StringVar(&o.corpus, "corpus", "", "shadow: `file` of captured calls, as 'beagle capture' writes it")
}

// flags declares the flags of beagle rollout start.
func (o *startFlags) flags(f *flagSet) {
	f.Var(listFlag{&o.at}, "at",
		"start: `addresses` of processes: paths of Unix sockets, or URLs of handlers, separated by commas")
	f.StringVar(&o.token, "token", "", "start: `file` with the token (default: the one that BEAGLE_PROBE_TOKEN names)")
	f.StringVar(&o.listen, "listen", "", "start: answer deployers and Prometheus at this `address`")
	serverFlags(f, &o.server)
	f.StringVar(&o.id, "id", "", "start: `name` of the rollout (default: the ID of its build)")
	f.StringVar(&o.service, "service", "", "start: `name` of the service in "+settings.Name+" and in the ledger")
	f.StringVar(&o.config, "config", "", "start: `file` with services; "+settings.Name+" of the directory by default")
	f.StringVar(&o.predicted, "predicted", "",
		"start: share of the service that the benchmark promises to save, as `ESTIMATE,LOW,HIGH`, for the ledger")
	f.Float64Var(&o.cores, "cores", 0, "start: processors that the service keeps busy, for the ledger")
	f.Float64Var(&o.slow, "slow", 0, "start: milliseconds above which a request is slow")
	f.BoolVar(&o.noShadow, "no-shadow", false, "start: without a shadow of these versions")
	f.StringVar(&o.unit, "unit", "",
		"start: the `unit` that chance assigns to an arm: slice, the default, or request, for functions with a context")
	f.DurationVar(&o.slice, "slice", 20*time.Millisecond, "start: length of an arm's slice")
	f.IntVar(&o.orders.Turns, "turns", 10, "start: turns that are summed into a block")
	f.Float64Var(&o.orders.MostErrors, "most-errors", 0.02,
		"start: by how much the candidate's share of errors may exceed the original's until the process switches back")
	f.Float64Var(&o.orders.MostHeap, "most-heap", 3, "start: factor by which the live heap may grow")
	f.Float64Var(&o.orders.Stuck, "stuck", 3, "start: seconds after which calls that do not return count as hung")
	f.Float64Var(&o.orders.TTL, "ttl", 86400, "start: seconds until a process ends the rollout by itself")
}

// flags declares the flags of beagle rollout rehearse.
func (o *rehearseFlags) flags(f *flagSet) {
	f.StringVar(&o.program, "run", "", "rehearse: `command` that runs the service, built with both versions")
	f.StringVar(&o.load, "load", "",
		"rehearse: `command` that puts load on it; repeated until the time is over")
	f.DurationVar(&o.lasts, "for", time.Minute, "rehearse: length of the rehearsal")
}

// flags declares the flags of beagle rollout judge.
func (o *judgeFlags) flags(f *flagSet) {
	f.StringVar(&o.state, "state", "",
		"judge: `file` that keeps the experiment; made from the plan when it is not there")
}

// rolloutVerbs are the verbs with their arguments and the numbers of these.
var rolloutVerbs = map[string]struct {
	takes       string
	least, most int
	run         func(ctx context.Context, o *rolloutFlags) (int, error)
}{
	"shadow":     {"CANDIDATE.go PKG.F", 2, 2, rolloutShadow},
	"patch":      {"CANDIDATE.go PKG.F", 2, 2, rolloutPatch},
	"rehearse":   {"PKG.F", 1, 1, rolloutRehearse},
	"start":      {"PKG.F", 1, 1, rolloutStart},
	"status":     {"[ID]", 0, 1, rolloutStatus},
	"stop":       {"ID", 1, 1, rolloutStop},
	"judge":      {"BLOCKS...", 1, 1000, rolloutJudge},
	"template":   {"argo, flagger, job or openfeature", 1, 1, rolloutTemplate},
	"guardrails": {"SLO.yml...", 1, 100, rolloutGuardrails},
}

// runRollout checks the verb and its arguments, and runs it.
func runRollout(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	o := &rolloutFlags{rolloutCall: rolloutCall{std: std}}
	f := c.flags(std)
	o.flags(f)
	rest, err := parse(f, args, 1, 1001)
	if err != nil {
		return exitUsage, err
	}
	verb, ok := rolloutVerbs[rest[0]]
	if !ok {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no verb %q", rest[0]),
			Remedy: "give " + strings.Join(inorder.Keys(rolloutVerbs), ", ") +
				"; 'beagle rollout --help' shows examples"}
	}
	// Check the arguments here, so that each verb can rely on their number.
	o.verb, o.rest = rest[0], rest[1:]
	if n := len(o.rest); n < verb.least || n > verb.most {
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("%s: %s given: it takes %s", o.verb, countOf(o.rest), verb.takes),
			Remedy: "'beagle rollout --help' shows examples",
		}
	}
	// The ID becomes the name of a directory in the store.
	if o.id != "" && !plainName.MatchString(o.id) {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("--id %q is not a name", o.id),
			Remedy: "use letters, digits, dots and dashes"}
	}
	return verb.run(ctx, o)
}

// rolloutDir returns the directory of a rollout.
func rolloutDir(id string) (string, error) {
	s, err := openStore()
	if err != nil {
		return "", err
	}
	return filepath.Join(s.Dir(), "rollouts", id), nil
}
