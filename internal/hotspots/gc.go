package hotspots

// bill divides the collector's time among the stacks that allocate, and names its measure: bytes
// if there is an allocation profile, for which stacks without processor time are added, else time
// in the allocator.
func bill(m, alloc *merged) (by string) {
	// Add up the collection.
	gc := 0.0
	for _, s := range m.stacks {
		if s.collects() {
			gc += s.weight
		}
	}
	if gc == 0 {
		return ""
	}
	// Divide it by allocated bytes, if there is a profile of them.
	if alloc != nil && alloc.total > 0 {
		for _, s := range alloc.stacks {
			if s.owned() {
				m.stacks = append(m.stacks, &stack{frames: s.frames, gc: gc * s.weight / alloc.total})
			}
		}
		return "allocated bytes"
	}
	// Otherwise divide it by time in the allocator.
	inside := 0.0
	for _, s := range m.stacks {
		if s.has(allocates) && !s.collects() {
			inside += s.weight
		}
	}
	if inside == 0 {
		return ""
	}
	for _, s := range m.stacks {
		if s.has(allocates) && !s.collects() {
			s.gc = gc * s.weight / inside
		}
	}
	return "time in the allocator"
}

// collects reports whether the stack is one of the collector's own goroutines.
func (s *stack) collects() bool { return s.has(collects) && !s.owned() }

func (s *stack) has(mark marks) bool {
	for _, f := range s.frames {
		if f.fn.marks&mark != 0 {
			return true
		}
	}
	return false
}

// owned reports whether own code is on the stack.
func (s *stack) owned() bool {
	for _, f := range s.frames {
		if f.fn.class == own {
			return true
		}
	}
	return false
}
