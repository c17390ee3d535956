// Package inspector shows what went over the wire: requests and answers as they were.
package inspector

import (
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// An Inspector lists the exchanges of this run, and shows one of them.
type Inspector struct {
	*common.Screen
	dialog.Host
	App     *app.App
	list    *dialog.Picker
	pager   *dialog.Pager
	id      int   // in the pager
	only    []int // the exchanges that are listed; nil: all
	listed  bool  // the pager was opened from the list
	ticking bool
}

type tickMsg struct{}

// Update takes messages about the wire, and reports whether msg is one.
func (i *Inspector) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case transcript.WireMsg:
		return i.OpenTurn(msg.Target), true
	case tickMsg:
		return i.ticked(), true
	case dialog.PageCopy:
		return i.Copy(msg.Text, msg.What), true
	case dialog.PageAction:
		return i.act(msg), true
	case dialog.ClosedMsg: // an exchange goes back to the list it was opened from
		if i.pager != nil && i.Current() == i.pager && i.listed {
			return i.openList(i.id), true
		}
	}
	return nil, false
}

// OpenAll lists the exchanges of this run.
func (i *Inspector) OpenAll() tea.Cmd {
	i.only = nil
	return i.openList(0)
}

// OpenTurn opens what went over the wire for the turn of a message.
func (i *Inspector) OpenTurn(t transcript.Target) tea.Cmd {
	ids := app.ExchangesOf(i.App, t.User)
	switch len(ids) {
	case 0:
		return i.ShowToast(app.ExchangeGone)
	case 1:
		return i.show(ids[0], false)
	}
	i.only = ids
	return i.openList(0)
}

// openList opens the list, with one exchange selected.
func (i *Inspector) openList(selected int) tea.Cmd {
	i.list = dialog.Pick("HTTP inspector", i.items(selected), i.Theme)
	i.list.Columns = []dialog.Column{{Name: "status", Left: true}, {Name: "got"}, {Name: "took"}, {Name: "sent"}}
	return tea.Batch(i.Choose(i.list, func(p dialog.PickedMsg) tea.Cmd {
		id, _ := strconv.Atoi(p.Value) // there is no exchange 0
		return i.show(id, true)
	}), i.tick())
}

func (i *Inspector) items(selected int) []dialog.Item {
	var items []dialog.Item
	for _, e := range i.App.Wire.List() {
		if i.only != nil && !slices.Contains(i.only, e.ID) {
			continue
		}
		items = append(items, dialog.Item{
			Title: e.Start.Local().Format("15:04:05") + "  " + e.Title(),
			Cells: []string{e.State(), format.Size(int(e.Got)), format.Latency(e.Total), format.Size(int(e.Sent))},
			Value: strconv.Itoa(e.ID), Current: e.ID == selected,
		})
	}
	return items
}

// tick keeps what is open up to date, once a second.
func (i *Inspector) tick() tea.Cmd {
	if i.ticking {
		return nil
	}
	i.ticking = true
	return i.Tick(time.Second, tickMsg{})
}

func (i *Inspector) ticked() tea.Cmd {
	i.ticking = false
	switch {
	case i.Current() == nil:
		return nil
	case i.Current() == i.list:
		i.list.SetItems(i.items(0))
	case i.Current() == i.pager:
		e, ok := i.App.Wire.Get(i.id)
		if !ok {
			return nil
		}
		i.pager.SetParts(e.State(), e.Parts())
		if e.Done {
			return nil // it does not change any more
		}
	default:
		return nil
	}
	return i.tick()
}

// show opens one exchange.
func (i *Inspector) show(id int, listed bool) tea.Cmd {
	if i.App.Wire.Get == nil {
		return nil
	}
	e, ok := i.App.Wire.Get(id)
	if !ok {
		return i.ShowToast(app.ExchangeGone)
	}
	i.id, i.listed = id, listed
	i.pager = dialog.Pages(e.Name, nil, i.Theme)
	i.pager.Back = listed
	i.pager.SetParts(e.State(), e.Parts())
	i.pager.Actions = []dialog.PageKey{{Key: "c", Help: "curl"}, {Key: "s", Help: "save"}}
	if e.Done {
		return i.Open(i.pager)
	}
	return tea.Batch(i.Open(i.pager), i.tick())
}

// act does what a key of the inspector asks for.
func (i *Inspector) act(msg dialog.PageAction) tea.Cmd {
	e, ok := i.App.Wire.Get(i.id)
	if !ok || i.Current() != i.pager {
		return i.ShowToast(app.ExchangeGone)
	}
	if msg.Key == "s" {
		o := i.App.Options
		return func() tea.Msg {
			path, err := o.SaveExchange(e, "")
			if err != nil {
				return app.Failure{Err: err}
			}
			return app.Toast("Wrote " + o.AbbrevPath(path))
		}
	}
	if e.Curl == "" {
		return i.ShowToast(app.CurlTooLong)
	}
	return i.Copy(e.Curl, "curl command")
}
