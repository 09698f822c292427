// Package tag brings tags into the form that metrics back ends expect, and
// merges lists of them.
//
// # Rules of Normalize
//
//   - Letters are lowered, unless the lower letter takes another number of bytes.
//   - A tag starts with a letter of any script or a colon; what stands before is dropped.
//   - After that letters, digits of any script and `: . / -` are kept; every run of
//     anything else, underscores and bytes that are not UTF-8 included, becomes one
//     underscore.
//   - A tag does not end with an underscore that a run has left.
//   - At most 200 runes are read after the start, a run counting with every rune
//     of it, and nothing is read from byte 400 on.
//
// Normalising twice gives the same as once. The rules are those of Datadog's
// trace agent, so that tags of both compare equal.
package tag
