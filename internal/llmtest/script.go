package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Script says what to answer. It may be asked by many at once.
type Script func(Call) *Reply

// A Reply is an answer, or what goes wrong with it.
type Reply struct {
	Text   string `json:"text,omitempty"`
	File   string `json:"file,omitempty"`   // in script files: where the text is, relative to the script
	Repeat int    `json:"repeat,omitempty"` // how often the text is repeated
	Stop   string `json:"stop,omitempty"`   // "length" or "refusal"; "" for an answer that is whole

	After Duration `json:"after,omitempty"` // before the first byte
	Every Duration `json:"every,omitempty"` // between the pieces of a stream
	Piece int      `json:"piece,omitempty"` // bytes of a piece; 0 means 64
	Whole bool     `json:"whole,omitempty"` // in one piece, though a stream was asked for

	In      int  `json:"in,omitempty"` // tokens to report, true or not; 0 counts a quarter of the bytes
	Out     int  `json:"out,omitempty"`
	NoUsage bool `json:"no_usage,omitempty"` // report none

	Fault      string   `json:"fault,omitempty"` // an error instead: see [Faults]; Text is its message if there is one
	RetryAfter Duration `json:"retry_after,omitempty"`
	// in the middle of a stream: "close", "stall", "error", "garbage" or "end"
	Break string `json:"break,omitempty"`

	Raw         string `json:"raw,omitempty"` // this body as it is, with ContentType and Status
	ContentType string `json:"content_type,omitempty"`
	Status      int    `json:"status,omitempty"`
}

func (r *Reply) piece() int {
	if r.Piece > 0 {
		return r.Piece
	}
	return 64
}

// Say always answers with the same text.
func Say(text string) Script { return Always(Reply{Text: text}) }

// Always gives the same answer.
func Always(r Reply) Script { return func(Call) *Reply { return &r } }

// InTurn gives one answer after the other and the last for ever.
func InTurn(rs ...Reply) Script {
	var mu sync.Mutex
	next := 0
	return func(Call) *Reply {
		mu.Lock()
		defer mu.Unlock()
		r := &rs[next]
		next = min(next+1, len(rs)-1)
		return r
	}
}

// A Duration is written "1.5s" in script files.
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// A Rule of a script file gives answers to calls that fit all it says.
type Rule struct {
	Model    string  `json:"model,omitempty"`    // the name of the model
	Contains string  `json:"contains,omitempty"` // occurs in the prompt
	Call     int     `json:"call,omitempty"`     // the number of the call, from 1
	From     int     `json:"from,omitempty"`     // calls of this number and later
	Times    int     `json:"times,omitempty"`    // how often the rule may answer; 0 has no limit
	Every    int     `json:"every,omitempty"`    // of the calls that fit, every Every-th; 0 means all
	Replies  []Reply `json:"replies"`            // in turn, then from the beginning
}

type ruleState struct{ fitted, answered int }

func (r *Rule) fits(c Call) bool {
	return (r.Model == "" || r.Model == c.Model) && (r.Call == 0 || r.Call == c.Number) && c.Number >= r.From &&
		(r.Contains == "" || strings.Contains(c.Prompt(), r.Contains))
}

// Rules make a script: the first rule that fits answers. A call that none fits
// is refused.
func Rules(rules []Rule) Script {
	var mu sync.Mutex
	states := make([]ruleState, len(rules))
	return func(c Call) *Reply {
		mu.Lock()
		defer mu.Unlock()
		for i := range rules {
			r, st := &rules[i], &states[i]
			if !r.fits(c) || r.Times > 0 && st.answered >= r.Times {
				continue
			}
			if st.fitted++; r.Every > 1 && st.fitted%r.Every != 0 {
				continue
			}
			st.answered++
			return &r.Replies[(st.answered-1)%len(r.Replies)]
		}
		return &Reply{Fault: "refused", Text: fmt.Sprintf("no rule of the script fits call %d", c.Number)}
	}
}

// Load reads a script file: {"rules": [...]}, see [Rule].
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	// Read the rules. An unknown field is a mistake of spelling.
	var file struct {
		Rules []Rule `json:"rules"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("llmtest: %s: %w", path, err)
	}
	// Put in the texts that stand in files of their own.
	for i := range file.Rules {
		if len(file.Rules[i].Replies) == 0 {
			return nil, fmt.Errorf("llmtest: %s: rule %d has no replies", path, i+1)
		}
		for j := range file.Rules[i].Replies {
			r := &file.Rules[i].Replies[j]
			if r.File == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(filepath.Dir(path), r.File))
			if err != nil {
				return nil, fmt.Errorf("llmtest: %s: %w", path, err)
			}
			r.Text = string(text)
		}
	}
	return Rules(file.Rules), nil
}

// Recorded answers from a directory of recordings, JSON files with a request
// and its reply: the one of the same model, texts and seed; of several, one
// after the other.
func Recorded(dir string) (Script, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	// Read the recordings, by their requests.
	replies := map[string][]Reply{}
	for _, path := range paths {
		var file struct {
			Request struct {
				Model, System, User string
				History             []Turn
				Seed                int64
			}
			Reply struct {
				Text, Stop string
				Usage      struct{ In, Out int }
			}
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &file)
		}
		if err != nil {
			return nil, fmt.Errorf("llmtest: %s: %w", path, err)
		}
		q := file.Request
		key := recordKey(q.Model, q.System, append(q.History, Turn{"user", q.User}))
		replies[key] = append(replies[key],
			Reply{Text: file.Reply.Text, Stop: file.Reply.Stop, In: file.Reply.Usage.In, Out: file.Reply.Usage.Out})
	}
	// Answer each request with its replies in turn.
	var mu sync.Mutex
	next := map[string]int{}
	return func(c Call) *Reply {
		mu.Lock()
		defer mu.Unlock()
		key := recordKey(c.Model, c.System, c.Turns)
		list := replies[key]
		if len(list) == 0 {
			return &Reply{Fault: "refused", Text: "nothing is recorded for this request"}
		}
		r := &list[next[key]%len(list)]
		next[key]++
		return r
	}, nil
}

func recordKey(model, system string, turns []Turn) string {
	key, err := json.Marshal([]any{model, system, turns})
	if err != nil {
		panic(err) // strings only
	}
	return string(key)
}
