// Package temporal drives a run on many machines, with Temporal as the engine: the same search
// and the same activities as package local, and for one seed and the same verdicts the same
// trajectory.
//
// # Roles
//
// A Run workflow runs the loop of package loop, and its engine carries out the loop's decisions. In
// every generation it asks the search for proposals, orders their candidates, hands each island's
// share to an Island child, and tells the search the verdicts. Calls to models go on in the
// meantime. At the end it has the finalists measured, verified and judged. A [Worker] carries out
// the activities of workflows. Each kind of work has a queue:
//
//	run            workflows, and the search itself: local activities
//	llm            making candidates of proposals and of what is handed in
//	llm/WORKER     calls to models and agents; see Enlist
//	build          recording inputs, profiling the original, the report
//	verify         the full verification of finalists
//	bench/KIND     all that is timed: one thing at a time on each machine
//
// A machine kind is a processor's model and a system ([flow.MachineKind]): measurements of one
// machine serve another of its kind. A run is measured by one kind only.
//
// # What is where
//
// Everything large is in the store that workers share, under its digest, and written before the
// digest is returned. A workflow's history holds digests and small numbers only, nothing above 4
// KB. The search is stored as a chain: a state is named by the digest of its last step, such as
// Ask or Tell, which names the one before; now and then the whole search is kept, so that the way
// back is short. A worker that has the state in memory goes on with it; any other plays the chain
// back (see keeper).
//
// # Why it survives
//
// Activities are repeated until one succeeds, so each first looks in the store for the result of
// an earlier try: a verdict is made once. A machine that dies is noticed by its missing
// heartbeats, and its work goes to another. A canceled activity ends its programs with their
// process groups. All calls of a run are made by one worker at a time, from a queue of its own,
// since the journal of calls has one writer. When that worker is gone, the run enlists another
// one, which reads the journal first: no answer is paid twice. A workflow's code may be changed
// where it decides nothing: all decisions are local activities. A change of the commands that a
// workflow issues needs workflow.GetVersion, and the golden histories in testdata must still
// replay.
package temporal
