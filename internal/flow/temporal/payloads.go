package temporal

import (
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
)

// A Task is the input of a Run workflow, which passes it on when it continues as new.
type Task struct {
	Run         string   `json:"run"`
	Spec        string   `json:"spec"`  // digest of a flow.Spec
	MachineKind string   `json:"class"` // of machines that measure
	Limits      Limits   `json:"limits"`
	Block       int      `json:"block,omitempty"` // generations in one history; 0 is defaultBlock
	RunState    RunState `json:"stand"`
}

// Limits are the parts of the spec that a workflow needs.
type Limits struct {
	Time    time.Duration `json:"time"`    // of searching; 0 is no limit
	Measure time.Duration `json:"measure"` // of the finalists
	Fuzz    time.Duration `json:"fuzz"`    // of each finalist
	About   string        `json:"about"`   // the search in a line

	Terms loop.Terms    `json:"terms,omitzero"` // of the search
	Call  time.Duration `json:"call,omitempty"` // to a model
}

func limitsOf(s *flow.Spec) Limits {
	l := Limits{Time: s.Time, Measure: s.Measure, Fuzz: s.Fuzz, About: s.Describe(), Terms: loop.TermsOf(s)}
	if s.Models.On() {
		l.Call = s.Models.Limit
	}
	return l
}

// A RunState says how far a run has come.
type RunState struct {
	State   string   `json:"state,omitempty"` // of the search; "" before it began
	Seconds float64  `json:"seconds"`         // of searching
	Done    bool     `json:"done"`            // there is nothing left to try
	Enough  bool     `json:"enough"`          // the user asked to judge the finalists so far
	Event   string   `json:"event,omitempty"` // digest of the last flow.EvaluatedEvent
	Notes   []string `json:"notes,omitempty"` // digests of the activities' messages, in order

	Standing loop.Standing `json:"standing,omitzero"`
	Visited  bool          `json:"visited,omitempty"` // versions were handed in that the search can take
	Draft    *Draw         `json:"draft,omitempty"`   // of the generation under way, where models write too
	Desk     string        `json:"desk,omitempty"`    // queue of the worker that makes the calls
}

// A Draw orders the next step of a draft: it takes in the candidates of the last draw, and draws
// proposals for those that are missing.
type Draw struct {
	Run   string `json:"run"`
	State string `json:"state"`
	Round int    `json:"round"`
	Draft string `json:"draft,omitempty"` // digest of a flow.Draft
	Asked string `json:"asked,omitempty"` // digest of []evolve.Proposal
	Made  string `json:"made,omitempty"`  // digest of []flow.ProposalOutcome

	Begin    *loop.GenerationParts `json:"begin,omitempty"`    // the parts of the generation, if models write too
	Received string                `json:"received,omitempty"` // digest of []flow.Received
	Resumed  bool                  `json:"resumed,omitempty"`  // the draft was full when the run stopped: draw nothing
}

// A Drawn is a draft and the proposals that may still fill it, if there are
// any; else the shares of the islands.
type Drawn struct {
	State  string  `json:"state"`
	Draft  string  `json:"draft"`
	Asked  string  `json:"asked,omitempty"`
	Shares []Share `json:"shares,omitempty"`

	Visits   string        `json:"visits,omitempty"` // digest of []flow.Visit, which are to be received first
	Outside  int           `json:"written,omitempty"`
	Made     int           `json:"made,omitempty"`
	Standing loop.Standing `json:"standing,omitzero"`
}

// A Share is an island's part of a generation.
type Share struct {
	Run         string `json:"run"`
	MachineKind string `json:"class"`
	Island      int    `json:"island"`
	Batch       string `json:"batch"` // digest of a batch
}

// A batch is a generation's candidates in their order, and those of one
// island.
type batch struct {
	All  []string `json:"all"`
	Mine []string `json:"mine"`
}

// A TellOrder takes the verdicts on a draft into the search.
type TellOrder struct {
	Run       string        `json:"run"`
	State     string        `json:"state"`
	Draft     string        `json:"draft"`
	Evaluated []string      `json:"assessed"` // digests of flow.EvaluatedBatch, a share each
	Took      time.Duration `json:"took"`

	Evaluating time.Duration `json:"judging,omitempty"`
	Used       string        `json:"used,omitempty"`   // digest of a flow.ModelsEvent
	Calls      int           `json:"calls,omitempty"`  // under way
	Says       []flow.Event  `json:"events,omitempty"` // for the watcher
}

