// Package inspector shows the communication with providers: requests and answers, unchanged.
package inspector

import (
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/exchange"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A Source provides the exchanges of this run.
type Source interface {
	List() []exchange.Exchange                  // newest first, without headers and bodies
	Get(id int) (exchange.Exchange, bool)       // false if it is no longer in memory
	OfTurn(user int) []int                      // ids of the turn that began with the user's message with this Seq
	Save(e exchange.Exchange) (f func() string) // f writes e to a file, on any goroutine, and returns a message
}

// An inspector lists the exchanges of this run, and shows one of them.
type inspector struct {
	*common.Screen
	dialog.Host
	source  Source
	list    *dialog.Picker
	pager   *dialog.Pager
	id      int   // exchange in the pager
	only    []int // ids of the listed exchanges; nil for all
	ticking bool
}

type tickMsg struct{}

// New returns the part of the screen that shows exchanges, in dialogs of h.
func New(s *common.Screen, h dialog.Host, source Source) []common.Part {
	return []common.Part{&inspector{Screen: s, Host: h, source: source}}
}

// Update handles messages about exchanges, and reports whether msg is one.
func (i *inspector) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.OpenMsg:
		if msg.Panel != "wire" {
			return nil, false
		}
		return i.open(msg.Query), true
	case tickMsg:
		return i.ticked(), true
	}
	return nil, false
}

// open lists the exchanges of this run, or of one turn: turn is the Seq of the user's message that
// began it, "" for all. If a turn has a single exchange, open shows it immediately.
func (i *inspector) open(turn string) tea.Cmd {
	i.only = nil
	if turn == "" {
		return i.openList(0)
	}
	user, _ := strconv.Atoi(turn)
	switch i.only = i.source.OfTurn(user); len(i.only) {
	case 0:
		return i.ShowToast(exchange.Gone)
	case 1:
		return i.show(i.only[0], false)
	}
	return i.openList(0)
}

// openList opens the list, with one exchange selected.
func (i *inspector) openList(selected int) tea.Cmd {
	i.list = dialog.Pick("HTTP inspector", i.items(selected), i.Theme)
	i.list.Columns = []dialog.Column{{Name: "status", Left: true}, {Name: "got"}, {Name: "took"}, {Name: "sent"}}
	return tea.Batch(i.Choose(i.list, func(p dialog.Choice) tea.Cmd {
		id, _ := strconv.Atoi(p.Value) // there is no exchange 0
		return i.show(id, true)
	}), i.tick())
}

func (i *inspector) items(selected int) []dialog.Item {
	var items []dialog.Item
	for _, e := range i.source.List() {
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

// tick updates the open dialog once a second.
func (i *inspector) tick() tea.Cmd {
	if i.ticking {
		return nil
	}
	i.ticking = true
	return i.Tick(time.Second, tickMsg{})
}

func (i *inspector) ticked() tea.Cmd {
	i.ticking = false
	switch {
	case i.Current() == nil:
		return nil
	case i.Current() == i.list:
		i.list.SetItems(i.items(0))
	case i.Current() == i.pager:
		e, ok := i.source.Get(i.id)
		if !ok {
			return nil
		}
		i.pager.SetParts(e.State(), e.Parts())
		if e.Done {
			return nil // it no longer changes
		}
	default:
		return nil
	}
	return i.tick()
}

// show opens an exchange. Closing it returns to the list if listed is set.
func (i *inspector) show(id int, listed bool) tea.Cmd {
	e, ok := i.source.Get(id)
	if !ok {
		return i.ShowToast(exchange.Gone)
	}
	i.id, i.pager = id, dialog.Pages(e.Name, nil, i.Theme)
	if listed {
		i.pager.Back = func() tea.Cmd { return i.openList(id) }
	}
	i.pager.SetParts(e.State(), e.Parts())
	i.pager.Actions = []dialog.PageKey{{Key: "c", Help: "curl", Do: i.copyCurl}, {Key: "s", Help: "save", Do: i.save}}
	if e.Done {
		return i.Open(i.pager)
	}
	return tea.Batch(i.Open(i.pager), i.tick())
}

// copyCurl copies the exchange as a curl command.
func (i *inspector) copyCurl() tea.Cmd {
	switch e, ok := i.source.Get(i.id); {
	case !ok:
		return i.ShowToast(exchange.Gone)
	case e.Curl == "":
		return i.ShowToast(exchange.CurlTooLong)
	default:
		return i.Copy(e.Curl, "curl command")
	}
}

// save writes the exchange to a file.
func (i *inspector) save() tea.Cmd {
	e, ok := i.source.Get(i.id)
	if !ok {
		return i.ShowToast(exchange.Gone)
	}
	save := i.source.Save(e)
	return func() tea.Msg { return common.ToastMsg(save()) }
}
