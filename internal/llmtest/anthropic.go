package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// messages is Anthropic's protocol.
type messages struct{}

func (messages) name() string                 { return "messages" }
func (messages) key(h http.Header) string     { return h.Get("X-Api-Key") }
func (messages) fault(f fault, _ *Server) any { return f.asAnthropic() }

func (messages) read(body map[string]json.RawMessage, c *Call) error {
	if c.Header.Get("Anthropic-Version") == "" {
		return errors.New("anthropic-version: header is required")
	}
	if _, ok := body["max_tokens"]; !ok {
		return errors.New("max_tokens: Field required")
	}
	if raw, ok := body["system"]; ok {
		text, err := content(raw)
		if err != nil {
			return err
		}
		c.System = text
	}
	defer delete(body, "system")
	defer delete(body, "messages")
	return turns(body["messages"], c)
}

func messageID(c *Call) string { return fmt.Sprintf("msg_%d", c.Number) }

func anthropicStop(r *Reply) string {
	switch r.Stop {
	case "length":
		return "max_tokens"
	case "refusal":
		return "refusal"
	}
	return "end_turn"
}

func (messages) answer(c *Call, r *Reply, u usage) any {
	return map[string]any{"id": messageID(c), "type": "message", "role": "assistant", "model": c.Model,
		"content":     []any{map[string]any{"type": "text", "text": r.Text}},
		"stop_reason": anthropicStop(r), "stop_sequence": nil, "usage": map[string]any{
			"input_tokens":  u.in,
			"output_tokens": u.out,
		}}
}

func (messages) begin(c *Call, u usage) []event {
	return []event{
		{"message_start",
			map[string]any{"type": "message_start",
				"message": map[string]any{"id": messageID(c), "type": "message", "role": "assistant", "model": c.Model,
					"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": map[string]any{
						"input_tokens":  u.in,
						"output_tokens": 1,
					}}}},
		{"content_block_start", map[string]any{
			"type":          "content_block_start",
			"index":         0,
			"content_block": map[string]any{"type": "text", "text": ""},
		}},
		{"ping", map[string]any{"type": "ping"}},
	}
}

func (messages) piece(_ *Call, text string) event {
	return event{"content_block_delta",
		map[string]any{
			"type":  "content_block_delta",
			"index": 0,
			"delta": map[string]any{"type": "text_delta", "text": text},
		}}
}

func (messages) end(_ *Call, r *Reply, u usage) []event {
	return []event{
		{"content_block_stop", map[string]any{"type": "content_block_stop", "index": 0}},
		{"message_delta", map[string]any{
			"type":  "message_delta",
			"delta": map[string]any{"stop_reason": anthropicStop(r), "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": u.out},
		}},
		{"message_stop", map[string]any{"type": "message_stop"}},
	}
}
