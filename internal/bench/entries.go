package bench

import (
	"debug/gosym"
	"fmt"
	"strings"
)

// entries returns the entry addresses of the variants in a linked program, modulo 64. They come
// from the table that the runtime needs for its tracebacks, which stripped programs have too. A
// target that was inlined into its caller has no entry of its own; the caller's counts then.
// Loading moves a program by whole pages, so the addresses in the file hold. Variants that are not
// found are left out, and compared with each other.
func entries(program, pkgPath, target string) (map[int]int, error) {
	table, text, err := functionTable(program)
	if err != nil {
		return nil, fmt.Errorf("addresses of the functions in %s: %w", program, err)
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(table, text))
	if err != nil {
		return nil, fmt.Errorf("addresses of the functions in %s: %w", program, err)
	}
	// Functions of the variants carry the number of their copy in their name. Note the entry of the
	// target and of its caller.
	own, callers := map[int]int{}, map[int]int{}
	for _, f := range t.Funcs {
		rest, ok := strings.CutPrefix(f.Name, pkgPath+".")
		name, v := base(rest)
		if !ok || v < 0 {
			continue
		}
		name, _, _ = strings.Cut(name, "[") // type arguments
		switch strings.NewReplacer("(*", "", ")", "").Replace(name) {
		case target:
			own[v] = int(f.Entry % 64)
		case "beagleOne":
			callers[v] = int(f.Entry % 64)
		}
	}
	// An inlined target starts where its caller does.
	for v, at := range callers {
		if _, ok := own[v]; !ok {
			own[v] = at
		}
	}
	return own, nil
}
