package rt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

func TestRecordFile(t *testing.T) {
	var records []Record
	for i := range 8192 {
		b, err := Encode(&struct{ A0 string }{fmt.Sprintf("tag_%d:value", i)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, Record{b, float64(i)})
	}
	path := filepath.Join(t.TempDir(), "r")
	if err := WriteRecords(path, records); err != nil {
		t.Fatal(err)
	}
	args, weights, err := LoadArgs[struct{ A0 string }](path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(args) != 8192 || args[8191].A0 != "tag_8191:value" || weights[7] != 7 {
		t.Errorf("got %d records, last %v", len(args), args[len(args)-1])
	}
}

func TestRecordFileDamage(t *testing.T) {
	good := AppendRecords(nil, []Record{{[]byte{1, 2, 3}, 1}})
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := ParseRecords(bad); err == nil {
			t.Errorf("byte %d was changed and nobody noticed", i)
		}
		if _, err := ParseRecords(good[:i]); err == nil {
			t.Errorf("cut at %d and nobody noticed", i)
		}
	}
}

func FuzzParseRecords(f *testing.F) {
	f.Add(AppendRecords(nil, []Record{{[]byte{1, 2, 3}, 1}, {nil, 2}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := ParseRecords(b)
		if err == nil && !bytes.Equal(AppendRecords(nil, records), b) {
			t.Fatalf("%x reads to %v, which is written differently", b, records)
		}
		// Behind a right checksum the records themselves are reached.
		wrapped := AppendRecords(nil, nil)
		wrapped = append(wrapped[:len(wrapped)-4], b...)
		ParseRecords(appendSum(wrapped, 0))
	})
}

func BenchmarkLoadArgs(b *testing.B) {
	var records []Record
	for i := range 8192 {
		rec, _ := Encode(&struct{ A0 string }{fmt.Sprintf("tag_%d:value", i)})
		records = append(records, Record{rec, 1})
	}
	path := filepath.Join(b.TempDir(), "r")
	if err := WriteRecords(path, records); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := LoadArgs[struct{ A0 string }](path, nil); err != nil {
			b.Fatal(err)
		}
	}
}
