// Package inspector shows what went over the wire: requests and answers as they were.
package inspector

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
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
	if i.App.Wire.List == nil || len(i.App.Wire.List()) == 0 {
		return i.Say("No requests yet")
	}
	i.only = nil
	return i.openList(0)
}

// OpenTurn opens what went over the wire for the turn of a message.
func (i *Inspector) OpenTurn(t transcript.Target) tea.Cmd {
	from, to := i.turnTime(t)
	var ids []int
	if i.App.Wire.List != nil && !from.IsZero() {
		for _, e := range i.App.Wire.List() {
			if !e.Start.Before(from) && (to.IsZero() || e.Start.Before(to)) {
				ids = append(ids, e.ID)
			}
		}
	}
	switch len(ids) {
	case 0:
		return i.Say("This exchange is no longer in memory. Start with --record FILE to keep them")
	case 1:
		return i.show(ids[0], false)
	}
	i.only = ids
	return i.openList(0)
}

// turnTime returns when the turn of a message was held: from when the user's message
// was kept until the next one was; a zero end is not over.
func (i *Inspector) turnTime(t transcript.Target) (from, to time.Time) {
	begun := false
	for _, n := range i.App.Session.Path() {
		switch {
		case n.Seq == t.User && t.User != 0:
			from, begun = n.At, true
		case begun && n.Role == llm.RoleUser && n.At.After(from):
			return from, n.At
		}
	}
	return from, time.Time{}
}

// openList opens the list, with one exchange selected.
func (i *Inspector) openList(selected int) tea.Cmd {
	i.list = dialog.Pick("Wire", i.items(selected), i.Theme)
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
			Title: e.Start.Local().Format("15:04:05") + "  " + exchangeName(e),
			Cells: []string{exchangeStatus(e), format.Size(int(e.Got)), format.Latency(e.Total), format.Size(int(e.Sent))},
			Value: strconv.Itoa(e.ID), Current: e.ID == selected,
		})
	}
	return items
}

// exchangeName returns who was asked; what is no request to a model says so.
func exchangeName(e app.Exchange) string {
	if e.Method == "GET" && !strings.Contains(e.Name, "/") {
		return e.Name + ": list models"
	}
	return e.Name
}

// exchangeStatus says how an exchange stands.
func exchangeStatus(e app.Exchange) string {
	said := ""
	if e.Headers > 0 && (e.Method != "RUN" || e.Over) {
		said = strconv.Itoa(e.Status)
	}
	switch {
	case !e.Over:
		said += " running"
	case e.Error != "":
		said += " " + strings.ReplaceAll(e.Error, "_", " ")
	}
	return strings.TrimSpace(said)
}

// tick keeps what is open up to date, once a second.
func (i *Inspector) tick() tea.Cmd {
	if i.ticking {
		return nil
	}
	i.ticking = true
	return i.Later(time.Second, tickMsg{})
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
		i.pager.SetParts(exchangeStatus(e), exchangeParts(e))
		if e.Over {
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
		return i.Say("This exchange is no longer in memory. Start with --record FILE to keep them")
	}
	i.id, i.listed = id, listed
	i.pager = dialog.Pages(e.Name, nil, i.Theme)
	i.pager.SetParts(exchangeStatus(e), exchangeParts(e))
	i.pager.Actions = []dialog.PageKey{{Key: "c", Help: "curl"}, {Key: "s", Help: "save"}}
	if e.Over {
		return i.Open(i.pager)
	}
	return tea.Batch(i.Open(i.pager), i.tick())
}

// act does what a key of the inspector asks for.
func (i *Inspector) act(msg dialog.PageAction) tea.Cmd {
	e, ok := i.App.Wire.Get(i.id)
	if !ok || i.Current() != i.pager {
		return i.Say("This exchange is no longer in memory")
	}
	if msg.Key == "s" {
		folder, short := i.App.Folder, i.App.Short
		return func() tea.Msg {
			path, err := saveExchange(folder, e)
			return app.Effect{Toast: "Wrote " + short(path), Err: err}
		}
	}
	if e.Curl == "" {
		return i.Say("The request was too long to be kept in full")
	}
	return i.Copy(e.Curl, "curl command")
}

// saveExchange writes an exchange to a new file in directory, which nobody else may
// read.
func saveExchange(folder string, e app.Exchange) (string, error) {
	path := filepath.Join(folder, fmt.Sprintf("wire-%s-%d.txt", e.Start.Local().Format("20060102-150405"), e.ID))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("%s already exists", path)
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range exchangeParts(e) {
		fmt.Fprintf(&text, "── %s %s\n\n%s\n\n", part.Title, part.Note, strings.TrimRight(part.Source, "\n"))
	}
	_, err = f.WriteString(text.String())
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}
