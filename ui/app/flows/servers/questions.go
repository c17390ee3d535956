package servers

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"parley/ui/app"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// nextQuestion asks the user the next question of an MCP server; nil if there is none.
func (f flow) nextQuestion() app.Effect {
	servers := f.servers()
	if servers == nil {
		return nil
	}
	var e *app.Confirm
	switch q := servers.NextQuestion(); {
	case q == nil:
		if e = f.nextConsent(servers); e == nil {
			return nil
		}
	case q.Refused != "":
		return app.Shown{Event: llm.Notice{Text: fmt.Sprintf("MCP server %s: %s. Declined for you", q.Server, q.Refused)}}
	case q.Sample != nil:
		e = f.confirmSample(q)
	case q.Opened:
		e = confirmPageDone(q)
	case q.URL != "":
		e = f.confirmPage(q)
	default:
		e = confirmForm(q)
	}
	e.Unasked = true
	return e
}

// unanswered says that the question has been withdrawn; false if the server still waits.
func unanswered(q *mcp.Question) (app.Effect, bool) {
	if !q.Over() {
		return nil, false
	}
	text := "MCP server " + q.Server + " no longer waits for an answer"
	if q.WhyOver != nil && q.WhyOver() != "" {
		text += ": " + q.WhyOver()
	}
	return app.Toast(text), true
}

// lapse withdraws the question from the screen once the server no longer waits.
func lapse(q *mcp.Question) app.Lapse {
	return app.Lapse{Done: q.Ended, OnDone: func() app.Effect {
		if q.Done() {
			return app.Toast("MCP server " + q.Server + " says that the page is done")
		}
		e, _ := unanswered(q)
		return e
	}}
}

// confirmQuestion asks c on behalf of a server, until the server no longer waits.
func confirmQuestion(q *mcp.Question, c app.Confirm) *app.Confirm {
	c.OnDismiss, c.Lapse = q.Cancel, lapse(q)
	return &c
}

// confirmRequest asks c on behalf of a server: yes runs accept, and no declines the request.
func confirmRequest(q *mcp.Question, c app.Confirm, accept func() app.Effect) *app.Confirm {
	c.Accept = func() app.Effect {
		if e, over := unanswered(q); over {
			return e
		}
		return accept()
	}
	c.Decline = func() app.Effect {
		e, over := unanswered(q)
		if !over {
			q.Decline()
		}
		return e
	}
	return confirmQuestion(q, c)
}

// confirmForm asks whether the user wants to fill in a form.
func confirmForm(q *mcp.Question) *app.Confirm {
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
	return confirmRequest(q, app.Confirm{Text: text, Yes: yes, No: "Decline"}, func() app.Effect {
		return askFormField(q, 0, map[string]any{}, nil)
	})
}