// A Told is the search after a generation.
type Told struct {
	State   string  `json:"state"`
	Done    bool    `json:"done"`
	Seconds float64 `json:"seconds"`
	Event   string  `json:"event"`

	Standing loop.Standing `json:"standing,omitzero"`
	Visited  bool          `json:"visited,omitempty"`
	Deaf     string        `json:"deaf,omitempty"`  // why the inbox cannot be read
	Notes    string        `json:"notes,omitempty"` // digest of []flow.Event
	Draft    *Draw         `json:"draft,omitempty"` // of a generation that was under way when the run was stopped
}

// An ActionOrder takes an action of the search that is no part of a generation.
type ActionOrder struct {
	Run     string       `json:"run"`
	State   string       `json:"state"`
	Action  loop.Action  `json:"turn"`
	Pending bool         `json:"pending,omitempty"` // no action: the calls are asked for that the search waits for
	Draft   *Draw        `json:"draft,omitempty"`   // of the generation under way
	Says    []flow.Event `json:"events,omitempty"`  // for the watcher
}

// An ActionResult is the search after an action.
type ActionResult struct {
	State    string        `json:"state"`
	Standing loop.Standing `json:"standing"`
	Visited  bool          `json:"visited,omitempty"`
	Deaf     string        `json:"deaf,omitempty"`  // why the inbox cannot be read
	Asked    string        `json:"asked,omitempty"` // digest of []evolve.Proposal, for models
	Calls    int           `json:"calls,omitempty"` // in it
	Notes    string        `json:"notes,omitempty"` // digest of []flow.Event
}

// A CallResult is the short outcome of a call. The store has the whole.
type CallResult struct {
	Reply loop.Reply `json:"reply"`
	Used  string     `json:"used"` // digest of a flow.ModelsEvent: the models' use so far
}

// An Order is an activity's input: the run, and the digest of its subject.
type Order struct {
	Run  string `json:"run"`
	What string `json:"what,omitempty"`
	More string `json:"more,omitempty"` // a second digest, or a candidate
}

// A Delivery is an activity's result: its digest, messages for the user, and a few IDs.
type Delivery struct {
	What  string   `json:"what,omitempty"`
	Notes string   `json:"notes,omitempty"` // digest of []flow.Event
	IDs   []string `json:"ids,omitempty"`
	Yes   bool     `json:"yes,omitempty"`
}

// A ReportOrder is the search's part of the report.
type ReportOrder struct {
	Run     string  `json:"run"`
	Judged  string  `json:"judged"`  // digest of a flow.Conclusion
	Closing string  `json:"closing"` // digest of a reportInput
	Seconds float64 `json:"seconds"` // of judging
}

// An Outcome is the result of a Run workflow.
type Outcome struct {
	Result string `json:"result"` // digest of a beagle.Result
}

// An EndOrder says why a run ended without a result.
type EndOrder struct {
	Run      string `json:"run"`
	Canceled bool   `json:"canceled"`
	Why      string `json:"why,omitempty"`
}

// Progress is the answer to the query "progress".
type Progress struct {
	Stage   string   `json:"stage"` // "prepare", "search", "judge"
	About   string   `json:"about"`
	Notes   []string `json:"notes,omitempty"` // as in RunState
	Event   string   `json:"event,omitempty"`
	Waiting string   `json:"waiting,omitempty"` // queue that no worker serves
}

// Names on the wire. They are in histories: do not change them.
const (
	runWorkflow    = "Run"
	islandWorkflow = "Island"
	progressQuery  = "progress"
	enoughSignal   = "enough"

	identifyActivity = "Identify"
	prepareActivity  = "Prepare"
	proposeActivity  = "Propose"
	evaluateActivity = "Assess"
	confirmActivity  = "Confirm"
	proveActivity    = "Prove"
	judgeActivity    = "Judge"
	reportActivity   = "Report"
	receiveActivity  = "Receive"
	enlistActivity   = "Enlist"
	askActivity      = "Ask"

	campaignWorkflow = "Campaign"
	targetWorkflow   = "Target"

	lookActivity        = "LookTarget"
	judgeTargetActivity = "JudgeTarget"
	standCampaignLocal  = "StandCampaign"
	closeCampaignLocal  = "CloseCampaign"
	enterTargetLocal    = "EnterTarget"
	planSearchLocal     = "PlanSearch"

	rolloutWorkflow = "Rollout"
	legQuery        = "leg"
	stopSignal      = "stop"

	boardActivity  = "Board"
	listenActivity = "Listen"
	landActivity   = "Land"
	enterLocal     = "Enter"

	beginLocal = "Begin"
	drawLocal  = "Draw"
	tellLocal  = "Tell"
	rankLocal  = "Rank"
	closeLocal = "Close"
	actLocal   = "Turn"
)
