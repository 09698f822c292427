// Package trials finds out how often the judge of speed errs. It lets the judge compare versions
// whose truth is known: functions against themselves in other words, and versions with a true gain
// of 2 and 5 %.
//
// A trial goes the way of a user's candidate, from recorded inputs to the decision, with the same
// rule, budget and code. It leaves out the checks of behaviour, and hides from the judge that two
// versions have the same machine code. Every trial has its own link layouts, orders and fresh
// inputs. Every other round over the functions runs under a load: two busy threads for each
// processor, one of which allocates.
//
// Each trial is written into a journal in the store as soon as it is done, so that a series can be
// stopped at any moment and goes on where it was. Trials under another rule, or with another
// budget, toolchain or kind of machine, do not count.
package trials
