package verify

import (
	"go/types"
	"strings"
)

// pure lists the packages whose functions neither keep anything between calls
// that a caller could see nor touch the world outside the process's own
// memory. A candidate may start to use them. Everything else it may use only
// as far as the original does.
var pure = set(`
	bufio bytes cmp container/heap container/list container/ring
	crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512
	encoding encoding/ascii85 encoding/base32 encoding/base64 encoding/binary
	encoding/csv encoding/hex encoding/json encoding/xml
	errors fmt hash hash/adler32 hash/crc32 hash/crc64 hash/fnv html
	index/suffixarray io iter maps math math/big math/bits math/cmplx
	net/netip net/url path regexp regexp/syntax slices sort strconv strings
	text/scanner text/tabwriter time unicode unicode/utf16 unicode/utf8
	simd/archsimd`)

// impure are the exceptions within the pure packages.
var impure = set(`
	fmt.Print fmt.Printf fmt.Println fmt.Scan fmt.Scanf fmt.Scanln
	io.Pipe iter.Pull iter.Pull2
	time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick
	time.NewTimer time.NewTicker time.LoadLocation time.Local time.Time.Local
	time.Timer time.Ticker`)

// pureOnly are single functions of packages that are not pure as a whole.
var pureOnly = set(`
	net.JoinHostPort net.SplitHostPort reflect.TypeFor
	path/filepath.Base path/filepath.Clean path/filepath.Dir path/filepath.Ext
	path/filepath.FromSlash path/filepath.IsAbs path/filepath.IsLocal
	path/filepath.Join path/filepath.Match path/filepath.Rel path/filepath.Split
	path/filepath.SplitList path/filepath.ToSlash path/filepath.VolumeName`)

// stateful are the packages whose very types keep state or break the types'
// promises: naming one of their types is enough to be refused.
var stateful = set(`sync sync/atomic unsafe unique weak reflect`)

// topics say what a package touches, by the longest matching prefix.
var topics = []struct{ prefix, what string }{
	{"C", "C code"},
	{"unsafe", "memory behind the types' back"},
	{"sync", "state that several calls share"},
	{"unique", "state that several calls share"},
	{"weak", "the garbage collector"},
	{"reflect", "values behind the types' back"},
	{"runtime", "the runtime's state or the callers"},
	{"internal", "the runtime's state"},
	{"testing", "the state of the test"},
	{"flag", "the command line"},
	{"os", "the environment, files or processes"},
	{"syscall", "the operating system"},
	{"plugin", "other code"},
	{"net", "the network"},
	{"io/fs", "files"}, {"io/ioutil", "files"}, {"path/filepath", "files"}, {"embed", "files"}, {"mime", "files"},
	{"log", "the log"}, {"expvar", "published state"},
	{"math/rand", "random numbers"}, {"crypto/rand", "random numbers"}, {"hash/maphash", "random seeds"},
	{"time", "the clock"}, {"context", "timers and goroutines"},
	{"fmt", "standard input or output"}, {"iter", "coroutines"}, {"io", "goroutines"},
}

func topic(path string) string {
	best, what := 0, "something that Beagle does not know to be free of effects"
	for _, t := range topics {
		if len(t.prefix) > best && (path == t.prefix || strings.HasPrefix(path, t.prefix+"/")) {
			best, what = len(t.prefix), t.what
		}
	}
	return what
}

