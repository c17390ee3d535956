package gemini

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// thinking holds the thinking settings of a group of models: a budget in tokens up to 2.5, a level
// from 3 on. The API refuses both together, and the wrong one. Rows have the values for the efforts
// from off to max.
type thinking struct {
	budgets  [6]int
	min, max int // bounds of a nonzero budget; max 0 means no budgets
	levels   [6]string
}

var (
	budgetPro   = thinking{budgets: [6]int{128, 128, 2048, 8192, 24576, 32768}, min: 128, max: 32768}
	budgetFlash = thinking{budgets: [6]int{0, 512, 2048, 8192, 16384, 24576}, min: 1, max: 24576}
	budgetLite  = thinking{budgets: [6]int{0, 512, 2048, 8192, 16384, 24576}, min: 512, max: 24576}
	levelOld    = thinking{levels: [6]string{"low", "low", "low", "high", "high", "high"}}
	levelFlash  = thinking{levels: [6]string{"minimal", "minimal", "low", "medium", "high", "high"}}
	levelGemma  = thinking{levels: [6]string{"minimal", "minimal", "minimal", "high", "high", "high"}}
	levelTop    = thinking{levels: [6]string{"low", "low", "low", "medium", "high", "xhigh"}}
	levelPlain  = thinking{levels: [6]string{"low", "low", "low", "medium", "high", "high"}}
)

// A thinkingRow is a group of models with the same thinking settings.
type thinkingRow struct {
	fits func(traits) bool
	*thinking
}

// thinkingRows maps models to their thinking settings: the first matching row applies. Models with
// the zero thinking have no setting.
var thinkingRows = []thinkingRow{
	{func(t traits) bool { return t.gemma && t.major >= 4 && t.major != unknownVersion }, &levelGemma},
	{func(t traits) bool { return t.gemma || t.mediaModel || !t.atLeast(2, 5) }, &thinking{}},
	{func(t traits) bool { return t.major == 2 && t.tier == "flash-lite" }, &budgetLite},
	{func(t traits) bool { return t.major == 2 && t.tier == "flash" }, &budgetFlash},
	{func(t traits) bool { return t.major == 2 }, &budgetPro},
	{func(t traits) bool { return t.major == 3 && t.minor == 0 && t.tier == "pro" }, &levelOld},
	{func(t traits) bool { return !t.atLeast(3, 7) && strings.HasPrefix(t.tier, "flash") }, &levelFlash},
	{func(t traits) bool { return t.major == unknownVersion && t.tier == "flash-lite" }, &levelFlash},
	{func(t traits) bool { return t.tier == "hydrogen" }, &levelTop},
	{func(t traits) bool { return true }, &levelPlain},
}

// thinking returns the thinking settings of the model.
func (t traits) thinking() thinking {
	i := slices.IndexFunc(thinkingRows, func(g thinkingRow) bool { return g.fits(t) })
	return *thinkingRows[i].thinking
}

// thinkingConfig returns the thinkingConfig for an effort or a budget, nil for none, and a notice
// for the user.
func (m *Model) thinkingConfig(req llm.Request) (config map[string]any, notice string) {
	how := m.traits.thinking()
	effort := slices.Index(llm.Efforts, req.Effort)
	if req.Budget > 0 && req.Effort != llm.EffortOff {
		effort = slices.Index(llm.Efforts, adapter.EffortOf(req.Budget))
	}
	budget := effort >= 0 && req.Budget > 0 && req.Effort != llm.EffortOff
	config = map[string]any{"includeThoughts": true}
	switch {
	case how == thinking{}:
		return nil, ""
	case effort < 0:
		// Flash-Lite of 2.5 does not think by default, and then has no thoughts to include.
		if how == budgetLite {
			return nil, ""
		}
		return config, ""
	case how.max > 0:
		tokens := how.budgets[effort]
		if budget {
			tokens = min(max(req.Budget, how.min), how.max)
			if tokens != req.Budget {
				notice = fmt.Sprintf("%s takes %d to %d tokens of thinking, using %d", m.o.Model, how.min, how.max, tokens)
			}
		}
		if tokens == 0 {
			return map[string]any{"thinkingBudget": 0}, ""
		}
		if effort == 0 {
			notice = fmt.Sprintf("%s cannot turn thinking off, using %d tokens", m.o.Model, tokens)
		}
		if most := req.Settings.MaxTokens; most > 0 && tokens > max(most/2, how.min) { // MaxTokens includes thinking
			tokens = max(most/2, how.min)
			notice = fmt.Sprintf("max_tokens of %d counts thinking too: using %d tokens for that", most, tokens)
		}
		config["thinkingBudget"] = tokens
	default:
		level := how.levels[effort]
		switch {
		case budget:
			notice = fmt.Sprintf("%s takes a level of thinking instead of a budget, using %s", m.o.Model, level)
		case effort == 0:
			notice = fmt.Sprintf("%s cannot turn thinking off, using %s", m.o.Model, level)
		}
		config["thinkingLevel"] = level
	}
	return config, notice
}
