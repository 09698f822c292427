// Package source stands between the user's files and everything that works on a function. It
// resolves a name to a [Unit], checks and renames versions of the function, and turns a version
// back into a change of the files.
//
// # The candidate file
//
// A version of the target is one complete Go file: package clause, imports, the target, and the
// declarations that may change with it (the scope). The scope holds the unexported functions,
// variables and constants that nothing but the target uses, directly or through one another. A
// name with other users stays out, since a change would reach them too. So does a name in a test
// file, in a file that the build tags exclude, in assembly or in a compiler directive. Types and
// methods stay out too, unless the target is a group: a type with its methods and constructors, or
// several functions. Its types may change in their unexported fields.
//
// The rest of the package is the original files without the scope. A candidate is type-checked
// together with the rest. The rest has no function bodies, since no candidate affects them. So
// [Reader.Parse] is cheap enough to run on every candidate.
//
// # The parts of a unit
//
// Each part of a [Unit] owns its data, and uses only the parts above it:
//
//   - [Package] is the package as the user wrote it, with the results of the go command and the
//     type checker.
//   - [Scope] holds the declarations that a candidate may change, and the rest of the package.
//   - [Conditions] holds the contract of the target's calls.
//   - [Reader] reads texts as candidates.
//   - [Copies] gives a candidate private copies of other declarations, and takes them back.
//   - [Writer] writes candidates for other places: beside the original, into the user's files.
//   - [Callers] finds the calls of the target in its module.
//
// A function outside takes the part that it needs, not the unit.
//
// # Limits
//
// A helper whose file imports another package under a name that the target's file uses
// differently stays out of the scope, and so do declarations that need cgo's names. A call that
// leaves the scope and comes back (target -> other function -> target) reaches the original, not
// the variant. An unused import whose package name cannot be known is left for the type checker
// to report.
package source
