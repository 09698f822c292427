package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inject"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/lift"
)

// alignment is the alignment of functions in a build with two versions. Without it link order
// alone moves a service by several percent.
const alignment = 64

// rolloutFlag takes --rollout CANDIDATE.go PKG.Func out of the go command's arguments.
func rolloutFlag(args []string) (candidate, spec string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		// The go command's flags are unknown here, so all that is not --rollout passes. After --
		// come arguments of a program, which may have a --rollout of its own.
		name, value, joined := strings.Cut(args[i], "=")
		if args[i] == "--" {
			return candidate, spec, append(rest, args[i:]...), nil
		}
		if name != "-rollout" && name != "--rollout" {
			rest = append(rest, args[i])
			continue
		}
		// The candidate may stand behind the flag's =, and the function is a word of its own.
		words := args[i+1:]
		if joined {
			words = append([]string{value}, words...)
		}
		if len(words) < 2 || spec != "" {
			return "", "", nil, &beagle.UsageError{What: "--rollout takes a candidate and a function, once",
				Remedy: "give --rollout faster.go ./pkg.Func"}
		}
		candidate, spec = words[0], words[1]
		if i += 2; joined {
			i--
		}
	}
	return candidate, spec, rest, nil
}

// versions makes the texts of the original, the candidate and the placebo. The build's ID is that
// of the texts: the same versions have the same ID in every build.
func versions(ctx context.Context, dir, candidate, spec string, tags []string) (*inject.Versions, error) {
	names := func(u *source.Unit, f *source.File, arm string) (text, name string, err error) {
		text, err = u.Writer.Variant(f, "Beagle"+arm)
		return text, u.Target.Name + "Beagle" + arm, err
	}
	return versionsNamed(ctx, dir, candidate, spec, tags, names)
}

// hiddenVersions returns the same ones, by names that suit a package that people maintain.
func hiddenVersions(ctx context.Context, dir, candidate, spec string) (*inject.Versions, error) {
	names := func(u *source.Unit, f *source.File, arm string) (text, name string, err error) {
		if text, err = u.Writer.HiddenVariant(f, arm); err != nil {
			return "", "", &beagle.UsageError{What: "rollout patch: " + err.Error(),
				Remedy: "take an earlier switch out first, as with 'git apply -R'"}
		}
		recv, short, ok := strings.Cut(u.Target.Name, ".")
		if !ok {
			return text, syntax.UnexportedName(recv) + arm, err
		}
		return text, recv + "." + syntax.UnexportedName(short) + arm, err
	}
	return versionsNamed(ctx, dir, candidate, spec, nil, names)
}

// An armWriter makes the text of an arm, and returns it with the name of the function in it.
type armWriter func(u *source.Unit, f *source.File, arm string) (text, name string, err error)

// versionsNamed makes the texts of the three arms, each under the names that names gives.
func versionsNamed(ctx context.Context, dir, candidate, spec string, tags []string,
	names armWriter) (*inject.Versions, error) {
	text, err := os.ReadFile(candidate)
	if err != nil {
		return nil, &beagle.UsageError{What: tail.FileError(err),
			Remedy: "give a Go file that declares the function again"}
	}
	// Load the target. Versions with state of their own would diverge.
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: spec, Tags: tags, InPlace: true,
		Also: lift.ModulePackages()})
	if err != nil {
		return nil, err
	}
	if all := u.Target.Facts.WritesGlobal; len(all) > 0 {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s writes %s: each version would have a copy of its own", spec, all[0]),
			Remedy: "roll out a function that keeps no state",
		}
	}
	// Check the candidate as the judge would.
	f, err := admitCandidate(ctx, u, candidate, string(text))
	if err != nil {
		return nil, err
	}
	original, problem := u.Reader.Parse(u.Target.Source)
	if problem != nil {
		return nil, fmt.Errorf("the original cannot be copied: %s", problem.Message)
	}
	v := &inject.Versions{Spec: spec, Function: u.Target.Spec(), Build: beagle.HashOf("versions", u.Target.Spec(),
		u.Target.Source, f.Src)[:16]}
	// Copy original, candidate and placebo under names of their own.
	for i, file := range []*source.File{original, f, original} {
		copied, called, err := names(u, file, []string{"Original", "Candidate", "Placebo"}[i])
		if err != nil {
			return nil, err
		}
		if name := u.Package.BuildName(); name != u.Target.PkgName {
			copied = strings.Replace(copied, "package "+name, "package "+u.Target.PkgName, 1)
		}
		v.Texts, v.Names = append(v.Texts, copied), append(v.Names, called)
	}
	return v, nil
}

// admitCandidate reads a candidate as the judge does: completed from the original, in canonical
// form, within the policy.
func admitCandidate(ctx context.Context, u *source.Unit, name, text string) (*source.File, error) {
	bad := func(why string) error {
		return &beagle.UsageError{What: fmt.Sprintf("%s is not a version of %s: %s", name, u.Target.Spec(),
			why),
			Remedy: "'beagle verify' judges it, and says more"}
	}
	canonical, err := u.Reader.Normalize(u.Reader.Complete(text))
	if err != nil {
		return nil, bad(err.Error())
	}
	f, problem := u.Reader.Parse(canonical)
	if problem != nil {
		return nil, bad(problem.Message)
	}
	// What needs no inputs is checked here; the rest is for a verdict.
	v, err := verify.Static(ctx, &verify.Env{Unit: u, InPlace: true}, beagle.NewCandidate(canonical, nil, nil), nil)
	if err != nil {
		return nil, err
	}
	if v.Status != beagle.Equal && v.Reason != "" {
		return nil, bad(v.Reason)
	}
	return f, nil
}

// aligned adds the alignment of functions to the linker's flags.
func aligned(args []string) []string {
	add := fmt.Sprintf("-funcalign=%d", alignment)
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if name != "-ldflags" && name != "--ldflags" {
			continue
		}
		// The go command takes the last -ldflags alone, so add to the one that is given.
		out := slices.Clone(args)
		if joined {
			out[i] = "-ldflags=" + value + " " + add
		} else if i+1 < len(args) {
			out[i+1] += " " + add
		}
		return out
	}
	return append([]string{"-ldflags=" + add}, args...)
}

// tagsOf returns the build tags among go build's flags.
func tagsOf(flags []string) []string {
	for _, f := range flags {
		if tags, ok := strings.CutPrefix(f, "-tags="); ok {
			return strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	return nil
}
