package tools

import (
	"context"
	"fmt"
	"parley/tools/act"
	"strings"
)

type planArgs struct {
	Text string `json:"text" jsonschema:"the whole plan as Markdown, with a line '- [ ] step' for each step: '- [x]' is done, '- [>]' is the one you are at"`
}

func init() {
	register(act.PlanTool, planPlan)
}

// planPlan shows a plan to the user. In plan mode the user is asked to accept it.
func planPlan(_ context.Context, w *workspace, args planArgs) (*act.Action, error) {
	text := strings.TrimSpace(args.Text)
	steps, done, at := planSteps(text)
	switch {
	case text == "":
		return nil, refuse("the plan is empty")
	case steps == 0:
		return nil, refuse("the plan has no steps: write each on a line that begins with '- [ ] '")
	}
	a := &act.Action{Access: act.AccessRead, Title: fmt.Sprintf("%d of %d done", done, steps)}
	if at != "" {
		a.Title += " · " + at
	}
	said := text
	if policy := w.policy.Load(); policy != nil && policy.Mode() == act.ModePlan {
		a.Proposal, a.Title = text, pluralize(steps, "step")
		said = "The user accepted this plan. Carry it out now, and call plan again as steps are done.\n\n" + text
	}
	a.Do = func(context.Context, func(string)) act.Outcome { return act.Outcome{Text: said} }
	return a, nil
}

// planSteps counts the steps of a plan and the finished ones, and returns the current step;
// "" if none is in progress.
func planSteps(text string) (steps, done int, at string) {
	for line := range strings.Lines(text) {
		switch mark, _, step := act.PlanStep(line); {
		case mark == 0:
			continue
		case mark == 'x':
			done++
		case mark == '>' && at == "":
			at = step
		}
		steps++
	}
	return steps, done, at
}
