package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// QuestionText returns what a question of a turn asks, and its answers in the order of its
// choices.
func QuestionText(q session.Question) (text string, answers []string) {
	switch about := q.About.(type) {
	case session.Failure:
		text = about.From + ": " + ErrorText(about.Err)
		if about.Visible {
			text += "\nThe answer stopped halfway. A new one replaces it; this one stays on a branch."
		}
	case session.Overflow:
		text = fmt.Sprintf("Too long for %s: about %s tokens, and its context window is %s. Not sent yet.",
			about.Model, format.Tokens(about.Tokens), format.Tokens(about.Window))
	case session.Overspend:
		text = format.Capital(about.Error())
	case session.Expense:
		what := about.Model
		if about.Tokens > 0 {
			what = format.Tokens(about.Tokens) + " tokens to " + what
		}
		text = fmt.Sprintf("The next request costs about %s: %s. Not sent yet.", format.Price(about.Cost), what)
	}
	for _, c := range q.Choices {
		answers = append(answers, choiceText(q, c))
	}
	return text, answers
}

// AnswerTo returns the index of the choice that a line means: its number, or a word for it, such
// as now, wait and stop, which may look like a command.
func AnswerTo(q session.Question, line string) (n int, ok bool) {
	word := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(line)), "/")
	if n, err := strconv.Atoi(word); err == nil {
		return n - 1, n >= 1 && n <= len(q.Choices)
	}
	if word == "now" {
		word = string(session.SwitchModel)
	}
	n = slices.IndexFunc(q.Choices, func(c session.Choice) bool { return string(c.Action) == word })
	return n, n >= 0
}

// choiceText says what a choice does.
func choiceText(q session.Question, c session.Choice) string {
	failure, _ := q.About.(session.Failure)
	switch c.Action {
	case session.SwitchModel:
		return "Continue with " + c.Model
	case session.WaitAndTry:
		return "Wait for " + failure.From
	case session.TryAgain:
		return "Ask " + failure.From + " again"
	case session.Summarize:
		return "Summarize the conversation first"
	case session.Fork:
		return "Fork: summarize in a copy, keep this as is"
	case session.LeaveOut:
		return "Leave " + c.Model + " out"
	case session.OmitOldest:
		return "Skip the oldest turns"
	case session.SendAnyway:
		return "Send anyway"
	case session.RaiseLimit:
		o, _ := q.About.(session.Overspend)
		return raiseText(o.Limit, c.Amount)
	}
	return "Stop"
}

// raiseText says what a limit becomes for the rest of the session.
func raiseText(l session.Limit, amount float64) string {
	if l.Cost == 0 || l.Tokens > 0 && amount > float64(l.Tokens) {
		return "Raise it to " + format.Tokens(int(amount)) + " tokens"
	}
	return "Raise it to " + format.Cost(amount, true)
}

// ServerQuestion asks what an MCP server asks of the user; nothing if none does. Front ends
// call it when a server changed, and while nothing else is asked.
func ServerQuestion(a *App) Effect {
	servers := a.Servers()
	if servers == nil {
		return nil
	}
	var e *Confirm
	switch q := servers.NextQuestion(); {
	case q == nil:
		return nil
	case q.Refused != "":
		return Shown{llm.Notice{Text: fmt.Sprintf("MCP server %s: %s. Declined for you", q.Server, q.Refused)}}
	case q.Sample != nil:
		e = confirmSample(a, q)
	case q.Opened:
		e = confirmPageDone(q)
	case q.URL != "":
		e = confirmPage(a, q)
	default:
		e = confirmForm(q)
	}
	e.Unasked = true
	return e
}

// unanswered says that nobody waits for an answer; nothing if the server does.
func unanswered(q *mcp.Question) (Effect, bool) {
	if !q.Over() {
		return nil, false
	}
	text := "MCP server " + q.Server + " no longer waits for an answer"
	if why := q.WhyOver(); why != "" {
		text += ": " + why
	}
	return Toast(text), true
}

// lapse takes what is asked for a server back once nobody waits for an answer.
func lapse(q *mcp.Question) Lapse {
	return Lapse{Done: q.Ended(), OnDone: func() Effect {
		if q.Done() {
			return Toast("MCP server " + q.Server + " says that the page is done")
		}
		e, _ := unanswered(q)
		return e
	}}
}

// confirmQuestion returns the effect that asks c for a server, until nobody waits for an answer.
func confirmQuestion(q *mcp.Question, c Confirm) *Confirm {
	c.OnDismiss, c.Lapse = q.Cancel, lapse(q)
	return &c
}

// confirmRequest returns the effect that asks c for a server that waits for an answer: no declines
// what it asks for, and yes does accept.
func confirmRequest(q *mcp.Question, c Confirm, accept func() Effect) *Confirm {
	c.Accept = func() Effect {
		if e, over := unanswered(q); over {
			return e
		}
		return accept()
	}
	c.Decline = func() Effect {
		e, over := unanswered(q)
		if !over {
			q.Decline()
		}
		return e
	}
	return confirmQuestion(q, c)
}

// confirmForm asks whether the user wants to fill in a form.
func confirmForm(q *mcp.Question) *Confirm {
	text := fmt.Sprintf("MCP server %s asks:\n\n%s", q.Server, sanitize.Quote(q.Text))
	yes := "Agree"
	if len(q.Fields) > 0 {
		var titles []string
		for _, f := range q.Fields {
			titles = append(titles, f.Title)
		}
		text += fmt.Sprintf("\n\nIt wants to know: %s. What you enter goes to this server: no passwords or keys", strings.Join(titles, ", "))
		yes = "Answer"
	}
	return confirmRequest(q, Confirm{Text: text, Yes: yes, No: "Decline"}, func() Effect {
		return askFormField(q, 0, map[string]any{}, nil)
	})
}

