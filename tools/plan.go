package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

type planArgs struct {
	Text string `json:"text" jsonschema:"the whole plan as Markdown, with a line '- [ ] step' for each step: '- [x]' is done, '- [>]' is the one you are at"`
}

// planPlan keeps a plan in sight. In the mode for planning the user is asked to accept it.
func planPlan(_ context.Context, w *workspace, args planArgs) (*Action, error) {
	text := strings.TrimSpace(args.Text)
	steps, done, at := planSteps(text)
	switch {
	case text == "":
		return nil, refuse("the plan is empty")
	case steps == 0:
		return nil, refuse("the plan has no steps: write each on a line that begins with '- [ ] '")
	}
	a := &Action{Access: AccessRead, Title: fmt.Sprintf("%d of %d done", done, steps)}
	if at != "" {
		a.Title += " · " + at
	}
	policy := w.policy.Load()
	if policy == nil || policy.Mode() != ModePlan {
		a.run = func(context.Context, func(string)) Outcome { return Outcome{Text: text} }
		return a, nil
	}
	a.Proposal, a.Title = text, fmt.Sprintf("%d steps", steps)
	a.run = func(context.Context, func(string)) Outcome {
		return Outcome{Text: "The user accepted this plan. Carry it out now, and call plan again as steps are done.\n\n" + text}
	}
	return a, nil
}

// stepLine matches a step: its mark and its text.
var stepLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*[-*+] *\[([ xX>])\](.*)$`) })

// planSteps counts the steps of a plan and those that are done, and returns the one that is
// under way; "" if none is.
func planSteps(text string) (steps, done int, at string) {
	for _, step := range stepLine().FindAllStringSubmatch(text, -1) {
		steps++
		switch mark := step[1]; {
		case strings.EqualFold(mark, "x"):
			done++
		case mark == ">" && at == "":
			at = strings.TrimSpace(step[2])
		}
	}
	return steps, done, at
}
