package inject

import (
	"fmt"
	"go/types"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"

	"github.com/beagle-go/beagle"
)

// Versions are the texts of a function between which a build can choose. Each is a file of the
// function's own package that declares everything under names of its own.
type Versions struct {
	Spec     string   // of the function, as the user wrote it
	Function string   // the function, with its import path
	Build    string   // identifies the versions for a controller
	Texts    []string // of the original, the candidate and the placebo
	Names    []string // of the function in each: as Type.Method for a method
}

// rolloutName is the name of the import in a file with a switch.
const rolloutName = "beaglerollout"

// addVersions adds the switch to the function's file, and the versions beside it.
func (w *overlayBuilder) addVersions(f *function, e *edited, v *Versions, n int) error {
	args, err := e.arguments(f)
	if err != nil {
		return err
	}
	results, err := resultsOf(f.decl)
	if err != nil {
		return err
	}
	s := switched{writer: writer{f: f, n: n, args: args, results: results, instance: f.instance.passed()}, v: v,
		sw: fmt.Sprintf("beagleSwitch%d", n), routed: fmt.Sprintf("beagleRouted%d", n)}
	e.enter(f, s.gate())
	s.declare(&e.tail)
	for i, text := range v.Texts {
		at := filepath.Join(filepath.Dir(f.path), fmt.Sprintf("beagle_rollout%d_%d.go", n, i))
		if err := w.add(at, text); err != nil {
			return err
		}
	}
	return nil
}

// refuseVersions returns why two versions of a function cannot stand in one program, or nil.
func (f *function) refuseVersions() error {
	if why := f.entryOnly(); why != "" {
		return &beagle.UsageError{What: fmt.Sprintf("--rollout %s: %s", f.spec, why),
			Remedy: "roll out a function that calls it"}
	}
	return nil
}

// A switched writes the switch of one function.
type switched struct {
	writer
	v          *Versions
	sw, routed string // names of the switch and of the routed function
}

// gate returns the statement that takes a call to the switch while one is on.
func (s *switched) gate() string {
	if len(s.results) == 0 {
		return fmt.Sprintf(" if %s.On() { %s; return };", s.sw, s.call())
	}
	return fmt.Sprintf(" if %s.On() { return %s };", s.sw, s.call())
}

// call calls the routed function with the function's own arguments.
func (s *switched) call() string {
	var names []string
	for _, a := range s.args {
		names = append(names, a.name)
	}
	return s.routed + s.instance.used + "(" + strings.Join(names, ", ") + ")"
}

// declare writes the switch, its registration and the routed function.
func (s *switched) declare(b *strings.Builder) {
	// Register the switch, with what it can compare.
	var options string
	failed := s.failed()
	if failed != "false" {
		options += ", " + rolloutName + ".ReturnsErrors"
	}
	harmless := s.harmless()
	if harmless && len(s.results) > 0 {
		options += ", " + rolloutName + ".ComparesResults"
	}
	enter := s.enter()
	if enter != "Enter()" {
		options += ", " + rolloutName + ".HasContext"
	}
	fmt.Fprintf(b, "var %s %s.Switch\n\n", s.sw, rolloutName)
	fmt.Fprintf(b, "func init() {\n\t%s.Register(&%s, %q, %q%s)\n\t%s.FromEnvironment()\n}\n\n", rolloutName,
		s.sw, s.f.name(), s.v.Build, options, probeName)
	// Write the function that routes a call to an arm.
	results := paramsOf("r", s.results)
	if results != "" {
		results = " (" + results + ")"
	}
	fmt.Fprintf(b, "func %s%s(%s)%s {\n\tc := %s.%s\n\tdefer c.Leave()\n", s.routed, s.instance.declared,
		paramsOf("a", s.args), results, s.sw, enter)
	if harmless {
		fmt.Fprintf(b, "\tdefer func() {\n\t\tif c.Saves() {\n\t\t\tif recover() != nil {\n\t\t\t\tc.Forgiven()\n"+
			"\t\t\t\t%s\n\t\t\t\tc.Saved()\n\t\t\t}\n\t\t}\n\t}()\n", s.callVersion("r", 0))
	}
	// Call the arm, and tell the switch the outcome.
	fmt.Fprintf(b, "\tswitch c.Arm {\n\tcase %s.Candidate:\n\t\t%s\n\tcase %s.Placebo:\n\t\t%s\n"+
		"\tdefault:\n\t\t%s\n\t}\n",
		rolloutName, s.callVersion("r", 1), rolloutName, s.callVersion("r", 2), s.callVersion("r", 0))
	fmt.Fprintf(b, "\tc.Done(%s)\n", failed)
	if harmless && len(s.results) > 0 {
		s.compare(b)
	}
	b.WriteString("\treturn\n}\n")
}

// enter returns the call that finds the arm: by the request that the arguments tell of, if they do.
func (s *switched) enter() string {
	params := s.f.signature().Params()
	first := len(s.args) - params.Len()
	for i := range params.Len() {
		switch name := types.TypeString(params.At(i).Type(), nil); {
		case name == "context.Context":
			return fmt.Sprintf("EnterContext(a%d)", first+i)
		case strings.HasSuffix(name, "/probe/rollout.Request"):
			return fmt.Sprintf("EnterRequest(a%d)", first+i)
		}
	}
	return "Enter()"
}

// compare runs the original again on some calls. The arguments are values, so no call has changed
// them.
func (s *switched) compare(b *strings.Builder) {
	var same []string
	for i := range s.results {
		same = append(same, fmt.Sprintf("%s.Same(x%d, r%d)", rolloutName, i, i))
	}
	fmt.Fprintf(b, "\tif c.Check() {\n\t\tc.Compare(func() bool {\n\t\t\t%s\n\t\t\treturn %s\n\t\t})\n\t}\n",
		strings.Replace(s.callVersion("x", 0), " = ", " := ", 1), strings.Join(same, " && "))
}

// callVersion calls a version and keeps its results.
func (s *switched) callVersion(prefix string, version int) string {
	call := s.original()
	name := s.v.Names[version]
	if _, method, ok := strings.Cut(name, "."); ok {
		name = method
	}
	first := s.f.decl.Name.Name
	if s.f.decl.Recv == nil {
		first, name = first+s.instance.args, name+s.instance.args
	}
	call = strings.Replace(call, first+"(", name+"(", 1)
	if len(s.results) == 0 {
		return call
	}
	return listOf(prefix, len(s.results)) + " = " + call
}

// failed returns an expression for whether the results say that the call failed.
func (s *switched) failed() string {
	all := s.f.signature().Results()
	if n := all.Len(); n > 0 && syntax.IsError(all.At(n-1).Type()) {
		return fmt.Sprintf("r%d != nil", n-1)
	}
	return "false"
}

// harmless reports whether the function may run twice on its arguments: they are values, which no
// version can have written for the next.
func (s *switched) harmless() bool {
	for _, v := range sigVars(s.f.signature()) {
		if !isValue(v.Type()) {
			return false
		}
	}
	return true
}

// isValue reports whether no other memory can be reached, and written, through a type.
func isValue(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Kind() != types.Uintptr
	case *types.Array:
		return isValue(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !isValue(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}