// askFormField asks for the fields of a form from the one at i on, and then whether to send them.
// Said is what was entered, in lines.
func askFormField(q *mcp.Question, i int, values map[string]any, said []string) Effect {
	if e, over := unanswered(q); over {
		return e
	}
	if i == len(q.Fields) {
		return sendForm(q, values, said)
	}
	f := q.Fields[i]
	next := func(text string) (func() Effect, error) {
		if text == "" && !f.Required {
			return func() Effect { return askFormField(q, i+1, values, said) }, nil
		}
		value, err := f.Parse(text)
		if err != nil {
			return nil, err
		}
		more := maps.Clone(values)
		more[f.Name] = value
		lines := append(said[:len(said):len(said)], f.Title+": "+shownValue(f, text))
		return func() Effect { return askFormField(q, i+1, more, lines) }, nil
	}
	title := q.Server + ": " + f.Title
	help := f.Help
	if len(f.Choices) > 0 && !f.Several {
		if help != "" {
			title += " · " + help
		}
		return fieldList(f, title, q, next)
	}
	if f.Several {
		help = strings.TrimPrefix(help+" · Any of "+f.ChoiceTitles()+", with commas", " · ")
	}
	if help == "" {
		help = "MCP server " + q.Server + " asks"
	}
	if !f.Required {
		help += " (optional)"
	}
	return &Secret{
		Title: title, Text: help, Visible: true, Value: f.Default, Optional: !f.Required, OnDismiss: q.Cancel, Lapse: lapse(q),
		Submit: func(_ context.Context, line string) (func() Effect, error) { return next(line) },
	}
}

// fieldList asks for one of the choices of a field.
func fieldList(f mcp.Field, title string, q *mcp.Question, next func(string) (func() Effect, error)) *List {
	list := &List{Title: title, Noun: "choice", OnDismiss: q.Cancel, Lapse: lapse(q)}
	for _, c := range f.Choices {
		list.Items = append(list.Items, Item{Title: c.Title, Value: c.Value, Current: f.Default == c.Value})
	}
	if !f.Required {
		list.Items = append(list.Items, Item{Title: "Skip", Detail: "Optional", Value: ""})
	}
	list.Choose = func(i Item, _ string) Effect {
		then, err := next(i.Value)
		if err != nil {
			q.Cancel()
			return Failure{Err: err}
		}
		return then()
	}
	return list
}

// shownValue returns a value as the user knows it.
func shownValue(f mcp.Field, text string) string {
	for _, c := range f.Choices {
		if c.Value == text {
			return c.Title
		}
	}
	return text
}

// sendForm asks whether a form that is filled in goes to its server.
func sendForm(q *mcp.Question, values map[string]any, said []string) Effect {
	if len(q.Fields) == 0 {
		q.Answer(values)
		return nil
	}
	text := "Send this to MCP server " + q.Server + "?\n\n" + strings.Join(said, "\n")
	return confirmRequest(q, Confirm{Text: text, Yes: "Send", No: "Don't send", Harmless: true}, func() Effect {
		q.Answer(values)
		return nil
	})
}

// confirmPage asks whether to open a page for a server, shown whole.
func confirmPage(a *App, q *mcp.Question) *Confirm {
	text := fmt.Sprintf("MCP server %s asks you to open a page:\n\n%s\n\n%s", q.Server, sanitize.Quote(q.Text), q.URL)
	return confirmRequest(q, Confirm{Text: text, Yes: "Open in the browser", No: "Decline"}, func() Effect {
		q.Answer(nil)
		return Async(func(ctx context.Context) Effect {
			if a.OpenURL == nil || a.OpenURL(ctx, q.URL) != nil {
				return Shown{llm.Notice{Text: "Open this address in a browser: " + q.URL}}
			}
			return Toast("Opened in the browser")
		})
	})
}

// confirmPageDone asks whether the user is done with a page that was opened for a server, which may say
// so itself.
func confirmPageDone(q *mcp.Question) *Confirm {
	text := fmt.Sprintf("MCP server %s waits until you are done with this page:\n\n%s\n\n%s", q.Server, sanitize.Quote(q.Text), q.URL)
	return confirmQuestion(q, Confirm{Text: text, Yes: "Done, continue", No: "Cancel",
		Accept:  func() Effect { q.Answer(nil); return nil },
		Decline: func() Effect { q.Cancel(); return nil },
	})
}

// confirmSample asks whether the model answers for a server, and has it answer.
func confirmSample(a *App, q *mcp.Question) *Confirm {
	s := a.Session
	model := s.Model().Name
	text := fmt.Sprintf("MCP server %s wants %s to answer this, at your cost:\n\n%s", q.Server, model, q.SampleText())
	return confirmRequest(q, Confirm{Text: text, Yes: "Send to " + model, No: "Decline"}, func() Effect {
		return Async(func(ctx context.Context) Effect {
			ctx, cancel := q.Waiting(ctx)
			defer cancel()
			said, name, err := s.Sample(ctx, *q.Sample)
			if e, over := unanswered(q); over {
				return e
			}
			if err != nil {
				q.Cancel()
				return Failure{Err: fmt.Errorf("MCP server %s: %w", q.Server, err)}
			}
			q.AnswerSample(said, name)
			return Toast(fmt.Sprintf("%s answered MCP server %s", name, q.Server))
		})
	})
}
