// Package chat asks language models over HTTP. It speaks two protocols: chat
// completions, which OpenAI and most other servers share, and messages, which
// is Anthropic's. Each call of [Completions] or [Messages] makes one attempt
// and yields what the server sends, piece by piece.
//
// The package holds what the providers' own libraries did for Beagle: the
// bodies and headers of requests, the reading of event streams and of replies
// in one piece, and errors with the server's own words. The libraries took half
// of a first build. testdata/conversations holds what they sent and understood;
// the program in ./vendors records that again.
//
// Retries, budgets and time limits belong to the caller, and so do proxies and
// redirects: they are the [http.Client]'s.
package chat
