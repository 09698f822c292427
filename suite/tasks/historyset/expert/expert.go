package historyset

// First keeps its history in a table of positions on the stack, open addressing,
// at most half full: a series is found by its two numbers and needs no key. What
// it finds is noted there too, so that the result is allocated once, as large as
// it must be.
func First(points []Point) []int {
	if len(points) > 256 {
		return firstOfMany(points)
	}
	var slots [512]uint16 // position plus one, 0 is free
	var found [256]uint8
	n := 0
	for i := range points {
		p := &points[i]
		at := mix(p) >> 55
		for {
			s := slots[at&511]
			if s == 0 {
				slots[at&511] = uint16(i) + 1
				found[n&255] = uint8(i)
				n++
				break
			}
			if q := &points[s-1]; q.Metric == p.Metric && q.Host == p.Host {
				break
			}
			at++
		}
	}
	if n == 0 {
		return nil
	}
	first := make([]int, n)
	for i := range first {
		first[i] = int(found[i&255])
	}
	return first
}

func mix(p *Point) uint64 {
	return (uint64(uint32(p.Metric))<<32 | uint64(uint32(p.Host))) * 0x9e3779b97f4a7c15
}

// firstOfMany does the same with a map.
func firstOfMany(points []Point) []int {
	type series struct{ metric, host int32 }
	history := make(map[series]struct{}, len(points)/2)
	var first []int
	for i := range points {
		key := series{points[i].Metric, points[i].Host}
		if _, ok := history[key]; !ok {
			history[key] = struct{}{}
			first = append(first, i)
		}
	}
	return first
}
