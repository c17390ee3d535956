package cli

import (
	"sync"

	"parley/providers/catalog"
)

// maxEstimates is the number of cached estimates: more than a request has texts.
const maxEstimates = 1000

// estimates caches the token counts of texts. The screen of an empty conversation asks for every tool with each frame.
// It is safe for concurrent use.
type estimates struct {
	mu    sync.Mutex
	known map[string]int
}

// tokens returns the estimated tokens of text, as [catalog.Estimate] does.
func tokens[T ~string | ~[]byte](e *estimates, text T) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.known[string(text)] // the conversion does not allocate
	if !ok {
		if n = catalog.Estimate(string(text)); e.known == nil || len(e.known) >= maxEstimates {
			e.known = map[string]int{}
		}
		e.known[string(text)] = n
	}
	return n
}
