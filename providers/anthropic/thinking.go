package anthropic

import (
	"fmt"
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
)

const (
	minBudget = 1024 // smallest budget that Anthropic accepts
	minAnswer = 1024 // output tokens left for the answer
)

// budgets maps the efforts, in the order of llm.Efforts, to budgets for models that only support
// budgets.
var budgets = [6]int{0, minBudget, 2048, 8192, 16384, 32000}

// A thinkingPlan describes the thinking in a request.
type thinkingPlan struct {
	thinking map[string]any // the field; nil omits it
	effort   string         // output_config.effort; "" omits it
	notices  []string
}

// isOn reports whether the model will think.
func (p thinkingPlan) isOn(f facts) bool {
	if p.thinking == nil {
		return f.thinksByDefault
	}
	return p.thinking["type"] != typeDisabled
}

// isBudgeted reports whether the model thinks with a budget.
func (p thinkingPlan) isBudgeted() bool { return p.thinking["type"] == typeEnabled }

// plan returns the thinking plan for req with an output limit of limit tokens.
func (m *Model) plan(req llm.Request, limit int) thinkingPlan {
	f := m.facts
	level := slices.Index(llm.Efforts, req.Effort)
	asked := level >= 0 || req.Budget > 0
	switch {
	case f.mode == modeNone && asked && req.Effort != llm.EffortOff:
		return thinkingPlan{notices: []string{m.o.Model + " has no reasoning; reasoning effort not sent"}}
	case f.mode == modeNone, !asked && !f.thinksByDefault:
		return thinkingPlan{}
	case !asked:
		return thinkingPlan{thinking: f.adaptiveThinking()}
	case req.Effort == llm.EffortOff:
		return m.planOff()
	case f.mode == modeBudget, f.mode == modeEither && req.Budget > 0:
		return m.planBudget(req, level, limit)
	}
	if level < 0 {
		level = slices.Index(llm.Efforts, adapter.EffortOf(req.Budget))
		notice := fmt.Sprintf("%s takes no thinking budget, using effort %s", m.o.Model, f.efforts[level])
		return thinkingPlan{thinking: f.adaptiveThinking(), effort: f.efforts[level], notices: []string{notice}}
	}
	return thinkingPlan{thinking: f.adaptiveThinking(), effort: f.efforts[level]}
}

// adaptiveThinking lets the model decide how much it thinks.
func (f facts) adaptiveThinking() map[string]any {
	thinking := map[string]any{"type": typeAdaptive}
	if f.showsOnRequest {
		thinking["display"] = "summarized"
	}
	return thinking
}

// planOff returns a plan that switches thinking off, if the model supports it.
func (m *Model) planOff() thinkingPlan {
	f := m.facts
	switch f.offType {
	case typeDisabled:
		return thinkingPlan{thinking: map[string]any{"type": typeDisabled}}
	case typeBetween:
		return thinkingPlan{
			thinking: map[string]any{"type": typeBetween}, effort: f.efforts[0],
			notices: []string{m.o.Model + " cannot turn thinking off, only before the first tool; using " + f.efforts[0]},
		}
	}
	return thinkingPlan{
		thinking: f.adaptiveThinking(), effort: f.efforts[0],
		notices: []string{m.o.Model + " cannot turn thinking off, using " + f.efforts[0]},
	}
}

// planBudget returns a plan with a budget, which is part of the output and must leave room for the
// answer.
func (m *Model) planBudget(req llm.Request, level, limit int) thinkingPlan {
	budget := req.Budget
	if budget == 0 {
		budget = budgets[level]
	}
	if limit <= minBudget {
		notice := fmt.Sprintf("thinking is off: it needs more than %d output tokens", minBudget)
		return thinkingPlan{thinking: map[string]any{"type": typeDisabled}, notices: []string{notice}}
	}
	p := thinkingPlan{}
	if fits := max(minBudget, min(budget, limit-minAnswer)); fits != budget {
		p.notices = []string{fmt.Sprintf("thinking budget %d set to %d", budget, fits)}
		budget = fits
	}
	p.thinking = map[string]any{"type": typeEnabled, "budget_tokens": budget}
	if m.facts.mode == modeBudget && level >= 0 {
		p.effort = m.facts.efforts[level]
	}
	return p
}

// openToolLoop returns the index where a running tool loop starts: the first assistant message in
// the sequence of calls and results at the end of the history; -1 if the history ends differently.
func openToolLoop(messages []llm.Message) int {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != llm.RoleAssistant {
		last--
	}
	if last < 0 || len(messages[last].Calls()) == 0 {
		return -1
	}
	for last >= 2 && messages[last-1].Role == llm.RoleTool && messages[last-2].Role == llm.RoleAssistant {
		last -= 2
	}
	return last
}
