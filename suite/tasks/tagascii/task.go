// Package tagascii asks whether a metric's tag is in the form that storage
// wants, which nearly all tags are.
package tagascii

// maxTagLength is the longest tag that is stored, in bytes.
const maxTagLength = 200

// Normalized reports whether a tag can be stored as it is.
func Normalized(tag string) bool { return isNormalizedASCIITag(tag) }

// isNormalizedASCIITag reports whether tag starts with a letter, holds nothing
// but lower-case letters, digits, ":./-" and underscores, and whether each
// underscore has an allowed character behind it.
func isNormalizedASCIITag(tag string) bool {
	if len(tag) == 0 || len(tag) > maxTagLength {
		return false
	}
	if !isValidASCIIStartChar(tag[0]) {
		return false
	}
	for i := 1; i < len(tag); i++ {
		if isValidASCIITagChar(tag[i]) {
			continue
		}
		if tag[i] != '_' {
			return false
		}
		// An underscore is only good if an allowed character follows.
		i++
		if i == len(tag) || !isValidASCIITagChar(tag[i]) {
			return false
		}
	}
	return true
}

func isValidASCIIStartChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c == ':'
}

func isValidASCIITagChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ':' || c == '.' || c == '/' || c == '-'
}
