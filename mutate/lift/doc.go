// Package lift recognises code by its behaviour. It cuts a function, its helpers, their loops and
// their expressions into regions, records the outputs of each region, and searches for a term of
// the standard library with the same outputs. The spelling of the code does not matter.
//
// # A study
//
// [NewStudy] cuts the regions and draws their inputs. The caller builds the text of [Study.Program]
// into the code's package, runs it in a sandbox with [Study.Request] as its standard input, and
// hands its output to [Study.Read]. [Study.Find] then searches, without running anything of the
// code again. It is pure: the same code, seed and recorded inputs give the same matches, unless the
// clock ends the search. [Mutator] makes the matches steps of a search.
//
// # Regions
//
// A region reads variables, or fields of variables, of types of the grammar
// (numbers, strings, and slices of them). It leaves results, variables that are
// used afterwards, elements of slices, and the text that it appends to one builder
// or buffer, which it may not read. One that may end the function or go on
// leaves also which of the two it did; each output is looked up alone, where it
// counts. Code with effects, goroutines, jumps to elsewhere or calls into packages
// that do more than compute is no region. Loops burn fuel, so none runs forever.
//
// # Inputs
//
// The inputs decide how many false terms survive, more than their number. They are
// shaped after the code's own constants, drawn at the edges of character classes
// and number ranges, and correlated: a prefix or a case variant of another string,
// an element of a slice, an index near a length. Recorded calls of the target come
// first. Questions about one rune or byte are asked for all of them.
//
// # The search
//
// Terms are built bottom-up, the cheapest first, as columns of values over 28 to 64 examples. Only
// the first term with a column is kept. A term that is the output on all examples is checked on the
// whole pool of inputs; an input that refutes it becomes an example, and the search starts again.
// Outputs are also looked up through inverses (not, +1, -1, conversions). Two terms may be joined
// by a condition that says which of them is right.
//
// The functions are those of the standard library, and of the [Modules] whose packages
// [Options.Packages] names. Terms of the two kinds are matches of their own.
//
// A term without a function of the library is refused: it is the old code again.
// Functions that make right and absurd terms, such as an escape inside a
// comparison, are allowed as the whole term only.
//
// # What it does not show
//
// A match agreed with the code on some thousand inputs. Nothing is proved, and a right term may be
// slower. The judge decides both. Panics are not compared here, nor nil with empty. A match that
// holds on sorted inputs only is marked (Match.Sorted), and is proposed when nearly all recorded
// inputs are sorted.
//
// # Sources
//
// The search is that of TF-Coder (Shi, Bieber, Singh: TF-Coder: Program Synthesis
// for Tensor Manipulations, 2022) and Transit (Udupa and others: TRANSIT:
// Specifying Protocols with Concolic Snippets, PLDI 2013): enumeration from the
// bottom up with one representative for each vector of outputs. The replacement of
// loops by calls of a library, by input and output, follows FACC (Woodruff and
// others: Bind the Gap: Compiling Real Software to Hardware FFT Accelerators, PLDI
// 2022) and C2TACO (Magalhães and others: C2TACO: Lifting Tensor Code to TACO,
// GPCE 2023).
package lift
