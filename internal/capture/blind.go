package capture

import (
	"regexp"

	"github.com/beagle-go/beagle/probe/wire"
)

// Blind lists what a capture with these options does not show of a parameter. outside means that
// uprobes capture it, which cannot see all that a probe in the process sees.
func Blind(t wire.Type, q wire.Start, outside bool) (all []string) {
	seen := map[string]bool{}
	visit(t, q, outside, true, func(what string) {
		if o, ok := fromOutside[what]; outside && ok {
			what = o
		}
		if !seen[what] {
			seen[what] = true
			all = append(all, what)
		}
	})
	return all
}

// pointerFreeKinds are the kinds of values without pointers that are no structs.
var pointerFreeKinds = regexp.MustCompile(`^(bool|u?int\d*|uintptr|float\d+|complex\d+)$`)

// These describe how much of the memory behind values the options show, and how a uprobe words it.
const (
	noMaps  = "the contents of maps; --maps reads them"
	noBoxes = "pointers behind interfaces; --follow reads them"
)

var fromOutside = map[string]string{
	noMaps:  "the contents of maps, of which a uprobe sees the length; beagle build shows them",
	noBoxes: "values in interfaces, of which a uprobe sees whether they are nil; beagle build shows them",
}

// visit calls say for each kind of value of a type that the capture does not record.
func visit(t wire.Type, q wire.Start, outside, own bool, say func(string)) {
	// Say what is lost of this type itself.
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
			say(noMaps)
		}
	case "func", "chan", "unsafe.Pointer":
		say("functions and channels: they mean nothing outside the process")
	case "interface":
		if !q.Follow || outside {
			say(noBoxes)
		}
	case "slice":
		if t.Elem != nil && t.Elem.Kind == "uint8" {
			visit(wire.Type{Kind: "string"}, q, outside, own, say)
			return
		}
		if !own && !q.Follow && t.Elem != nil && !pointerFreeKinds.MatchString(t.Elem.Kind) {
			say("lists inside lists; --follow reads them")
			return
		}
	}
	// Go on with its parts.
	if t.Elem != nil {
		visit(*t.Elem, q, outside, own && t.Kind != "slice" && t.Kind != "ptr", say)
	}
	for _, f := range t.Fields {
		visit(f, q, outside, own, say)
	}
}
