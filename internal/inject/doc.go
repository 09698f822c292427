// Package inject makes a service's build capture calls of named functions. It writes an overlay for
// the go command: copies of the files that declare the functions, with a gate on the line of the
// opening brace, and the source of module probe as a package inside the user's module. The user's
// files and go.mod stay as they are.
//
// A gate calls a second function, which captures the arguments, calls the original, and captures
// its results. So the original needs no defer, and keeps its cost while nothing is captured.
package inject
