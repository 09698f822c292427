package evolve

// The numbers below were chosen by hand. The simulated landscapes of the tests hold them: a change
// that lets the search find fewer combinations fails there. Every one of them changes trajectories.

// The weights of the kinds of proposals, by the used share of the budget: see [breeder.kinds].
// First moves must be known, then their combinations tried, and in the end useless steps go.
const (
	combineFrom = 0.4 // no cross and no sibling before
	pruneFrom   = 0.6
	pruneMostly = 0.8

	stepWeight      = 0.5
	stackWeight     = 2
	crossWeight     = 1.5
	siblingWeight   = 0.4
	pruneWeight     = 0.5 // between pruneFrom and pruneMostly
	lastPruneWeight = 3

	steppingStone = 0.3 // earnings of a kind for a stepping stone, where a new best earns 1
)

// The draw of parents: see [breeder.parents]. Scores are logarithms of ratios.
const (
	parentSpread = 0.05 // of scores: an elite that is this much slower is drawn a third as often
	perTaken     = 0.1  // for each step: an elite with more steps is further on the way
	fromRoot     = 0.2  // how often a cross starts from the original instead
)

// The value of a mutator on a member: see [breeder.value].
const (
	perDoubt      = 0.1  // on the logarithm of the chance of behaving
	untestedBonus = 0.2  // an untested mutator comes first
	perRepeat     = 0.15 // less for each time that the member has it
	perPending    = 0.5  // less for each pending proposal with it, whose result is worth waiting for

	goesAlone  = 0.6   // chance of behaving below which a mutator is judged alone
	hopeless   = 0.35  // chance of behaving below which a mutator is given up
	leastCross = -0.03 // least drawn gain of a step that a cross takes over
	dominant   = 0.1   // least gain of the step that the last island does without
	pruneScore = 0.05  // least score of a best version to prune
	dropGain   = 1.5 * perStep
)

// The trust in rule authors: see [arm.priorGain].
const (
	priorTrust = 0.5
	maxPrior   = 0.4
)

// The proposals for models: see [Search.commission].
const (
	mateShare     = 0.25 // how often a model gets two versions to join
	newBeginning  = 0.4  // how often a good reply is not followed by a turn on it
	subjectSpread = 0.3  // of scores, as parentSpread
	evenShare     = 0.5  // of the budget for models, while their worth is unknown
	siblingEarns  = 0.1  // earnings of an author for a gain on the parent, where one on the best earns 1
	leastWeight   = 0.01 // of an author
)

// unweighted is the weight of a move on lines without samples, in the draws of best-of-n.
const unweighted = 0.05
