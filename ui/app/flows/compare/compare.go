// Package compare lets the user send the next prompt to several models.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/session"
	"parley/ui/app"
	"parley/ui/app/candidates"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "compare", Keys: []string{"ctrl+x v"}, Group: app.ModelsGroup, Arg: "--blind --judge MODEL MODEL…", Help: "Compare models side by side", Unavailable: a.BusyText, Run: f.run},
	)
}

type flow struct{ app *app.App }

// run sends the next prompt to the models named in arg; if it names one, also to the session's model. Without an
// argument it turns comparing off, or opens a list to choose from.
func (f flow) run(arg string) app.Effect {
	how, err := parse(arg)
	switch {
	case err != nil:
		return app.Fail(err)
	case arg == "" && len(f.app.Compared.Models) > 0:
		f.app.Compared = app.Compared{}
		return app.Toast("Compare off")
	case len(how.Models) == 0:
		return app.PickModel{Title: "Compare " + f.app.Session.Model().Name + " with", Chosen: func(name string) app.Effect { return f.run(arg + " " + name) }}
	case len(how.Models) == 1:
		how.Models = []string{f.app.Session.Model().Name, how.Models[0]}
	}
	if err := session.CheckCompared(how.Models); err != nil {
		return app.Fail(err)
	}
	for _, name := range append(slices.Clone(how.Models), how.Judge) {
		if name == "" {
			continue
		}
		if _, err := f.app.Models.Open(name); err != nil {
			return app.Fail(err)
		}
	}
	for i, name := range how.Models {
		how.Models[i] = f.app.Models.Resolve(name)
	}
	f.app.Compared = how
	return app.Toast(candidates.Text(f.app))
}

// parse reads "--blind --judge MODEL MODEL…".
func parse(arg string) (how app.Compared, err error) {
	words := strings.Fields(arg)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		judge, is := strings.CutPrefix(word, "--judge")
		switch {
		case word == "--blind":
			how.Blind = true
		case is && judge == "" && len(words) > 0:
			how.Judge, words = words[0], words[1:]
		case is && strings.HasPrefix(judge, "=") && len(judge) > 1:
			how.Judge = judge[1:]
		case is && judge == "":
			return how, errors.New("--judge needs a model")
		case strings.HasPrefix(word, "-"):
			return how, fmt.Errorf("unknown option %s: use --blind or --judge MODEL", word)
		default:
			how.Models = append(how.Models, word)
		}
	}
	return how, nil
}
