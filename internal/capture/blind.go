package capture

import (
	"regexp"

	"github.com/beagle-go/beagle/probe/wire"
)

// Blind says what a capture with these options does not show of a parameter.
func Blind(t wire.Type, q wire.Start) (all []string) {
	seen := map[string]bool{}
	visit(t, q, true, func(what string) {
		if !seen[what] {
			seen[what] = true
			all = append(all, what)
		}
	})
	return all
}

// plain are the kinds of values without pointers that are no structs.
var plain = regexp.MustCompile(`^(bool|u?int\d*|uintptr|float\d+|complex\d+)$`)

func visit(t wire.Type, q wire.Start, own bool, say func(string)) {
	switch t.Kind {
	case "string":
		if !q.Raw {
			say("text is recorded as its length, its characters' classes and a hash; --raw records it")
		}
	case "ptr":
		if !q.Follow {
			say("memory behind pointers; --follow reads it")
			return
		}
	case "map":
		if !q.Maps {
			say("the contents of maps; --maps reads them")
		}
	case "func", "chan", "unsafe.Pointer":
		say("functions and channels: they mean nothing outside the process")
	case "interface":
		if !q.Follow {
			say("pointers behind interfaces; --follow reads them")
		}
	case "slice":
		if t.Elem != nil && t.Elem.Kind == "uint8" {
			visit(wire.Type{Kind: "string"}, q, own, say)
			return
		}
		if !own && !q.Follow && t.Elem != nil && !plain.MatchString(t.Elem.Kind) {
			say("lists inside lists; --follow reads them")
			return
		}
	}
	if t.Elem != nil {
		visit(*t.Elem, q, own && t.Kind != "slice" && t.Kind != "ptr", say)
	}
	for _, f := range t.Fields {
		visit(f, q, own, say)
	}
}
