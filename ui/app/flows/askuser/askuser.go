// Package askuser lets the model ask its user, with the tool ask_user.
package askuser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// Bounds of a call, in questions, choices and characters.
const (
	maxQuestions = 4
	maxChoices   = 4
	maxSame      = 3 // times that the same questions are asked in a turn
	maxRepeats   = 6 // times that a turn may call for them
	maxText      = 1000
	maxLabel     = 80
	maxAbout     = 200
)

const (
	description = `Asks the user. Each question has 2 to 4 choices, "label: explanation", the recommended first; the user may also answer freely.`
	schema      = `{"type":"object","properties":{"questions":{"type":"array","items":{"type":"object","properties":{"question":{"type":"string"},"choices":{"type":"array","items":{"type":"string"}},"several":{"type":"boolean"}}}}}}`
	unanswered  = "The user did not answer. Decide yourself, and say what you assumed."
)

// Register adds the tool to those of a.
func Register(a *app.App) {
	if a.Machine.ToolSet == nil {
		return
	}
	if set, ok := a.Machine.ToolSet(act.AskTool).(*tools.Set); ok {
		f := &flow{app: a}
		_ = set.AddExternal(tools.External{Name: act.AskTool, Description: description, Schema: json.RawMessage(schema), Plan: f.plan}) // its name is valid
	}
}

// A flow asks the questions of a model. All but plan and ask run on the App's goroutine.
type flow struct {
	app   *app.App
	turn  int              // prompts before the running turn
	asked map[string]*call // calls of that turn by their questions
}

// A call is the questions of one call, and of those that repeat it.
type call struct {
	ctx       context.Context // ends with the call
	key       string
	questions []question
	said      []string // the answers so far
	times     int
	reply     func(act.Outcome) // only the first one counts
}

// A question is one of a call, as the user sees it.
type question struct {
	Question string
	Choices  []string // label, or "label: explanation"
	Several  bool

	items []app.Item
}

// plan reads the questions of a call.
func (f *flow) plan(_ context.Context, input json.RawMessage) (*act.Action, error) {
	var args struct{ Questions []question }
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, err
	}
	if n := len(args.Questions); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("%d questions: a call asks 1 to %d; decide what you can yourself", n, maxQuestions)
	}
	for i := range args.Questions {
		if err := args.Questions[i].read(); err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return &act.Action{
		Access: act.AccessRead, Ordered: true, Title: "ask " + sanitize.Line(args.Questions[0].Question),
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			return f.ask(ctx, strings.ToLower(fmt.Sprint(args.Questions)), args.Questions)
		},
	}, nil
}

// read checks and sanitizes a question.
func (q *question) read() error {
	q.Question = sanitize.Truncate(strings.TrimSpace(sanitize.Text(q.Question)), maxText)
	if q.Question == "" {
		return fmt.Errorf("it has no text")
	}
	for _, c := range q.Choices {
		label, about, _ := strings.Cut(sanitize.Line(c), ": ")
		item := app.Item{Title: sanitize.Truncate(strings.TrimSpace(label), maxLabel), Detail: sanitize.Truncate(strings.TrimSpace(about), maxAbout)}
		if item.Title == "" || slices.ContainsFunc(q.items, func(i app.Item) bool { return i.Title == item.Title }) {
			return fmt.Errorf("choice %q is empty or given twice", item.Title)
		}
		q.items = append(q.items, item)
	}
	if n := len(q.items); n < 2 || n > maxChoices {
		return fmt.Errorf("%d choices: a question has 2 to %d; any other answer can be typed anyway", n, maxChoices)
	}
	return nil
}

// ask asks the questions and waits for the answers.
func (f *flow) ask(ctx context.Context, key string, questions []question) act.Outcome {
	if f.app.FrontEnd.AskUser == nil {
		return act.Outcome{Text: "The user cannot be asked here. Decide yourself.", Failed: true}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan act.Outcome, 1)
	c := &call{ctx: ctx, key: key, questions: questions, reply: func(out act.Outcome) {
		select {
		case answer <- out:
		default:
		}
	}}
	f.app.FrontEnd.AskUser(func() app.Effect { return f.begin(c) })
	select {
	case out := <-answer:
		return out
	case <-ctx.Done():
		return act.Outcome{Text: "The question was withdrawn before the user answered.", Failed: true}
	}
}

// begin asks the first question, unless the same call was made too often in this turn.
func (f *flow) begin(c *call) app.Effect {
	if c.ctx.Err() != nil {
		return nil
	}
	prompts := 0
	for _, n := range f.app.Session.Path() {
		if n.Role == llm.RoleUser {
			prompts++
		}
	}
	if f.asked == nil || f.turn != prompts {
		f.turn, f.asked = prompts, map[string]*call{}
	}
	if before := f.asked[c.key]; before != nil {
		if c.times = before.times; c.times >= maxSame {
			out := act.Outcome{Text: fmt.Sprintf("You asked this %d times already, and it is not asked again. The last answer:\n\n%s", maxSame, strings.Join(before.said, "\n\n"))}
			if before.times++; before.times >= maxRepeats {
				out.Ends = fmt.Errorf("the model asked the same question %d times: the turn ends here", before.times)
			}
			c.reply(out)
			return nil
		}
	}
	c.times++
	f.asked[c.key] = c
	return f.next(c, 0)
}

// next asks question i, or gives the model the answers.
func (f *flow) next(c *call, i int) app.Effect {
	if i == len(c.questions) {
		c.reply(act.Outcome{Text: strings.Join(c.said, "\n\n")})
		return nil
	}
	q := c.questions[i]
	shown := &app.ModelQuestion{Text: q.Question, Choices: q.items, Several: q.Several, Done: c.ctx.Done()}
	if len(c.questions) > 1 {
		shown.Count = fmt.Sprintf("%d of %d", i+1, len(c.questions))
	}
	shown.Answer = func(chosen []int, text string) app.Effect {
		var said []string
		for _, n := range chosen {
			said = append(said, q.items[n].Title)
		}
		if text != "" {
			said = append(said, text)
		}
		if len(said) == 0 {
			c.said = append(c.said, unanswered)
			return f.next(c, len(c.questions))
		}
		c.said = append(c.said, q.Question+"\n→ "+strings.Join(said, "\n→ "))
		return f.next(c, i+1)
	}
	return shown
}
