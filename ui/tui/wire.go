package tui

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
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// wireView is what is shown of the wire.
type wireView struct {
	list    *dialog.Picker
	pager   *dialog.Pager
	id      int   // in the pager
	only    []int // the exchanges that are listed; nil: all
	listed  bool  // the pager was opened from the list
	ticking bool
}

type wireTickMsg struct{}

// wires lists the exchanges of this run.
func (m *Model) wires(string) tea.Cmd {
	if m.app.Wire.List == nil || len(m.app.Wire.List()) == 0 {
		return m.say("nothing has gone over the wire yet")
	}
	m.wire.only = nil
	return m.listWire(0)
}

// wireOf opens what went over the wire for the turn of a message.
func (m *Model) wireOf(t transcript.Target) tea.Cmd {
	from, to := m.turnTime(t)
	var ids []int
	if m.app.Wire.List != nil && !from.IsZero() {
		for _, e := range m.app.Wire.List() {
			if !e.Start.Before(from) && (to.IsZero() || e.Start.Before(to)) {
				ids = append(ids, e.ID)
			}
		}
	}
	switch len(ids) {
	case 0:
		return m.say("what went over the wire for this is no longer there: --record FILE keeps what is to come")
	case 1:
		return m.showWire(ids[0], false)
	}
	m.wire.only = ids
	return m.listWire(0)
}

// turnTime is when the turn of a message was held: from when the user's message
// was kept until the next one was; a zero end is not over.
func (m *Model) turnTime(t transcript.Target) (from, to time.Time) {
	begun := false
	for _, n := range m.app.Session.Path() {
		switch {
		case n.Seq == t.User && t.User != 0:
			from, begun = n.At, true
		case begun && n.Role == llm.RoleUser && n.At.After(from):
			return from, n.At
		}
	}
	return from, time.Time{}
}

// listWire opens the list, with one exchange selected.
func (m *Model) listWire(selected int) tea.Cmd {
	m.wire.list = dialog.Pick("", "Wire", m.wireItems(selected), m.theme)
	m.wire.list.Columns = []dialog.Column{{Name: "status", Left: true}, {Name: "got"}, {Name: "took"}, {Name: "sent"}}
	return tea.Batch(m.choose(m.wire.list, func(p dialog.PickedMsg) tea.Cmd {
		id, _ := strconv.Atoi(p.Value) // there is no exchange 0
		return m.showWire(id, true)
	}), m.wireTick())
}

func (m *Model) wireItems(selected int) []dialog.Item {
	var items []dialog.Item
	for _, e := range m.app.Wire.List() {
		if m.wire.only != nil && !slices.Contains(m.wire.only, e.ID) {
			continue
		}
		items = append(items, dialog.Item{
			Title: e.Start.Local().Format("15:04:05") + "  " + wireName(e),
			Cells: []string{wireStatus(e), format.Size(int(e.Got)), format.Latency(e.Total), format.Size(int(e.Sent))},
			Value: strconv.Itoa(e.ID), Current: e.ID == selected,
		})
	}
	return items
}

// wireName is who was asked; what is no request to a model says so.
func wireName(e app.Exchange) string {
	if e.Method == "GET" && !strings.Contains(e.Name, "/") {
		return e.Name + ", its models"
	}
	return e.Name
}

// wireStatus says how an exchange stands.
func wireStatus(e app.Exchange) string {
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

// wireTick keeps what is open up to date, once a second.
func (m *Model) wireTick() tea.Cmd {
	if m.wire.ticking {
		return nil
	}
	m.wire.ticking = true
	return m.later(time.Second, wireTickMsg{})
}

func (m *Model) wireTicked() tea.Cmd {
	m.wire.ticking = false
	switch {
	case m.dialog == nil:
		return nil
	case m.dialog == m.wire.list:
		m.wire.list.SetItems(m.wireItems(0))
	case m.dialog == m.wire.pager:
		e, ok := m.app.Wire.Get(m.wire.id)
		if !ok {
			return nil
		}
		m.wire.pager.SetParts(wireStatus(e), wireParts(e))
		if e.Over {
			return nil // it does not change any more
		}
	default:
		return nil
	}
	m.layout()
	return m.wireTick()
}

// showWire opens one exchange.
func (m *Model) showWire(id int, listed bool) tea.Cmd {
	if m.app.Wire.Get == nil {
		return nil
	}
	e, ok := m.app.Wire.Get(id)
	if !ok {
		return m.say("this exchange is no longer there: --record FILE keeps what is to come")
	}
	m.wire.id, m.wire.listed = id, listed
	m.wire.pager = dialog.Pages(e.Name, nil, m.theme)
	m.wire.pager.SetParts(wireStatus(e), wireParts(e))
	m.wire.pager.Actions = []dialog.PageKey{{Key: "c", Help: "curl"}, {Key: "s", Help: "save"}}
	if e.Over {
		return m.open(m.wire.pager)
	}
	return tea.Batch(m.open(m.wire.pager), m.wireTick())
}

// leaveWire goes back from an exchange to the list it was opened from.
func (m *Model) leaveWire() (tea.Cmd, bool) {
	if m.wire.pager == nil || m.dialog != m.wire.pager || !m.wire.listed {
		return nil, false
	}
	return m.listWire(m.wire.id), true
}

// wired takes messages about the wire, and reports whether msg is one.
func (m *Model) wired(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case transcript.WireMsg:
		return m.wireOf(msg.Target), true
	case wireTickMsg:
		return m.wireTicked(), true
	case dialog.PageCopy:
		return m.copy(msg.Text, msg.What), true
	case dialog.PageAction:
		return m.wireAct(msg), true
	}
	return nil, false
}

// wireAct does what a key of the inspector asks for.
func (m *Model) wireAct(msg dialog.PageAction) tea.Cmd {
	e, ok := m.app.Wire.Get(m.wire.id)
	if !ok || m.dialog != m.wire.pager {
		return m.say("this exchange is no longer there")
	}
	if msg.Key == "s" {
		folder, short := m.app.Folder, m.app.Short
		return func() tea.Msg {
			path, err := saveWire(folder, e)
			return effectMsg{Toast: "wrote " + short(path), Err: err}
		}
	}
	if e.Curl == "" {
		return m.say("the request was too long to be kept whole")
	}
	return m.copy(e.Curl, "curl command")
}

// saveWire writes an exchange to a new file in directory, which nobody else may
// read.
func saveWire(folder string, e app.Exchange) (string, error) {
	path := filepath.Join(folder, fmt.Sprintf("wire-%s-%d.txt", e.Start.Local().Format("20060102-150405"), e.ID))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("%s is there already", path)
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range wireParts(e) {
		fmt.Fprintf(&text, "── %s %s\n\n%s\n\n", part.Title, part.Note, strings.TrimRight(part.Source, "\n"))
	}
	_, err = f.WriteString(text.String())
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}
