package rt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"os"
	"reflect"
	"unsafe"
)

// A Record is a call: encoded arguments and how many calls it stands for.
type Record struct {
	Args   []byte
	Weight float64
}

// recordMagic begins a record file. It is a line, after which follow, for each record, the weight
// (8 bytes, IEEE bits, little endian), the length of the arguments (uvarint) and the arguments; a
// checksum of all that (CRC-32 Castagnoli, 4 bytes) ends it.
var recordMagic = []byte("beagle records 1\n")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendRecords writes a record file to dst.
func AppendRecords(dst []byte, records []Record) []byte {
	start := len(dst)
	dst = append(dst, recordMagic...)
	for _, r := range records {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.Weight))
		dst = binary.AppendUvarint(dst, uint64(len(r.Args)))
		dst = append(dst, r.Args...)
	}
	return appendSum(dst, start)
}

func appendSum(b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// WriteRecords writes a record file.
func WriteRecords(path string, records []Record) error {
	return os.WriteFile(path, AppendRecords(nil, records), 0o644)
}

// ParseRecords reads a record file. The arguments refer to b.
func ParseRecords(b []byte) ([]Record, error) {
	// The magic and the checksum tell a foreign file from a damaged one.
	if !bytes.HasPrefix(b, recordMagic) {
		return nil, fmt.Errorf("it is not a record file: it does not begin with %q", recordMagic)
	}
	if len(b) < len(recordMagic)+4 ||
		crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, fmt.Errorf("the record file is damaged: its checksum does not match")
	}
	body := b[len(recordMagic) : len(b)-4]
	var records []Record
	for len(body) > 0 {
		r, n, err := parseRecord(body)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(records), err)
		}
		records = append(records, r)
		body = body[n:]
	}
	return records, nil
}

// parseRecord reads a record, and returns how many bytes it took. A file may be made by hand, so
// weights are checked as well.
func parseRecord(b []byte) (Record, int, error) {
	if len(b) < 9 {
		return Record{}, 0, errShort
	}
	weight := math.Float64frombits(binary.LittleEndian.Uint64(b))
	n, w := binary.Uvarint(b[8:])
	if w <= 0 || n > uint64(len(b)-8-w) {
		return Record{}, 0, errShort
	}
	if !(weight >= 0) || math.IsInf(weight, 0) {
		return Record{}, 0, fmt.Errorf("its weight is %v", weight)
	}
	end := 8 + w + int(n)
	return Record{Args: b[8+w : end : end], Weight: weight}, end, nil
}

// ReadRecords reads a record file from disk.
func ReadRecords(path string) ([]Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := ParseRecords(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return records, nil
}

// LoadArgs reads a record file into arguments and weights.
func LoadArgs[A any](path string, types map[string]reflect.Type) ([]A, []float64, error) {
	args, weights, _, err := loadFitting[A](path, types)
	return args, weights, err
}

// loadFitting does what LoadArgs does; where an int has 32 bits it leaves out the records with
// larger ones, and counts them.
func loadFitting[A any](
	path string, types map[string]reflect.Type,
) (args []A, weights []float64, unfit int, err error) {
	records, err := ReadRecords(path)
	if err != nil {
		return nil, nil, 0, err
	}
	c := coderFor[A]()
	args = make([]A, len(records)) // a value may point into itself, so none moves
	for i, r := range records {
		// Only a number that is too large for a small int may be left out. Any other failure means
		// that the file is not for this type.
		a := &args[len(weights)]
		err := decodePart(r.Args, types, variable{c, unsafe.Pointer(a)})
		if bits.UintSize == 32 && errors.Is(err, errUnfit) {
			*a = *new(A)
			unfit++
			continue
		}
		if err != nil {
			return nil, nil, 0, fmt.Errorf("%s: record %d: %w", path, i, err)
		}
		weights = append(weights, r.Weight)
	}
	return args[:len(weights)], weights, unfit, nil
}
