package app

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

// ChooseSource lists the sources of the answer seq, to open one.
func ChooseSource(a *App, seq int) Effect {
	n, err := a.Session.At(seq)
	if err != nil || len(Sources(n.Message)) == 0 {
		return Toast("No sources here")
	}
	return askSource(a, Sources(n.Message))
}

// Sources returns the sources of an answer in the order of their numbers.
func Sources(m llm.Message) (list []llm.Part) {
	for _, p := range m.Parts {
		if p.Kind == llm.Source {
			list = append(list, p)
		}
	}
	return list
}

// lastSources returns the sources of the last answer that has any.
func lastSources(a *App) []llm.Part {
	for _, n := range slices.Backward(a.Session.Path()) {
		if list := Sources(n.Message); len(list) > 0 {
			return list
		}
	}
	return nil
}

func noSources(a *App) string {
	if len(lastSources(a)) == 0 {
		return "No sources yet"
	}
	return ""
}

func sourceItems(a *App) []Item { return itemsOfSources(lastSources(a)) }

func itemsOfSources(list []llm.Part) []Item {
	items := make([]Item, len(list))
	for i, p := range list {
		text := SourceText(Change{Part: &p, Count: i + 1})
		items[i] = Item{Title: text, Value: strconv.Itoa(i + 1), Disabled: !isOpenableAddress(p.URL)}
	}
	return items
}

// isOpenableAddress reports whether address is a web address without invisible characters.
func isOpenableAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && sanitize.Line(address) == address
}

// openSource opens the nth source of the last answer that has any, or lists them.
func openSource(a *App, arg string) Effect {
	list := lastSources(a)
	if arg == "" {
		return askSource(a, list)
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > len(list) {
		return Refuse("no source %q: use a number from 1 to %d", arg, len(list))
	}
	return confirmSource(a, list[n-1])
}

func askSource(a *App, list []llm.Part) Effect {
	return Choose("Sources", "source", itemsOfSources(list), func(number string) Effect {
		n, _ := strconv.Atoi(number)
		return confirmSource(a, list[n-1])
	})
}

// confirmSource shows the complete address and opens it if the user agrees.
func confirmSource(a *App, p llm.Part) Effect {
	switch {
	case !isOpenableAddress(p.URL):
		return Refuse("not an address of the web: %s", sanitize.Line(p.URL))
	case a.OpenURL == nil:
		return Toast(p.URL)
	}
	return &Confirm{Text: "Open in the browser: " + p.URL, Yes: "Open", No: "Cancel", Accept: func() Effect {
		return Do(func(ctx context.Context) error { return a.OpenURL(ctx, p.URL) }, "Opened in the browser")
	}}
}
