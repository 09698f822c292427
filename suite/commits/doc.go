// Commits judges the performance commits of public Go modules.
//
// The manifest names functions, the module version before a performance commit
// and the version after it. The runner downloads both versions through the
// module proxy, cuts the function as it is after the commit into a candidate
// file for the version before, and has `beagle verify` judge that file. No code
// of these modules is stored here.
//
//	go run ./suite/commits -run gjson
//
// README.md describes the flags and the results.
package main
