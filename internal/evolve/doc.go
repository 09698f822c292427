// Package evolve decides which candidates to try. It is a search by ask and tell: [Search.Ask]
// gives proposals, the caller makes, verifies and measures the candidates however it likes, and
// [Search.Tell] takes their verdicts. The package knows nothing of Go code, files or time. Its
// whole state is JSON, the random numbers included, so that a stopped run resumes as if it had
// never stopped.
//
// # What makes the problem hard
//
// There are few tries, some dozens, since each costs a build, a verification and a measurement. A
// candidate offers 15 to 40 moves. Some of them break it, many do nothing, some make it slower.
// The gain is often in a combination: on a tag validator one rewrite gains 11 %, another 15 %,
// both 48 %, and both with a third, which does nothing by itself, 70 %. A search that takes the
// best single step again and again, with a gate against noise, drops all three. One that tries
// random stacks has to be lucky: three particular moves of thirty come together in about one of a
// thousand stacks of four.
//
// # The method
//
// Judge in stacks, attribute by regression, combine what is proven.
//
//   - A stack of moves is judged as one candidate. If it behaves, all its moves are proven at the
//     price of one; if it does not, they share the blame and the suspects go alone next. How deep
//     to stack follows from how often moves behave on this target: one more is added to d while
//     its chance of behaving is above d/(d+1), up to four.
//   - A stack takes each of its mutators at up to four places at once: a tenth of the gain at each
//     of many places would drown in noise. The caller takes those steps where the time goes.
//   - A Bayesian linear regression over all candidates, with the rule authors' estimates (the
//     weights of moves) as its prior, says what each mutator is worth: a stack that was slower
//     for one of its moves does not condemn the others. Choices are Thompson samples of it, so
//     that mutators of which little is known get their chance.
//   - A cross takes over proven steps of all other lineages at once, also those that gain nothing
//     yet: neutral steps are stepping stones. It takes all steps of a mutator from the best
//     candidate that has it. Crosses find combinations that no single step leads to.
//   - Islands evolve on their own and share their best every other generation; each keeps an
//     archive with one elite for each kind of candidate. The kind of a candidate is the set of
//     mutators that made it, its remaining bounds checks and escapes, and the size of its code.
//     So a stepping stone is not lost to a faster candidate of another kind. When the search
//     stands still, the last island does without the step that the best candidate owes most to,
//     because that may exclude something better.
//   - A gain on most inputs must not hide a loss on others. Candidates that look faster are
//     measured on the common classes of inputs too (ASCII or not, long, sorted), and one that is
//     surely slower on a class is worth no more than it is there: any that gains without paying
//     dominates it. It has cells of its own in the archive, since the step that mends it may
//     come.
//   - Siblings try other parameters; prunes take away steps that bought nothing, since a step
//     must buy a hundredth to be worth reading.
//   - Which of these kinds of proposal comes next is drawn by what they earned.
//
// # Models
//
// Models may write candidates beside the rules ([Search.AskModels]). Rules and models are
// authors, each with an account of what it has cost and earned, on one scale: verified gain per
// dollar, where an hour of waiting has a price too. A race by that worth draws the next model to
// ask, and splits the budget of candidates between rules and models. Rules never wait for a
// model: they can borrow the models' share, and get it when the models are closed. Rules go on
// from a candidate that a model wrote. Its steps up to there stay together, since they cannot be
// taken again one by one, and the regression counts from there.
//
// A model is dismissed when it leaves four calls in a row unanswered, when the budget does not
// cover another call of it ([Search.Dismiss]), or when ten paid answers in a row repeat known
// candidates. Ten is the least that still finds a good answer after nine useless ones. The other
// models go on. The models are closed when all are gone, or when twenty answers in a row brought
// nothing new, whatever they cost.
//
// A candidate that was seen before, and a proposal that fits nowhere, cost no budget.
//
// # The parts of a search
//
// A [Search] joins parts that each own a piece of its state: the agenda of proposals, the
// population (members, and the islands where they live), the merits of mutators with the
// regression, the authors with their accounts, and the trims of the last generations. The breeder
// has no state: it makes the rules' proposals out of these parts. In JSON all are one flat object.
//
// # Sources
//
// The archive of elites by kind is MAP-Elites (Mouret and Clune, "Illuminating search spaces by
// mapping elites", 2015); islands with migration are those of parallel genetic algorithms
// (Whitley, Rana and Heckendorn, "The island model genetic algorithm", 1999) and of FunSearch
// (Romera-Paredes and others, 2023). Drawing from the posterior is Thompson's (1933), on a linear
// model as Agrawal and Goyal (2013) do. Judging many at once to find the few bad ones is group
// testing (Dorfman, 1943). Asking and telling as the whole interface is the habit of pyribs.
//
// # What it does not do
//
// The regression has no interactions, so it credits the members of a combination with a share
// each. It knows mutators, not sites: two sites of one mutator share their accounts. With several
// hundred candidates it would pay to change both.
package evolve
