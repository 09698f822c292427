package slo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// Text writes the guardrails as beagle.yaml has them. The encoder of the YAML library would write
// it too, but costs the program 130 kB.
func (g *Guardrails) Text() string {
	var b strings.Builder
	if len(g.Alerts) > 0 {
		b.WriteString("alerts:\n")
		for _, label := range inorder.Keys(g.Alerts) {
			fmt.Fprintf(&b, "  %s: %s\n", scalar(label), scalar(g.Alerts[label]))
		}
	}
	if len(g.Rules) > 0 {
		b.WriteString("rules:\n")
		for _, rule := range g.Rules {
			fmt.Fprintf(&b, "  - %s\n", scalar(rule))
		}
	}
	if len(g.Guardrails) > 0 {
		b.WriteString("guardrails:\n")
	}
	for _, x := range g.Guardrails {
		fmt.Fprintf(&b, "  - name: %s\n", scalar(x.Name))
		for _, part := range [][2]string{{"bad", x.Bad}, {"total", x.Total}, {"query", x.Query}} {
			if part[1] != "" {
				fmt.Fprintf(&b, "    %s: %s\n", part[0], scalar(part[1]))
			}
		}
		fmt.Fprintf(&b, "    above: %s\n", strconv.FormatFloat(x.Above, 'g', -1, 64))
		if x.Then != "" {
			fmt.Fprintf(&b, "    then: %s\n", scalar(x.Then))
		}
	}
	return b.String()
}

// scalar writes a text in YAML, without quotes where it is surely read as a text.
func scalar(text string) string {
	begins := text != "" && (text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
	word := slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"},
		strings.ToLower(text))
	odd := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if !begins || word || odd || strings.Contains(text, ": ") || strings.Contains(text, " #") ||
		strings.HasSuffix(text, ":") || strings.HasSuffix(text, " ") {
		return strconv.Quote(text)
	}
	return text
}
