package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

var skillCommand = &command{
	name: "skill", args: "",
	short: "print instructions for coding agents",
	long: `
Prints instructions that tell a coding agent how to make a Go function faster with Beagle
as the judge: which tools or commands to use, in which order, what a version must keep,
and how to hand the result over.

Formats: agents, a section for AGENTS.md; skill, a SKILL.md with its header. With --cli
the instructions use the command line, for agents without 'beagle mcp'.

Examples:
  beagle skill >>AGENTS.md
  mkdir -p .skills/beagle && beagle skill --format skill >.skills/beagle/SKILL.md`,
}

func init() { skillCommand.run = runSkill }

//go:embed skill_tools.md
var skillTools string

//go:embed skill_cli.md
var skillCLI string

// runSkill prints instructions for coding agents.
func runSkill(_ context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	format := f.String("format", "agents", "the `format`: agents (a section for AGENTS.md) or skill (a SKILL.md)")
	cli := f.Bool("cli", false, "instructions for the command line instead of the tools of 'beagle mcp'")
	if _, err := parse(f, args, 0, 0); err != nil {
		return exitUsage, err
	}
	// An agent uses the tools of 'beagle mcp', or the command line where it has none.
	body := skillTools
	if *cli {
		body = skillCLI
	}
	body = strings.ReplaceAll(body, "{{rules}}", strings.TrimSpace(llm.Rules()))
	switch *format {
	case "agents":
		fmt.Fprint(std.out, "## Making Go functions faster with Beagle\n\n", body)
	case "skill":
		fmt.Fprint(std.out, skillHeader, "# Making Go functions faster with Beagle\n\n", body)
	default:
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("--format %q is not known", *format),
			Remedy: "give agents or skill",
		}
	}
	return exitOK, nil
}

const skillHeader = `---
name: beagle
description: Make a Go function faster and have it proved that it still does the same. Use when asked to optimise Go code, to reduce CPU or allocations of a function, or to judge whether a faster version is equivalent.
---

`