// askFormField asks for the fields of a form from index i on, and then whether to send them. Said holds the input so
// far, as lines.
func askFormField(q *mcp.Question, i int, values map[string]any, said []string) app.Effect {
	if e, over := unanswered(q); over {
		return e
	}
	if i == len(q.Fields) {
		return sendForm(q, values, said)
	}
	f := q.Fields[i]
	next := func(text string) (func() app.Effect, error) {
		if text == "" && !f.Required {
			return func() app.Effect { return askFormField(q, i+1, values, said) }, nil
		}
		value, err := f.Parse(text)
		if err != nil {
			return nil, err
		}
		more := maps.Clone(values)
		more[f.Name] = value
		lines := append(said[:len(said):len(said)], f.Title+": "+shownValue(f, text))
		return func() app.Effect { return askFormField(q, i+1, more, lines) }, nil
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
	return &app.Secret{
		Title: title, Text: help, Visible: true, Value: f.Default, Optional: !f.Required, OnDismiss: q.Cancel, Lapse: lapse(q),
		Submit: func(_ context.Context, line string) (func() app.Effect, error) { return next(line) },
	}
}

// fieldList asks for one of the choices of a field.
func fieldList(f mcp.Field, title string, q *mcp.Question, next func(string) (func() app.Effect, error)) *app.List {
	list := &app.List{Title: title, Noun: "choice", OnDismiss: q.Cancel, Lapse: lapse(q)}
	for _, c := range f.Choices {
		list.Items = append(list.Items, app.Item{Title: c.Title, Value: c.Value, Current: f.Default == c.Value})
	}
	if !f.Required {
		list.Items = append(list.Items, app.Item{Title: "Skip", Detail: "Optional", Value: ""})
	}
	list.Choose = func(value string) app.Effect {
		then, err := next(value)
		if err != nil {
			q.Cancel()
			return app.Fail(err)
		}
		return then()
	}
	return list
}

// shownValue returns the display text of a field value.
func shownValue(f mcp.Field, text string) string {
	for _, c := range f.Choices {
		if c.Value == text {
			return c.Title
		}
	}
	return text
}

// sendForm asks whether to send a completed form to its server.
func sendForm(q *mcp.Question, values map[string]any, said []string) app.Effect {
	if len(q.Fields) == 0 {
		q.Answer(values)
		return nil
	}
	text := "Send this to MCP server " + q.Server + "?\n\n" + strings.Join(said, "\n")
	return confirmRequest(q, app.Confirm{Text: text, Yes: "Send", No: "Don't send", Harmless: true}, func() app.Effect {
		q.Answer(values)
		return nil
	})
}

// confirmPage shows a complete address and asks whether to open it for a server.
func (f flow) confirmPage(q *mcp.Question) *app.Confirm {
	text := fmt.Sprintf("MCP server %s asks you to open a page:\n\n%s\n\n%s", q.Server, sanitize.Quote(q.Text), q.URL)
	return confirmRequest(q, app.Confirm{Text: text, Yes: "Open in the browser", No: "Decline"}, func() app.Effect {
		q.Answer(nil)
		return app.Async(func(ctx context.Context) app.Effect {
			if f.app.Machine.OpenURL == nil || f.app.Machine.OpenURL(ctx, q.URL) != nil {
				return app.Shown{Event: llm.Notice{Text: "Open this address in a browser: " + q.URL}}
			}
			return app.Toast("Opened in the browser")
		})
	})
}

// confirmPageDone asks whether the user is done with a page opened for a server; the server may report that itself.
func confirmPageDone(q *mcp.Question) *app.Confirm {
	text := fmt.Sprintf("MCP server %s waits until you are done with this page:\n\n%s\n\n%s", q.Server, sanitize.Quote(q.Text), q.URL)
	return confirmQuestion(q, app.Confirm{Text: text, Yes: "Done, continue", No: "Cancel",
		Accept:  func() app.Effect { q.Answer(nil); return nil },
		Decline: func() app.Effect { q.Cancel(); return nil },
	})
}

// confirmSample asks whether the model may answer a server's request, and runs it.
func (f flow) confirmSample(q *mcp.Question) *app.Confirm {
	s := f.app.Session
	model := s.Model().Name
	text := fmt.Sprintf("MCP server %s wants %s to answer this, at your cost:\n\n%s", q.Server, model, q.SampleText())
	return confirmRequest(q, app.Confirm{Text: text, Yes: "Send to " + model, No: "Decline"}, func() app.Effect {
		return app.Async(func(ctx context.Context) app.Effect {
			ctx, cancel := q.Waiting(ctx)
			defer cancel()
			said, name, err := s.Beside.Sample(ctx, *q.Sample)
			if e, over := unanswered(q); over {
				return e
			}
			if err != nil {
				q.Cancel()
				return app.Refuse("MCP server %s: %w", q.Server, err)
			}
			q.Reply(mcp.Reply{Action: mcp.ActionAccept, Text: said, Model: name})
			return app.Toast(fmt.Sprintf("%s answered MCP server %s", name, q.Server))
		})
	})
}
