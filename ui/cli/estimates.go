package cli

import (
	"sync"

	"parley/providers/catalog"
)

// maxEstimates sets how many estimates are remembered: more texts than a request has.
const maxEstimates = 1000

// estimates remembers how many tokens texts take. The screen of an empty conversation asks
// that of every tool with each frame. It is safe for concurrent use.
type estimates struct {
	mu    sync.Mutex
	known map[string]int
}

// tokens returns about how many tokens text takes, as [catalog.Estimate] does.
func tokens[T ~string | ~[]byte](e *estimates, text T) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.known[string(text)] // which copies nothing
	if !ok {
		if n = catalog.Estimate(string(text)); e.known == nil || len(e.known) >= maxEstimates {
			e.known = map[string]int{}
		}
		e.known[string(text)] = n
	}
	return n
}
