package process

// A PrefixBuffer keeps the first Limit bytes written to it, for output that may have no end. It is
// not safe for concurrent use.
type PrefixBuffer struct {
	Limit int
	bytes []byte
}

// Write keeps as much of p as fits, and never fails.
func (b *PrefixBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p[:max(min(len(p), b.Limit-len(b.bytes)), 0)]...)
	return len(p), nil
}

// Bytes returns the kept bytes, which further writes may change.
func (b *PrefixBuffer) Bytes() []byte { return b.bytes }
