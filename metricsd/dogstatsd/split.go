package dogstatsd

import "bytes"

// Split cuts a metric line around its value, without reading the rest. Two lines that were read
// without error, and whose heads and tails are equal, have the same context, type, rate, time and
// source. It returns false for a text that cannot be a metric.
func Split(line []byte) (head, value, tail []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return nil, nil, nil, false
	}
	length := bytes.IndexByte(line[colon:], '|') - 1
	if length <= 0 {
		return nil, nil, nil, false
	}
	end := colon + 1 + length
	return line[:colon], line[colon+1 : end], line[end:], true
}

// AppendValues reads the value of a metric that is no set, as a [Parser] does. It returns false for
// a value that is an error.
func AppendValues(to []float64, value []byte) ([]float64, bool) {
	if v, ok := digits(value); ok {
		return append(to, v), true
	}
	values, _, problem := appendValues(to, value)
	return values, problem == "" && len(values) > len(to)
}

// digits reads a whole number that float64 holds exactly, which most values are.
func digits(value []byte) (float64, bool) {
	const most = 15
	if len(value) > most {
		return 0, false
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return float64(n), len(value) > 0
}
