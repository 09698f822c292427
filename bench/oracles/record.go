package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	recordSeason = 24 // steps of a day
	step         = 500 * time.Millisecond
	maxRate      = 4 << 20 // bytes a second at noon
)

// record runs metricsd under a load that rises and falls as over days, and samples the process's
// costs and memory.
func record(ctx context.Context, o options) ([]series, error) {
	// Start metricsd on a free port.
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := l.LocalAddr().String()
	l.Close()
	agent := exec.CommandContext(ctx, o.metricsd, "agent", "-listen.udp", at, "-http", "")
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		return nil, err
	}
	defer func() { agent.Process.Kill(); agent.Wait() }()
	time.Sleep(2 * time.Second)
	// Begin two series.
	cpu := series{Name: "metricsd, processor time in a day's wave of load", Season: recordSeason}
	memory := series{Name: "metricsd, resident memory", Season: recordSeason}
	last, _, err := usage(agent.Process.Pid)
	if err != nil {
		return nil, err
	}
	// Send a step's load, and read the process's use.
	next := time.Now()
	for i := range o.steps {
		rate := int(maxRate * (0.2 + 0.8*math.Pow(math.Sin(math.Pi*float64(i)/recordSeason), 2)))
		load := exec.CommandContext(ctx, o.metricsd, "load", "-shape", "udp", "-address", at, "-rate", fmt.Sprint(rate),
			"-for", (step * 7 / 10).String(), "-seed", fmt.Sprint(i+1))
		if out, err := load.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("metricsd load: %w: %s", err, out)
		}
		next = next.Add(step)
		time.Sleep(time.Until(next))
		now, resident, err := usage(agent.Process.Pid)
		if err != nil {
			return nil, err
		}
		cpu.Values, memory.Values = append(cpu.Values, now-last), append(memory.Values, resident)
		last = now
	}
	return []series{cpu, memory}, nil
}

// usage returns a process's time in ticks and its resident pages, as Linux tells them.
func usage(pid int) (ticks, pages float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return 0, 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var n [3]float64
	for i, at := range []int{11, 12, 21} { // utime, stime, rss
		if n[i], err = strconv.ParseFloat(string(fields[at]), 64); err != nil {
			return 0, 0, err
		}
	}
	return n[0] + n[1], n[2], nil
}