// readers are the functions outside the candidate that may be handed memory
// of a package variable because they only read it. A trailing dot stands for
// the whole package.
var readers = set(`
	strings. unicode. errors. cmp. math/bits. hash/crc32. hash/crc64. regexp. time. html. net/url. net/netip.
	fmt.Sprint fmt.Sprintf fmt.Sprintln fmt.Errorf fmt.Fprint fmt.Fprintf fmt.Fprintln
	strconv.Quote strconv.Itoa
	bytes.Compare bytes.Contains bytes.ContainsAny bytes.ContainsRune bytes.Count bytes.Equal bytes.EqualFold
	bytes.HasPrefix bytes.HasSuffix bytes.Index bytes.IndexAny bytes.IndexByte bytes.IndexRune bytes.LastIndex
	bytes.Clone bytes.Join bytes.NewReader bytes.ToLower bytes.ToUpper bytes.Runes bytes.Cut bytes.Trim bytes.TrimSpace
	unicode/utf8.DecodeRune unicode/utf8.DecodeLastRune unicode/utf8.FullRune unicode/utf8.RuneCount unicode/utf8.Valid
	slices.All slices.Backward slices.BinarySearch slices.BinarySearchFunc slices.Clone slices.Collect slices.Compare
	slices.CompareFunc slices.Concat slices.Contains slices.ContainsFunc slices.Equal slices.EqualFunc slices.Index
	slices.IndexFunc slices.IsSorted slices.IsSortedFunc slices.Max slices.MaxFunc slices.Min slices.MinFunc slices.Repeat
	slices.Sorted slices.SortedFunc slices.Values
	maps.All maps.Clone maps.Equal maps.EqualFunc maps.Keys maps.Values
	sort.Search sort.SearchInts sort.SearchStrings sort.SearchFloat64s sort.Find
	sort.IsSorted sort.IntsAreSorted sort.StringsAreSorted sort.Float64sAreSorted sort.SliceIsSorted
	encoding/binary.Size encoding/hex.EncodeToString
	encoding/base64.Encoding. encoding/base32.Encoding.
	math/big.Int.Cmp math/big.Int.CmpAbs`)

// keepers are the types and methods that do not change what they are called
// on although it is reached by a pointer. Values of these types may be package
// variables that are used by every call.
var keepers = set(`regexp.Regexp. strings.Replacer. time.Location. encoding/base64.Encoding. encoding/base32.Encoding.
	net/url.URL.String net/url.URL.Hostname net/url.URL.Port net/url.URL.Query net/url.URL.EscapedPath net/url.URL.RequestURI net/url.URL.IsAbs
	net/url.Values.Get net/url.Values.Has net/url.Values.Encode
	math/big.Int.Cmp math/big.Int.CmpAbs math/big.Int.Sign math/big.Int.Bit math/big.Int.BitLen math/big.Int.String
	math/big.Int.Text math/big.Int.Int64 math/big.Int.Uint64 math/big.Int.IsInt64 math/big.Int.IsUint64`)

// changers are the exceptions to the types of keepers.
var changers = set(`regexp.Regexp.Longest regexp.Regexp.UnmarshalText`)

// readsArguments reports whether a function outside the candidate only reads
// the memory that it is handed.
func readsArguments(fn *types.Func) bool {
	name := fn.Name()
	for _, p := range []string{"Append", "Expand", "Unmarshal"} {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return name != "Encode" && name != "Decode" && listed(readers, objectName(fn))
}

// readsReceiver reports whether a method from outside the candidate leaves
// what it is called on alone.
func readsReceiver(fn *types.Func) bool {
	name := objectName(fn)
	if hasRefs(recvType(fn), nil) && !unchanging(recvType(fn)) {
		return listed(keepers, name) && !changers[name]
	}
	return listed(readers, name)
}

// unchanging reports whether t is a struct of a package whose values are never
// changed, although they lead to shared memory.
func unchanging(t types.Type) bool {
	name := strings.TrimPrefix(t.String(), "*")
	return name == t.String() && (name == "time.Time" || name == "net/netip.Addr" || name == "net/netip.AddrPort" || name == "net/netip.Prefix")
}

// listed looks a function, its type and its package up.
func listed(list map[string]bool, name string) bool {
	for cut := name; ; {
		if list[cut] || list[cut+"."] {
			return true
		}
		dot := strings.LastIndexByte(cut, '.')
		if dot < 0 {
			return false
		}
		cut = cut[:dot]
	}
}

// objectName is "path.Name" or "path.Type.Name", the form of the lists above.
func objectName(obj types.Object) string {
	name := obj.Name()
	if f, ok := obj.(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil {
			name = typeName(recv.Type()) + "." + name
		}
	}
	if obj.Pkg() == nil {
		return name
	}
	return obj.Pkg().Path() + "." + name
}

func typeName(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return t.String()
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
