// Package characters knows sets of bytes: how code tests a byte, and how a rule writes such a test,
// for one byte or for a word of eight.
package characters
