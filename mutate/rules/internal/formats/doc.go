// Package formats takes constant formats of package fmt apart, and writes what they print without
// them.
package formats
