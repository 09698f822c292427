package tools

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A veil hides captured values in messages to an agent that gets shapes instead: errors, warnings
// and progress quote a file of inputs that cannot be read. A nil veil hides nothing.
type veil struct{ shown []string }

// recordWords are those that errors about files of inputs have besides the words of
// all messages.
const recordWords = "looks like is wanted missing known holds"

// veil returns the veil for messages about a target.
func (b *Backend) veil(target string) *veil {
	if !b.redact {
		return nil
	}
	return &veil{shown: []string{target, b.dir, b.spec.CorpusFile, recordWords}}
}

func (v *veil) text(s string) string {
	if v == nil {
		return s
	}
	return llm.RedactText(s, nil, v.shown...)
}

// remedy returns a remedy as it may be shown. One that ends with the record that is wanted keeps
// that, since nothing in it was captured: every value is zero.
func (v *veil) remedy(s string) string {
	if v == nil {
		return s
	}
	if at := strings.Index(s, `{"args": `); at >= 0 && zeroRecord(s[at:]) {
		return v.text(s[:at]) + s[at:]
	}
	return v.text(s)
}

// zeroRecord reports whether a text is an input without values: the form of a target's parameters.
func zeroRecord(text string) bool {
	var r struct{ Args, Weight any }
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&r) == nil && !d.More() && isZero(r.Args) && r.Weight == 1.0
}

func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if !isZero(x) {
				return false
			}
		}
	case map[string]any: // the keys are fields of a type
		for _, x := range v {
			if !isZero(x) {
				return false
			}
		}
	default:
		return v == nil || v == "" || v == 0.0 || v == false
	}
	return true
}

// inField finds the place of a fault in an input: a path of names.
var inField = regexp.MustCompile(`field "([\pL_.]+)"`)

// usage returns bad input as it may be shown. The names of fields that the remedy has anyway are
// the target's.
func (v *veil) usage(bad *beagle.UsageError) *beagle.UsageError {
	if v == nil {
		return bad
	}
	out := &beagle.UsageError{What: v.text(bad.What), Remedy: v.remedy(bad.Remedy)}
	at := inField.FindStringSubmatchIndex(bad.What)
	if at == nil {
		return out
	}
	for name := range strings.SplitSeq(bad.What[at[2]:at[3]], ".") {
		if !strings.Contains(out.Remedy, `"`+name+`":`) {
			return out
		}
	}
	out.What = v.text(bad.What[:at[0]]) + bad.What[at[0]:at[1]] + v.text(bad.What[at[1]:])
	return out
}

// error returns an error as it may be shown.
func (v *veil) error(err error) error {
	var bad *beagle.UsageError
	var busy *inUse
	switch {
	case v == nil || err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &busy): // before anything was read
		return err
	case errors.As(err, &bad):
		return v.usage(bad)
	}
	return errors.New(v.text(err.Error()))
}

// progress passes on messages as they may be shown.
func (v *veil) progress(tell mcp.Progress) mcp.Progress {
	if v == nil {
		return tell
	}
	return func(stage, detail string) { tell(stage, v.text(detail)) }
}
