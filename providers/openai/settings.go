package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// addTo adds the effort to body, as words or tokens. If the server refused the switch, off becomes
// the lowest effort word.
func (e Effort) addTo(body map[string]any, req llm.Request, model string, learned map[string]string) (notices []string) {
	level := slices.Index(llm.Efforts, req.Effort)
	if req.Budget > 0 {
		level = slices.Index(llm.Efforts, adapter.EffortOf(req.Budget))
	}
	if _, refused := learned[e.Switch.Field]; refused && e.Switch.Field != "" {
		e.Switch, e.Words[0] = Switch{}, e.Words[1]
	}
	word, budget := "", 0
	if level >= 0 {
		word, budget = e.Words[level], e.Budgets[level]
	}
	switch {
	case req.Budget == 0:
	case e.BudgetField != "":
		word, budget = "", req.Budget
	case e.Budgets != [6]int{}:
		budget = req.Budget
	case word != "":
		notices = append(notices, fmt.Sprintf("%s takes no thinking budget in tokens, using effort %s", model, word))
	default:
		notices = append(notices, adapter.LeftOut(model, "a thinking budget"))
	}
	if len(req.Tools) > 0 && e.WithTools != "" && word != e.WithTools {
		if level > 0 {
			notices = append(notices, fmt.Sprintf("%s takes tools only without thinking here; thinking is off", model))
		}
		word, budget, level = e.WithTools, 0, 0
	}
	if level < 0 {
		return notices
	}
	off := level == 0
	switch {
	case off && (e.AlwaysOn || word != "" && word != "none"):
		notice := model + " cannot turn thinking off"
		if word != "" {
			notice += ", using " + word
		}
		notices = append(notices, notice)
	case e.Switch.Field != "" && word == "":
		adapter.SetField(body, e.Switch.Field, e.Switch.value(!off))
	case !off && req.Budget == 0 && e.Words == [6]string{} && e.Budgets == [6]int{}:
		notices = append(notices, model+" has no reasoning-effort setting that is known; not sent")
	}
	if word != "" {
		field := e.Field
		if field == "" {
			field = "reasoning_effort"
		}
		adapter.SetField(body, field, word)
	}
	if budget > 0 {
		adapter.SetField(body, cmp.Or(e.BudgetField, "thinking_budget"), budget)
	}
	return notices
}

func (s Switch) value(on bool) (state any) {
	text := s.Off
	if on {
		text = s.On
	}
	if json.Unmarshal([]byte(text), &state) != nil {
		return string(text)
	}
	return state
}

// A setting is a user's setting under its name in chat completions.
type setting struct {
	field string
	value any
}

// settingsOf lists the settings of req, except those encoded in other ways.
func settingsOf(req llm.Request) []setting {
	s := req.Settings
	var list []setting
	for _, row := range []struct {
		setting
		chosen bool
	}{
		{setting{"temperature", s.Temperature}, s.Temperature != nil},
		{setting{"top_p", s.TopP}, s.TopP != nil},
		{setting{"frequency_penalty", s.FrequencyPenalty}, s.FrequencyPenalty != nil},
		{setting{"presence_penalty", s.PresencePenalty}, s.PresencePenalty != nil},
		{setting{"seed", s.Seed}, s.Seed != nil},
		{setting{"stop", s.Stop}, len(s.Stop) > 0},
		{setting{"user", s.User}, s.User != ""},
		{setting{"verbosity", s.Verbosity}, s.Verbosity != ""},
		{setting{"parallel_tool_calls", s.Parallel}, s.Parallel != nil && len(req.Tools) > 0},
	} {
		if row.chosen {
			list = append(list, row.setting)
		}
	}
	return list
}

// refusesSetting reports whether the model is known to refuse a setting. Without thinking, sampling
// settings are accepted again.
func (f Rules) refusesSetting(field string, thinks bool) bool {
	return slices.Contains(f.RefusedSettings, field) && (thinks || !slices.Contains(samplingSettings, field))
}

// mergeUserFields removes the refused fields from body and merges the user's own fields over it. It
// returns notices for the user.
func mergeUserFields(body map[string]any, o adapter.Options, req llm.Request, learned map[string]string) (notices []string) {
	for _, field := range applyDowngrades(body, learned) {
		notices = append(notices, adapter.NotSent(o.Model, field))
	}
	fields, _, told := o.Fields(req)
	wire.Merge(body, fields)
	return append(notices, told...)
}
