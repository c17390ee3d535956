package providers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// configured applies the settings of the configuration to a model. It replaces an unsupported
// effort with the nearest supported one and reports that once.
type configured struct {
	llm.Model
	renameNotice string // says that the typed name stands for another model; "" if not
	retirement   string // says that the model retires soon; "" if not
	settings     Settings
	id           string // the service's id of the model
	facts        catalog.Model
	known        bool   // facts.Levels are known too
	noWeb        string // why web search is unavailable; "" if it is available
	notices      llm.Notices
}

// Stream implements llm.Model.
func (m *configured) Stream(ctx context.Context, req llm.Request) llm.Stream {
	req = m.settings.applyTo(req)
	var notice string
	if m.known && req.Effort != "" && req.Budget == 0 {
		req.Effort, notice = clampEffort(m.id, m.facts, req.Effort)
	}
	lack := ""
	if req.Web && m.noWeb != "" {
		req.Web, lack = false, m.noWeb
	}
	s := m.Model.Stream(ctx, req)
	if m.renameNotice == "" && m.retirement == "" && notice == "" && lack == "" {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		out := llm.NewOut(yield)
		m.notices.SendUrgentOnce(out, m.renameNotice, m.retirement)
		if m.notices.SendOnce(out, notice, lack); !out.Stopped() {
			s(yield)
		}
	}
}

// noWeb returns why s has no web search for a model; "" if it has.
func noWeb(s service, model string) string {
	if s.traits(model).SearchesWeb {
		return ""
	}
	return cmp.Or(s.row.noWeb, s.name+"/"+s.modelID(model)+" has no web search")
}

// clampEffort returns the effort to request from a model, "" for none, and a notice for the user if
// it is not the requested one.
func clampEffort(id string, facts catalog.Model, effort llm.Effort) (use llm.Effort, notice string) {
	levels := supportedEfforts(facts)
	off := effort == llm.EffortOff
	switch {
	case slices.Contains(levels, effort), off && facts.OffValue != "": // OffValue may be less than off; the adapter knows
		return effort, ""
	case !facts.Thinks && off:
		return "", ""
	case !facts.Thinks:
		return "", id + " has no reasoning; reasoning effort not sent"
	case off && len(levels) == 0:
		return "", id + " cannot turn thinking off"
	case len(levels) == 0:
		return "", id + " has no reasoning-effort setting; it uses its own"
	}
	use = nearestEffort(levels, effort)
	if off {
		return use, fmt.Sprintf("%s cannot turn thinking off, using %s", id, use)
	}
	return use, fmt.Sprintf("%s has no reasoning effort %s, using %s", id, effort, use)
}

// nearestEffort returns the entry of levels, which ascend, nearest to effort; of two, the higher
// one. It does not switch thinking off for a user who wants it.
func nearestEffort(levels []llm.Effort, effort llm.Effort) llm.Effort {
	distance := func(e llm.Effort) int {
		d := slices.Index(llm.Efforts, e) - slices.Index(llm.Efforts, effort)
		return max(d, -d)
	}
	best := levels[len(levels)-1]
	for _, l := range slices.Backward(levels) {
		if l != llm.EffortOff && distance(l) < distance(best) {
			best = l
		}
	}
	return best
}

// supportedEfforts returns the efforts that a model distinguishes. Levels of the model that are
// missing in llm.Efforts share the nearest effort.
func supportedEfforts(m catalog.Model) []llm.Effort {
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
	case m.Thinking == "budget": // the efforts are budgets, independent of Levels
		for _, e := range []llm.Effort{llm.EffortMinimal, llm.EffortLow, llm.EffortMedium, llm.EffortHigh, llm.EffortMax} {
			offered[e] = true
		}
	case m.Levels == nil && m.CanDisable: // on or off
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
