// Package panels registers all panels: optional parts of the screen, each in a package beside this one.
package panels

import (
	"slices"

	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/exchange"
	"parley/ui/tui/beside"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/compare"
	"parley/ui/tui/features"
	"parley/ui/tui/inspector"
	"parley/ui/tui/panel"
	"parley/ui/tui/sidebar"
)

// New returns all panels. The screen works without any of them.
func New(d *panel.Deps, c *chat.Chat) []common.Part {
	return slices.Concat(
		inspector.New(d.Screen, d.Host, wire{app: d.App}),
		features.New(d),
		compare.New(d, c),
		sidebar.New(d),
		beside.New(d),
	)
}

// wire is the data source of the inspector.
type wire struct{ app *app.App }

func (w wire) List() []exchange.Exchange            { return w.app.Wire.List() }
func (w wire) Get(id int) (exchange.Exchange, bool) { return w.app.Wire.Get(id) }
func (w wire) OfTurn(user int) []int                { return w.app.Wire.OfTurn(w.app.Session.Path(), user) }

// Save returns a function that writes an exchange to a file and returns a message. It may run on
// another goroutine.
func (w wire) Save(e exchange.Exchange) func() string {
	o := w.app.Options
	return func() string {
		path, err := o.SaveExchange(e, "")
		if err != nil {
			return wording.Refusal(err)
		}
		return "Wrote " + o.AbbrevPath(path)
	}
}
