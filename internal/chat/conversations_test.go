package chat_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/beagle-go/beagle/internal/chat"
	"github.com/beagle-go/beagle/internal/chat/chattest"
)

// TestConversations replays what the providers' own libraries and a server
// said to each other. Package chat must send an equal request and understand
// the same of the answer, unless the conversation says why not.
func TestConversations(t *testing.T) {
	for name, client := range map[string]chattest.Client{"completions": chat.Completions, "messages": chat.Messages} {
		all, err := chattest.Load(filepath.Join("testdata", "conversations", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				sent, heard := c.Play(t.Context(), client)
				compareSent(t, sent, c.Sent)
				want := c.Heard
				if c.Instead != nil {
					if want = c.Instead.Heard; reflect.DeepEqual(want, c.Heard) {
						t.Error("the library understands the same now: take the exception away")
					}
				}
				if got, want := encode(t, heard), encode(t, want); got != want {
					t.Errorf("understood\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

func compareSent(t *testing.T, got, want chattest.SentRequest) {
	t.Helper()
	if got.Method != want.Method || got.Path != want.Path {
		t.Errorf("%s %s, want %s %s", got.Method, got.Path, want.Method, want.Path)
	}
	if !reflect.DeepEqual(got.Header, want.Header) {
		t.Errorf("headers %v\nwant %v", got.Header, want.Header)
	}
	if !reflect.DeepEqual(parse(t, got.Body), parse(t, want.Body)) {
		t.Errorf("body %s\nwant %s", got.Body, want.Body)
	}
}

// parse reads JSON without rounding its numbers.
func parse(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
