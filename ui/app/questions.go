package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// ServerQuestion asks what an MCP server asks of the user; nothing if none does. Front ends
// call it when a server changed, and while nothing else is asked.
func ServerQuestion(a *App) Effect {
	servers := a.Servers()
	if servers == nil {
		return Effect{}
	}
	switch q := servers.NextQuestion(); {
	case q == nil:
		return Effect{}
	case q.Refused != "":
		return Effect{Event: llm.Notice{Text: fmt.Sprintf("MCP server %s: %s. Declined for you", q.Server, q.Refused)}}
	case q.Sample != nil:
		return confirmSample(a, q)
	case q.URL != "":
		return confirmPage(a, q)
	default:
		return confirmForm(q)
	}
}

// unanswered says that nobody waits for an answer; nothing if the server does.
func unanswered(q *mcp.Question) (Effect, bool) {
	if !q.Over() {
		return Effect{}, false
	}
	return Say("MCP server " + q.Server + " no longer waits for an answer"), true
}

// confirmForm asks whether the user wants to fill in a form.
func confirmForm(q *mcp.Question) Effect {
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
	return Effect{Confirm: &Confirm{Text: text, Yes: yes, No: "Decline", Left: q.Cancel, Answer: func(yes bool) Effect {
		if !yes {
			q.Decline()
			return Effect{}
		}
		return askFormField(q, 0, map[string]any{}, nil)
	}}}
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
	if len(f.Choices) > 0 && !f.Several {
		return Effect{List: fieldList(f, title, q.Cancel, next)}
	}
	help := f.Help
	if f.Several {
		help = strings.TrimPrefix(help+" · Any of "+f.ChoiceTitles()+", with commas", " · ")
	}
	if help == "" {
		help = "MCP server " + q.Server + " asks"
	}
	if !f.Required {
		help += " (optional)"
	}
	return Effect{Secret: &Secret{
		Title: title, Text: help, Shown: true, Value: f.Default, Optional: !f.Required, Left: q.Cancel,
		Take: func(_ context.Context, line string) (func() Effect, error) { return next(line) },
	}}
}

