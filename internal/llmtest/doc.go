// Package llmtest is a model server for tests: a real HTTP server on loopback
// that speaks the protocols of OpenAI (chat completions and responses) and of
// Anthropic (messages), whole or as streams, with what a test scripts: replies,
// delays, rate limits, errors in each provider's own words, and connections
// that break, stall, drip or send nonsense. It counts what it is asked.
//
// `go run ./internal/llmtest/serve --script file` is the same server as a
// command, for programs of others.
package llmtest
