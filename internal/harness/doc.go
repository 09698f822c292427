// Package harness turns versions of a function into programs: the checking and timing binary, the
// traced binary, the race-detector binary.
//
// # One package, many versions
//
// Linking dominates the cost of a build, so a batch of versions shares one link. The target's
// package is compiled with all its original files and, for each version, a copy of the
// candidate's declarations under new names (Normalize__b3); a generated shim declares the
// arguments and results as structs and calls each version; package rt does the work; a main
// package of three lines starts it. The toolchain is called directly with the export data that
// `go list -export` names, because the go command's own start costs more than the compilation of
// a small package. Package rt is compiled once for all targets, under a path of its own, and its
// archive is kept; so is the main package, for all targets of one package with the same
// signature. A package with assembly, cgo or embedded files, and every race build, goes through
// `go build -overlay` instead; the user's checkout is never written to.
//
// A version that the compiler refuses is dropped from its batch and the rest goes on.
//
// # What a version is made of
//
// [beagle.StaticFacts] come from the same compilation: the compiler's account (-json) by line,
// and a hash of the machine code. The hash is taken from the object file, not from the linked
// binary. There, code still refers to symbols by name. So equal code hashes equally in every
// batch, on every architecture, and constants differ by content, not by address. Names of a
// version's own declarations are replaced by the order in which the code reaches them.
//
// # Limits
//
// Versions of a batch share the package's state; the policy of internal/verify forbids writing to
// it. Initialisers of package variables run once for every version in the batch. A function that is
// never inlined returns the results that the Time functions drop, so no work is folded away; but
// the compiler inlines a target no further up than that.
package harness
