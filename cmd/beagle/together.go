package main

import (
	"fmt"
	"go/token"
	"os"
	"strings"

	"github.com/beagle-go/beagle"
)

// maxTogether bounds the names of a group on a command line.
const maxTogether = 64

// splitTarget takes the target off the arguments. A shell makes several words of ./pkg.{A,B} when
// it is not quoted: words that name functions of one package are one group.
func splitTarget(args []string) (target string, rest []string) {
	// The group ends at the first file or directory.
	n := 1
	for n < len(args) && !exists(args[n]) && !strings.HasSuffix(args[n], ".go") {
		n++
	}
	// The words share all up to the dot before the names: a package.
	prefix := args[0]
	for _, arg := range args[1:n] {
		for !strings.HasPrefix(arg, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndexByte(prefix, '.')+1]
	// The rest must be a function or a method; otherwise only the first word is the target.
	var names []string
	for _, arg := range args[:n] {
		name := arg[len(prefix):]
		recv, method, isMethod := strings.Cut(name, ".")
		if prefix == "" || !token.IsIdentifier(recv) || isMethod && !token.IsIdentifier(method) {
			return args[0], args[1:]
		}
		names = append(names, name)
	}
	if n == 1 {
		return args[0], args[1:]
	}
	return prefix + "{" + strings.Join(names, ",") + "}", args[n:]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// oneTarget does what together does where nothing but a target is given.
func oneTarget(args []string) (string, error) {
	target, rest := splitTarget(args)
	if len(rest) > 0 {
		return "", &beagle.UsageError{
			What: fmt.Sprintf("%d arguments are not functions of one package: %s", len(args),
				strings.Join(args, " ")),
			Remedy: "name one function, or a group as './pkg.{FuncA,FuncB}'",
		}
	}
	return target, nil
}
