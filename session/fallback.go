package session

import (
	"fmt"

	"parley/providers/llm"
)

// A fallbackChain is the models to go on with, in order, when one fails.
type fallbackChain struct {
	names []string
	open  func(string) (llm.Endpoint, error) // nil: none can be opened
}

// next opens the first model of the chain that was not tried yet, and adds it to
// tried; false if there is none. It reports those that cannot be opened.
func (f fallbackChain) next(tried map[string]bool, report func(name string, err error)) (llm.Endpoint, bool) {
	for _, name := range f.names {
		if tried[name] {
			continue
		}
		tried[name] = true
		model, err := f.open(name)
		if err == nil {
			return model, true
		}
		report(name, err)
	}
	return llm.Endpoint{}, false
}

// fallBack switches to the next fallback model if err is a reason to, and reports
// whether it did. What the failed model left behind becomes a branch.
func (t *turn) fallBack(err error) bool {
	fault := llm.FaultOf(err)
	if t.ctx.Err() != nil || t.fallback.open == nil || fault != llm.Quota && fault != llm.Server && fault != llm.RateLimit {
		return false
	}
	failed := t.Model().Name
	if t.tried == nil {
		t.tried = map[string]bool{}
	}
	t.tried[failed] = true
	model, ok := t.fallback.next(t.tried, func(name string, err error) {
		t.emit(llm.Notice{Text: fmt.Sprintf("fallback %s: %v", name, err)})
	})
	if !ok {
		return false
	}
	t.abandonPartial()
	t.emit(Fallback{From: failed, To: model.Name, Fault: fault})
	if switched := t.SetModel(model); len(switched.Changes) > 0 {
		t.emit(switched)
	}
	return true
}
