// Package sources lets the user open the sources of answers in the browser.
package sources

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/blocks"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands, app.Command{
		Name: "sources", Aliases: []string{"citations"}, Group: app.Messages, Arg: "NUMBER", Help: "Sources of the last answer: open one in the browser",
		Unavailable: f.none, Args: func() []app.Item { return items(f.last()) }, Run: f.run,
	})
	a.ChooseSource = f.choose
}

// A flow opens sources of the open conversation.
type flow struct{ app *app.App }

// choose lists the sources of the answer seq, to open one.
func (f flow) choose(seq int) app.Effect {
	n, err := f.app.Session.At(seq)
	if err != nil || len(blocks.Sources(n.Message)) == 0 {
		return app.Toast("No sources here")
	}
	return f.ask(blocks.Sources(n.Message))
}

// last returns the sources of the last answer that has any.
func (f flow) last() []llm.Part {
	for _, n := range slices.Backward(f.app.Session.Path()) {
		if list := blocks.Sources(n.Message); len(list) > 0 {
			return list
		}
	}
	return nil
}

func (f flow) none() string {
	if len(f.last()) == 0 {
		return "No sources yet"
	}
	return ""
}

func items(list []llm.Part) []app.Item {
	items := make([]app.Item, len(list))
	for i, p := range list {
		text := blocks.SourceText(blocks.Change{Part: &p, Count: i + 1})
		items[i] = app.Item{Title: text, Value: strconv.Itoa(i + 1), Disabled: !isOpenable(p.URL)}
	}
	return items
}

// isOpenable reports whether address is a web address without invisible characters.
func isOpenable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && sanitize.Line(address) == address
}

// run opens the source with a number of the last answer that has any, or lists them.
func (f flow) run(arg string) app.Effect {
	list := f.last()
	if arg == "" {
		return f.ask(list)
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > len(list) {
		return app.Refuse("no source %q: use a number from 1 to %d", arg, len(list))
	}
	return f.confirm(list[n-1])
}

func (f flow) ask(list []llm.Part) app.Effect {
	return app.Choose("Sources", "source", items(list), func(number string) app.Effect {
		n, _ := strconv.Atoi(number)
		return f.confirm(list[n-1])
	})
}

// confirm shows the complete address and opens it if the user agrees.
func (f flow) confirm(p llm.Part) app.Effect {
	open := f.app.Machine.OpenURL
	switch {
	case !isOpenable(p.URL):
		return app.Refuse("not an address of the web: %s", sanitize.Line(p.URL))
	case open == nil:
		return app.Toast(p.URL)
	}
	return &app.Confirm{Text: "Open in the browser: " + p.URL, Yes: "Open", No: "Cancel", Accept: func() app.Effect {
		return app.Do(func(ctx context.Context) error { return open(ctx, p.URL) }, "Opened in the browser")
	}}
}
