package lift

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/adler32"
	"hash/crc32"
	"hash/crc64"
	"hash/fnv"
	"html"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"unicode/utf8"
)

func init() {
	encodings()
	sums()
	spellings()
	utf()
	places()
}

// encodings registers encodings of bytes and of numbers in bytes. A fixed width needs as many
// bytes.
func encodings() {
	f1("hex.EncodeToString", hex.EncodeToString)
	f1("hex.DecodeString", func(s string) []byte { b, _ := hex.DecodeString(s); return b }, result(1, 2))
	f1("hex.DecodeString", func(s string) bool {
		_, err := hex.DecodeString(s)
		return err == nil
	}, result(2, 2), isNil)
	f1("base64.StdEncoding.EncodeToString", base64.StdEncoding.EncodeToString)
	f1("base64.URLEncoding.EncodeToString", base64.URLEncoding.EncodeToString)
	f1("base64.RawStdEncoding.EncodeToString", base64.RawStdEncoding.EncodeToString)
	f1("base64.RawURLEncoding.EncodeToString", base64.RawURLEncoding.EncodeToString)
	p1("binary.BigEndian.Uint16", func(b []byte) bool { return len(b) >= 2 }, binary.BigEndian.Uint16, scalar)
	p1("binary.BigEndian.Uint32", func(b []byte) bool { return len(b) >= 4 }, binary.BigEndian.Uint32, scalar)
	p1("binary.BigEndian.Uint64", func(b []byte) bool { return len(b) >= 8 }, binary.BigEndian.Uint64, scalar)
	p1("binary.LittleEndian.Uint16", func(b []byte) bool { return len(b) >= 2 }, binary.LittleEndian.Uint16, scalar)
	p1("binary.LittleEndian.Uint32", func(b []byte) bool { return len(b) >= 4 }, binary.LittleEndian.Uint32, scalar)
	p1("binary.LittleEndian.Uint64", func(b []byte) bool { return len(b) >= 8 }, binary.LittleEndian.Uint64, scalar)
	f2("binary.BigEndian.AppendUint32", binary.BigEndian.AppendUint32)
	f2("binary.BigEndian.AppendUint64", binary.BigEndian.AppendUint64)
	f2("binary.LittleEndian.AppendUint32", binary.LittleEndian.AppendUint32)
	f2("binary.LittleEndian.AppendUint64", binary.LittleEndian.AppendUint64)
	f2("binary.AppendUvarint", binary.AppendUvarint)
	f2("binary.AppendVarint", binary.AppendVarint)
	f1("binary.Uvarint", func(b []byte) uint64 { v, _ := binary.Uvarint(b); return v }, result(1, 2))
	f1("binary.Uvarint", func(b []byte) int { _, n := binary.Uvarint(b); return n }, result(2, 2))
	f1("binary.Varint", func(b []byte) int64 { v, _ := binary.Varint(b); return v }, result(1, 2))
	f1("binary.Varint", func(b []byte) int { _, n := binary.Varint(b); return n }, result(2, 2))
}

// sums registers the checksums and hashes. Constant tables are part of a term, so each polynomial
// is a component.
func sums() {
	f1("crc32.ChecksumIEEE", crc32.ChecksumIEEE)
	castagnoli, koopman := crc32.MakeTable(crc32.Castagnoli), crc32.MakeTable(crc32.Koopman)
	f1("crc32.Checksum($1, crc32.MakeTable(crc32.Castagnoli))", func(b []byte) uint32 {
		return crc32.Checksum(b, castagnoli)
	})
	f1("crc32.Checksum($1, crc32.MakeTable(crc32.Koopman))", func(b []byte) uint32 {
		return crc32.Checksum(b, koopman)
	})
	f2("crc32.Update($1, crc32.IEEETable, $2)", func(sum uint32, b []byte) uint32 {
		return crc32.Update(sum, crc32.IEEETable, b)
	})
	f2("crc32.Update($1, crc32.MakeTable(crc32.Castagnoli), $2)", func(sum uint32, b []byte) uint32 {
		return crc32.Update(sum, castagnoli, b)
	})
	iso, ecma := crc64.MakeTable(crc64.ISO), crc64.MakeTable(crc64.ECMA)
	f1("crc64.Checksum($1, crc64.MakeTable(crc64.ISO))", func(b []byte) uint64 { return crc64.Checksum(b, iso) })
	f1("crc64.Checksum($1, crc64.MakeTable(crc64.ECMA))", func(b []byte) uint64 { return crc64.Checksum(b, ecma) })
	f1("adler32.Checksum", adler32.Checksum)
	hashed[uint32]("New32", "Sum32", func(b []byte) uint32 { h := fnv.New32(); h.Write(b); return h.Sum32() })
	hashed[uint32]("New32a", "Sum32", func(b []byte) uint32 { h := fnv.New32a(); h.Write(b); return h.Sum32() })
	hashed[uint64]("New64", "Sum64", func(b []byte) uint64 { h := fnv.New64(); h.Write(b); return h.Sum64() })
	hashed[uint64]("New64a", "Sum64", func(b []byte) uint64 { h := fnv.New64a(); h.Write(b); return h.Sum64() })
}

