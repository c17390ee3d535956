package providers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// A tuned is a model with the settings of the configuration. Where an effort is
// asked that the model has not, it says what that comes to, once.
type tuned struct {
	llm.Model
	settings Settings
	id       string // as the service calls it
	facts    catalog.Model
	known    bool

	mu   sync.Mutex
	told map[string]bool
}

// Stream implements llm.Model.
func (m *tuned) Stream(ctx context.Context, req llm.Request) llm.Stream {
	req = m.settings.fill(req)
	s := m.Model.Stream(ctx, req)
	notice := m.clamped(req)
	if notice == "" {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		if m.first(notice) && !yield(llm.Notice{Text: notice}, nil) {
			return
		}
		for event, err := range s {
			if n, ok := event.(llm.Notice); ok && n.Text == notice {
				continue // the adapter says so as well
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// first reports whether the user has not seen a notice yet.
func (m *tuned) first(notice string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[notice] {
		return false
	}
	if m.told == nil {
		m.told = map[string]bool{}
	}
	m.told[notice] = true
	return true
}

// clamped says what the effort of req comes to, if the model has no such; "" if
// it has, or if an adapter says it. Adapters clamp, to the next level above, and
// tell when off comes to something.
func (m *tuned) clamped(req llm.Request) string {
	if !m.known || req.Effort == "" || req.Budget > 0 {
		return ""
	}
	levels := efforts(m.facts)
	switch {
	case slices.Contains(levels, req.Effort):
		return ""
	case !m.facts.Thinks && req.Effort == llm.EffortOff:
		return ""
	case !m.facts.Thinks:
		return m.id + " does not think; effort left out"
	case req.Effort == llm.EffortOff && len(levels) > 0:
		return ""
	case req.Effort == llm.EffortOff:
		return m.id + " cannot switch thinking off"
	case len(levels) == 0:
		return m.id + " takes no effort; it thinks as it does by itself"
	}
	return fmt.Sprintf("%s has no effort %s, using %s", m.id, req.Effort, above(levels, req.Effort))
}

// above is the lowest of the levels that is not below effort, else the highest.
// Levels rise, and one of them at least is not off.
func above(levels []llm.Effort, effort llm.Effort) llm.Effort {
	rank := slices.Index(llm.Efforts, effort)
	for _, l := range levels {
		if l != llm.EffortOff && slices.Index(llm.Efforts, l) >= rank {
			return l
		}
	}
	return levels[len(levels)-1]
}

// efforts are the words that make a difference to a model. Levels that have no
// word of their own among ours share the nearest one.
func efforts(m catalog.Model) []llm.Effort {
	if !m.Thinks {
		return nil
	}
	has := func(level string) bool { return slices.Contains(m.Levels, level) }
	top := has("xhigh") || has("max")
	offered := map[llm.Effort]bool{
		llm.EffortOff:     m.CanDisable,
		llm.EffortMinimal: has("minimal"),
		llm.EffortLow:     has("low"),
		llm.EffortMedium:  has("medium") || has("default"),
		llm.EffortHigh:    has("high") || has("xhigh"),
		llm.EffortMax:     has("max") || top && has("high"),
	}
	switch {
	case m.Levels != nil:
	case m.Thinking == "budget":
		for _, e := range []llm.Effort{llm.EffortMinimal, llm.EffortLow, llm.EffortMedium, llm.EffortHigh, llm.EffortMax} {
			offered[e] = true
		}
	case m.CanDisable: // on or off
		offered[llm.EffortHigh] = true
	}
	var list []llm.Effort
	for _, e := range llm.Efforts {
		if offered[e] {
			list = append(list, e)
		}
	}
	return list
}
