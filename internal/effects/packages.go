package effects

import "strings"

// Packages lists the pure packages of the standard library. Apart from listed exceptions, their
// functions keep nothing between calls that a caller could see, and they touch nothing outside the
// process's memory.
var Packages = strings.Fields(`
	bufio bytes cmp container/heap container/list container/ring
	crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512
	encoding encoding/ascii85 encoding/base32 encoding/base64 encoding/binary
	encoding/csv encoding/hex encoding/json encoding/xml
	errors fmt hash hash/adler32 hash/crc32 hash/crc64 hash/fnv html
	index/suffixarray io iter maps math math/big math/bits math/cmplx
	net/netip net/url path regexp regexp/syntax slices sort strconv strings
	text/scanner text/tabwriter time unicode unicode/utf16 unicode/utf8`)

// PureFunctions lists packages of which only single functions are pure.
var PureFunctions = strings.Fields(`path/filepath`)