// fieldList asks for one of the choices of a field.
func fieldList(f mcp.Field, title string, left func(), next func(string) (func() Effect, error)) *List {
	list := &List{Title: title, Noun: "choice", Left: left}
	for _, c := range f.Choices {
		list.Items = append(list.Items, Item{Title: c.Title, Value: c.Value, Current: f.Default == c.Value})
	}
	if !f.Required {
		list.Items = append(list.Items, Item{Title: "Skip", Detail: "Optional", Value: ""})
	}
	list.Choose = func(i Item, _ string) Effect {
		then, err := next(i.Value)
		if err != nil {
			left()
			return Effect{Err: err}
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
		return Effect{}
	}
	text := "Send this to MCP server " + q.Server + "?\n\n" + strings.Join(said, "\n")
	return Effect{Confirm: &Confirm{Text: text, Yes: "Send", No: "Don't send", Harmless: true, Left: q.Cancel, Answer: func(yes bool) Effect {
		if e, over := unanswered(q); over {
			return e
		}
		if !yes {
			q.Decline()
			return Effect{}
		}
		q.Answer(values)
		return Effect{}
	}}}
}

// confirmPage asks whether to open a page for a server, shown whole.
func confirmPage(a *App, q *mcp.Question) Effect {
	text := fmt.Sprintf("MCP server %s asks you to open a page:\n\n%s\n\n%s", q.Server, sanitize.Quote(q.Text), q.URL)
	return Effect{Confirm: &Confirm{Text: text, Yes: "Open in the browser", No: "Decline", Left: q.Cancel, Answer: func(yes bool) Effect {
		if !yes {
			q.Decline()
			return Effect{}
		}
		q.Answer(nil)
		return Effect{Async: func(ctx context.Context) Effect {
			if a.OpenURL == nil || a.OpenURL(ctx, q.URL) != nil {
				return Effect{Event: llm.Notice{Text: "Open this address in a browser: " + q.URL}}
			}
			return Say("Opened in the browser")
		}}
	}}}
}

// confirmSample asks whether the model answers for a server, and has it answer.
func confirmSample(a *App, q *mcp.Question) Effect {
	s := a.Session
	model := s.Model().Name
	text := fmt.Sprintf("MCP server %s wants %s to answer this, at your cost:\n\n%s", q.Server, model, q.SampleText())
	return Effect{Confirm: &Confirm{Text: text, Yes: "Send to " + model, No: "Decline", Left: q.Cancel, Answer: func(yes bool) Effect {
		if e, over := unanswered(q); over {
			return e
		}
		if !yes {
			q.Decline()
			return Effect{}
		}
		return Effect{Async: func(ctx context.Context) Effect {
			ctx, cancel := q.Waiting(ctx)
			defer cancel()
			said, name, err := session.Sample(ctx, s, *q.Sample)
			if e, over := unanswered(q); over {
				return e
			}
			if err != nil {
				q.Cancel()
				return Effect{Err: fmt.Errorf("MCP server %s: %w", q.Server, err)}
			}
			q.AnswerSample(said, name)
			return Say(fmt.Sprintf("%s answered MCP server %s", name, q.Server))
		}}
	}}}
}

func namesOf(tools []llm.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func noTools(a *App) string {
	if len(toolRows(a)) == 0 {
		return "No tools: --tools none"
	}
	return ""
}

// toolTitle returns a tool's name as users read it, SERVER:TOOL for one of an MCP server.
func toolTitle(a *App, name string) string {
	for _, s := range serverStates(a) {
		if tool, ok := strings.CutPrefix(name, mcp.ToolPrefix(s.Name)); ok {
			return s.Name + ":" + tool
		}
	}
	return name
}

func serverStates(a *App) []mcp.State {
	if servers := a.Servers(); servers != nil {
		return servers.States()
	}
	return nil
}

// firstSentence returns the first sentence of what a tool says of itself, for a row of a list.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	sentence, _, _ := strings.Cut(line, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// toolRows lists the tools: those that are offered, with what they take, and the others, with why
// they are not.
func toolRows(a *App) (items []Item) {
	all, offered := session.Tools(a.Session)
	own, kept := session.SettingsOf(a.Session), namesOf(offered)
	persona := session.PersonaOf(a.Session)
	for _, t := range all {
		detail := wordOn
		switch {
		case !own.Offers(t.Name):
			detail = wordOff
		case slices.Contains(kept, t.Name):
		case len(persona.Tools) > 0 && !slices.Contains(persona.Tools, t.Name):
			detail = "not offered: the persona " + persona.Name + " has others"
		case len(kept) == 0:
			detail = "not offered: " + a.Session.Model().Name + " takes no tools from parley"
		default:
			detail = "not offered: the provider searches the web itself"
		}
		detail += fmt.Sprintf(" · %s tokens · %s", format.Tokens(a.Estimate(t.Description)+a.Estimate(string(t.Schema))), firstSentence(t.Description))
		items = append(items, Item{Title: toolTitle(a, t.Name), Detail: sanitize.Line(detail), Value: t.Name})
	}
	if a.LeftTools != nil {
		names, why := a.LeftTools()
		for _, name := range names {
			items = append(items, Item{Title: name, Detail: "not offered: " + why, Value: name, Disabled: true})
		}
	}
	for _, s := range serverStates(a) {
		if s.Status != mcp.StatusReady {
			items = append(items, Item{Title: s.Name + ":", Detail: sanitize.Line(strings.TrimSuffix("MCP server "+string(s.Status)+" · "+s.Reason, " · ")), Value: s.Name, Disabled: true})
		}
	}
	return items
}

// toolItems lists what /tools takes.
func toolItems(a *App) []Item {
	items := []Item{{Title: wordOn, Detail: "All tools", Value: wordOn}, {Title: wordOff, Detail: "No tools", Value: wordOff}}
	own := session.SettingsOf(a.Session)
	for _, row := range toolRows(a) {
		if !row.Disabled {
			word := map[bool]string{true: wordOff, false: wordOn}[own.Offers(row.Value)]
			items = append(items, Item{Title: row.Title + " " + word, Detail: row.Detail, Value: row.Title + " " + word})
		}
	}
	return items
}

// switchTools shows the tools, or turns some on or off.
func switchTools(a *App, arg string) Effect {
	words := strings.Fields(arg)
	switch {
	case len(words) == 0:
		return listTools(a, "")
	case len(words) == 1 && (arg == wordOn || arg == wordOff):
		return putTool(a, "*", arg == wordOn)
	}
	name, err := toolNamed(a, words[0])
	switch {
	case err != nil:
		return Effect{Err: err}
	case len(words) == 1:
		return putTool(a, name, !session.SettingsOf(a.Session).Offers(name))
	case len(words) > 2 || words[1] != wordOn && words[1] != wordOff:
		return Effect{Err: fmt.Errorf("/tools %s: use on or off behind the name", arg)}
	}
	return putTool(a, name, words[1] == wordOn)
}

// listTools shows the tools, first of all the one at; one that is chosen is turned on or off.
func listTools(a *App, at string) Effect {
	rows := toolRows(a)
	for i := range rows {
		rows[i].Current = rows[i].Value == at
	}
	return Effect{List: &List{Title: "Tools that the model is offered", Noun: "tool", Items: rows, Choose: func(i Item, _ string) Effect {
		e := putTool(a, i.Value, !session.SettingsOf(a.Session).Offers(i.Value))
		e.List = listTools(a, i.Value).List
		return e
	}}}
}

// toolNamed returns the name of a tool, or with a * that of all tools of an MCP server.
func toolNamed(a *App, name string) (string, error) {
	var titles []string
	for _, row := range toolRows(a) {
		if !row.Disabled && (row.Title == name || row.Value == name) {
			return row.Value, nil
		}
		if !row.Disabled {
			titles = append(titles, row.Title)
		}
	}
	for _, s := range serverStates(a) {
		if s.Name == strings.TrimSuffix(name, ":") {
			return mcp.ToolPrefix(s.Name) + "*", nil
		}
	}
	if near := catalog.Near(name, titles, 1); len(near) > 0 {
		return "", fmt.Errorf("unknown tool %s: did you mean %s?", name, near[0])
	}
	return "", fmt.Errorf("unknown tool %s: /tools shows them", name)
}

func putTool(a *App, name string, on bool) Effect {
	now, err := session.ChangeSettings(a.Session, func(own *session.Settings) error { own.SetTool(name, on); return nil })
	switch {
	case err != nil:
		return Effect{Err: err}
	case now.Changed == "":
		return Say("No tool changed")
	}
	return Effect{Event: now}
}
