package config

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/similar"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// statusPath is the setting with the words of the status line.
var statusPath = []string{"ui", "status"}

// leftWords is how many of the words stand on the left of the status line.
const leftWords = 6

// noStatusLine returns why the status line cannot be changed; "" if it can.
func (f flow) noStatusLine() string {
	if f.app.FrontEnd.StatusLine == nil {
		return "There is no status line here"
	}
	return f.unavailable()
}

// statusLine lists the words of the status line; or, by its argument, shows or hides one, moves it, or takes back all
// changes.
func (f flow) statusLine(arg string) app.Effect {
	s := f.read()
	_, of := s.find(strings.Join(statusPath, "."))
	if s.err != nil || of == nil {
		return app.Fail(s.err)
	}
	known := f.words(of)
	shown := f.statusWords(s, known)
	verb, word, _ := strings.Cut(arg, " ")
	if verb != "left" && verb != "right" {
		verb, word = "", arg
	}
	at, side := slices.Index(shown, word), slices.Index(known, word) < leftWords
	beside := func(step int) bool {
		for i := at + step; at >= 0 && i >= 0 && i < len(shown); i += step {
			if slices.Index(known, shown[i]) < leftWords == side {
				shown[at], shown[i] = shown[i], shown[at]
				return true
			}
		}
		return false
	}
	value := byDefault
	switch {
	case word == "":
		return f.statusList(shown, known, word)
	case word == byDefault && lookup(s.values, statusPath) == nil:
		return app.Toast("The status line already has its default")
	case word == byDefault:
	case !slices.Contains(known, word):
		hint := "use " + strings.Join(known, ", ")
		if near := similar.Name(word, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return app.Refuse("the status line has no %q: %s", sanitize.Line(word), hint)
	case verb == "left" && !beside(-1), verb == "right" && !beside(+1):
		return f.statusList(shown, known, word)
	case verb == "" && at >= 0:
		shown = slices.Delete(shown, at, at+1)
	case verb == "":
		shown = append(shown, word)
	}
	if word != byDefault {
		value = `["` + strings.Join(shown, `", "`) + `"]`
		if len(shown) == 0 {
			value = "[]"
		}
	}
	done, err := f.change(statusPath, of, value)
	if err != nil {
		return app.Fail(err)
	}
	done.said = "Status line changed · /settings undo takes it back"
	return app.Then{f.changed(statusPath, done), f.statusList(f.statusWords(f.read(), known), known, word)}
}

// statusWords returns the words that the status line shows, in their order. By default the tokens stand in for a context
// share that is not known.
func (f flow) statusWords(s state, known []string) []string {
	v := lookup(s.values, statusPath)
	if v == nil {
		return slices.DeleteFunc(slices.Clone(known), func(word string) bool {
			return word == "speed" || word == "tokens" && f.app.Session.Model().Context > 0
		})
	}
	return strings.FieldsFunc(valueText(statusPath, v), func(r rune) bool { return r == ',' || r == ' ' })
}

// statusList lists the words, those that are shown in their order, with the line as it is.
func (f flow) statusList(shown, known []string, selected string) app.Effect {
	line := f.app.FrontEnd.StatusLine(shown)
	var rows []app.Item
	for i, group := range []string{"Left", "Right", "Not shown"} {
		for _, word := range append(slices.Clone(shown), known...) {
			on, left := slices.Contains(shown, word), slices.Index(known, word) < leftWords
			if (i == 2) == on || on && (i == 0) != left || slices.ContainsFunc(rows, func(r app.Item) bool { return r.Value == word }) {
				continue
			}
			rows = append(rows, app.Item{Title: word, Value: word, Group: group, About: line})
		}
	}
	do := func(verb string) func(string) app.Effect {
		return func(word string) app.Effect { return f.statusLine(strings.TrimSpace(verb + " " + word)) }
	}
	return &app.List{Title: "Status line · enter shows or hides a word", Noun: "word", Items: rows, Selected: selected,
		Choose: f.statusLine,
		Actions: []app.Action{
			{Key: "<", Help: "move left", Do: do("left")}, {Key: ">", Help: "move right", Do: do("right")},
			{Key: "d", Help: "default", Do: func(string) app.Effect { return f.statusLine(byDefault) }},
		}}
}

// statusArguments lists the arguments of /statusline.
func (f flow) statusArguments() (items []app.Item) {
	if f.noStatusLine() != "" {
		return nil
	}
	return []app.Item{
		{Title: "WORD", Detail: "show or hide it", Value: "", Exact: true}, {Title: "left WORD", Detail: "move it", Value: "left", Exact: true},
		{Title: "right WORD", Detail: "move it", Value: "right", Exact: true}, {Title: byDefault, Detail: "reset it", Value: byDefault},
	}
}
