package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func sampleChart() *chart {
	return &chart{"Orchestration <of a search>", "ms a candidate", []series{
		{"average", []float64{100, 1000, 10000}, []float64{0.49, 0.70, 0.76}},
		{"last tenth", []float64{100, 1000, 10000}, []float64{0.34, 0.73, 0.77}},
		{"processor time", []float64{100, 1000, 10000}, []float64{0.4, 0.6, 0.76}},
	}}
}

// TestChart checks that a chart is XML, names its series, and writes no two names over each other.
func TestChart(t *testing.T) {
	text := sampleChart().svg()
	if path := os.Getenv("CHART"); path != "" { // to look at it
		os.WriteFile(path, []byte(text), 0o644)
	}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sampleChart().series {
		if !strings.Contains(text, ">"+s.name+"</text>") {
			t.Errorf("%s is not named", s.name)
		}
	}
	if at := freePlace([]float64{100, 114}, 100); at != 86 {
		t.Errorf("a third name at 100 goes to %v, want 86", at)
	}
}

func TestTick(t *testing.T) {
	for high, want := range map[float64]float64{0.77: 0.1, 5: 1, 42: 10, 100: 20, 240: 50, 1900: 500} {
		if got := tick(high); round(got) != want {
			t.Errorf("lines up to %v are %v apart, want %v", high, got, want)
		}
	}
}

func TestBenchmarked(t *testing.T) {
	list := benchmarked(
		[]byte("goos: linux\nBenchmarkOrchestration/100-2 \t 1\t 469 ns/op\t 100.0 candidates\t 4.697 ms/candidate\n" +
			"PASS\n"))
	if len(list) != 1 || list[0]["candidates"] != 100 || list[0]["ms/candidate"] != 4.697 {
		t.Errorf("%v", list)
	}
}
