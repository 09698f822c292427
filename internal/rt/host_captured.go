package rt

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"sort"
)

// Captured holds the records of one process, or of several.
type Captured struct {
	Records    []Record // the kept ones by hash; the weight is the number of calls
	Calls      float64
	Dropped    float64
	Missed     float64 // distinct calls beyond those that are kept
	Concurrent bool
	Reasons    []string // why calls were dropped
}

// LoadCaptured reads what was recorded to a directory. A record that was cut
// off by the end of its process is left out.
func LoadCaptured(dir string) (*Captured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.calls"))
	if err != nil {
		return nil, err
	}
	sortTexts(files)
	out := &Captured{}
	at := map[string]int{}
	for _, f := range files {
		calls, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		base := f[:len(f)-len(".calls")]
		counts, err := os.ReadFile(base + ".counts")
		// A call file without counts has no weights to go by.
		if err != nil {
			continue // the process died while it opened them
		}
		why, _ := os.ReadFile(base + ".why")
		out.merge(at, calls, counts, string(why))
	}
	out.keep()
	return out, nil
}

// merge adds the files of one process. Records of several processes with the same arguments become
// one, with the sum of their counts.
func (c *Captured) merge(at map[string]int, calls, counts []byte, why string) {
	count := func(i int) float64 {
		if 8*i+8 > len(counts) {
			return 0
		}
		return float64(binary.NativeEndian.Uint64(counts[8*i:]))
	}
	c.Calls += count(countCalls)
	c.Dropped += count(countDropped)
	c.Missed += count(countMissed)
	c.Concurrent = c.Concurrent || count(countConcurrent) > 0
	// The counter of a record may be missing if its process died in between; it was called once at
	// least.
	for i, b := range splitFrames(calls) {
		k, ok := at[string(b)]
		if !ok {
			k = len(c.Records)
			at[string(b)] = k
			c.Records = append(c.Records, Record{Args: b})
		}
		c.Records[k].Weight += math.Max(count(countHeader+i), 1)
	}
	c.Reasons = append(c.Reasons, splitLines(why)...)
}

func splitFrames(b []byte) (list [][]byte) {
	for len(b) >= 4 {
		n := binary.LittleEndian.Uint32(b)
		// The length stands before the record; one beyond the file is the end that was cut off.
		if uint64(n) > uint64(len(b)-4) {
			return list
		}
		list = append(list, b[4:4+n:4+n])
		b = b[4+n:]
	}
	return list
}

func splitLines(s string) (list []string) {
	start := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' {
			list = append(list, s[start:i])
			start = i + 1
		}
	}
	return list
}

// keep sorts by hash and cuts, so that many processes leave what one would.
func (c *Captured) keep() {
	hashes := make(map[string]uint64, len(c.Records))
	for _, r := range c.Records {
		hashes[string(r.Args)] = hashBytes(r.Args)
	}
	sort.Slice(c.Records, func(i, j int) bool {
		return hashes[string(c.Records[i].Args)] < hashes[string(c.Records[j].Args)]
	})
	if len(c.Records) > maxCalls {
		c.Missed += float64(len(c.Records) - maxCalls)
		c.Records = c.Records[:maxCalls]
	}
}