// hashed registers a hash whose sum takes three calls.
func hashed[T any](make, sum string, f func([]byte) T) {
	f1("fnv."+make+"($1)", f, func(c *Component) {
		c.Imports, c.price = []string{"hash/fnv"}, 8
		c.setup, c.statement = []string{"$0 := fnv." + make + "()", "$0.Write($1)"}, "$0."+sum+"()"
	})
}

// spellings registers the texts of numbers and of special characters. An error becomes the question
// whether there was none.
func spellings() {
	// Whole numbers to text and back, in the bases that programs use.
	f1("strconv.Itoa", strconv.Itoa)
	f1("strconv.Atoi", func(s string) int { n, _ := strconv.Atoi(s); return n }, result(1, 2))
	f1("strconv.Atoi", func(s string) bool { _, err := strconv.Atoi(s); return err == nil }, result(2, 2), isNil)
	f1("strconv.FormatInt($1, 10)", func(n int64) string { return strconv.FormatInt(n, 10) })
	f1("strconv.FormatUint($1, 10)", func(n uint64) string { return strconv.FormatUint(n, 10) })
	f1("strconv.FormatUint($1, 16)", func(n uint64) string { return strconv.FormatUint(n, 16) })
	f1("strconv.FormatUint($1, 2)", func(n uint64) string { return strconv.FormatUint(n, 2) })
	p2("strconv.FormatInt", func(n int64, base int) bool {
		return base >= 2 && base <= 36
	}, func(n int64, base int) string { return strconv.FormatInt(n, base) })
	f1("strconv.ParseInt($1, 10, 64)", func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		_ = err
		return n
	}, result(1, 2))
	f1("strconv.ParseUint($1, 10, 64)", func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		_ = err
		return n
	}, result(1, 2))
	f1("strconv.ParseUint($1, 10, 64)", func(s string) bool {
		_, err := strconv.ParseUint(s, 10, 64)
		return err == nil
	}, result(2, 2), isNil)
	f1("strconv.ParseUint($1, 16, 64)", func(s string) uint64 {
		n, err := strconv.ParseUint(s, 16, 64)
		_ = err
		return n
	}, result(1, 2))
	// Other values, and numbers that are appended.
	f1("strconv.Quote", strconv.Quote, slow)
	f1("strconv.FormatBool", strconv.FormatBool)
	f2("strconv.AppendInt($1, $2, 10)", func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })
	f2("strconv.AppendUint($1, $2, 10)", func(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) })
	// Texts with special characters.
	f1("html.EscapeString", html.EscapeString)
	f1("html.UnescapeString", html.UnescapeString, slow)
	f1("url.QueryEscape", url.QueryEscape, slow)
	f1("url.PathEscape", url.PathEscape, slow)
}

// utf registers the functions on encoded runes.
func utf() {
	f1("utf8.RuneCountInString", utf8.RuneCountInString)
	f1("utf8.ValidString", utf8.ValidString)
	f1("utf8.RuneCount", utf8.RuneCount)
	f1("utf8.Valid", utf8.Valid)
	f1("utf8.RuneLen", utf8.RuneLen, scalar)
	f1("utf8.ValidRune", utf8.ValidRune, scalar)
	f1("utf8.RuneStart", utf8.RuneStart, scalar)
	f1("utf8.DecodeRuneInString", func(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }, result(1, 2))
	f1("utf8.DecodeRuneInString", func(s string) int { _, n := utf8.DecodeRuneInString(s); return n }, result(2, 2))
	f1("utf8.DecodeLastRuneInString", func(s string) rune {
		r, _ := utf8.DecodeLastRuneInString(s)
		return r
	}, result(1, 2))
	f1("utf8.DecodeLastRuneInString", func(s string) int {
		_, n := utf8.DecodeLastRuneInString(s)
		return n
	}, result(2, 2))
	f2("utf8.AppendRune", utf8.AppendRune)
}

func places() {
	f1("path.Base", path.Base)
	f1("path.Dir", path.Dir)
	f1("path.Ext", path.Ext)
	f1("path.Clean", path.Clean, slow)
	f1("path.IsAbs", path.IsAbs, scalar)
	f2("path.Join", func(a, b string) string { return path.Join(a, b) }, slow)
	f1("netip.ParseAddr", func(s string) bool { _, err := netip.ParseAddr(s); return err == nil }, result(2, 2), isNil)
}
