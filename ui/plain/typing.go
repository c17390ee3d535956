package plain

import "time"

// typing is what was typed and is no message yet.
type typing struct {
	held  []typed   // lines that may not be the last of their message
	came  time.Time // when the last line did; zero if none has
	hasty bool      // the message at hand came too soon behind that to command anything
	begun []string  // lines that ended in a backslash
}

// due returns when the lines that are held are a message; zero if none are.
func (t *typing) due() time.Time {
	if n := len(t.held); n > 0 {
		return t.held[n-1].at.Add(together)
	}
	return time.Time{}
}

// take returns the lines that are held, and holds none.
func (t *typing) take() []typed {
	held := t.held
	t.held = nil
	return held
}
