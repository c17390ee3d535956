package undo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/session"
	"parley/tools/diff"
	"parley/tools/sanitize"
	store "parley/tools/undo"
	"parley/tools/undo/changes"
	"parley/ui/app"
	"parley/ui/format"
)

// A changeSet is the files that the open conversation changed, or one turn of it.
type changeSet struct {
	flow
	history store.History
	turn    string // the prompt of the turn; "" for the conversation
	from    int    // first record
	files   []changes.File
	notes   []string // what the files do not show
}

func (f flow) nothingChanged() string {
	if len(fileHistory(f.app.Session).Records()) == 0 {
		return "No files changed by this conversation yet"
	}
	return ""
}

// changes lists the changed files; or, by its argument, those of turns, a patch of all of them, or what undo does.
func (f flow) changes(arg string) app.Effect {
	verb, name, _ := strings.Cut(arg, " ")
	if verb == "turns" {
		return f.turns()
	}
	return f.compare(func(s *changeSet) app.Effect {
		at := slices.IndexFunc(s.files, func(c changes.File) bool { return displayName(c.Path) == name })
		switch {
		case arg == "":
			return s.list()
		case verb == "patch" && name == "":
			return s.page("Patch", s.patch(s.files))
		case verb == "undo" && at >= 0:
			return s.undo(s.files[at])
		}
		if at = slices.IndexFunc(s.files, func(c changes.File) bool { return displayName(c.Path) == arg }); at >= 0 {
			return s.show(strconv.Itoa(at))
		}
		var names []string
		for _, c := range s.files {
			names = append(names, displayName(c.Path))
		}
		hint := "/diff lists them"
		if near := similar.Name(arg, names); near != "" {
			hint = "did you mean /diff " + near + "?"
		}
		return app.Refuse("no changed file %q: %s", sanitize.Line(arg), hint)
	})
}

func (f flow) changeArgs() []app.Item {
	return []app.Item{
		{Title: "turns", Detail: "what each turn changed", Value: "turns", Exact: true}, {Title: "patch", Detail: "of all files, for git apply", Value: "patch", Exact: true},
		{Title: "undo FILE", Detail: "restore one file", Value: "undo", Exact: true},
	}
}

// compare compares the files of the conversation with their versions before it.
func (f flow) compare(then func(*changeSet) app.Effect) app.Effect {
	s := &changeSet{flow: f, history: fileHistory(f.app.Session), from: 1}
	return app.Prepare(func(context.Context) func() app.Effect {
		files, plan, err := changes.Of(s.history)
		return func() app.Effect {
			if err != nil {
				return app.Fail(err)
			}
			if s.files = files; plan.Partial != "" {
				s.notes = append(s.notes, "more may have changed: "+plan.Partial)
			}
			for _, u := range plan.Uncovered {
				s.notes = append(s.notes, displayName(u.Path)+" is not covered: "+u.Why)
			}
			if len(files) == 0 {
				return app.Toast(strings.Join(append([]string{"No file differs from before this conversation"}, s.notes...), " · "))
			}
			return then(s)
		}
	})
}

// changedFiles is App.Files.Count. It stores the sum for lists of conversations.
func (f flow) changedFiles(of *session.Session, n int, known app.FileChanges) app.FileChanges {
	h := fileHistory(of)
	is := app.FileChanges{Records: len(h.Records())}
	if is.Records == known.Records {
		return known
	}
	const most = 200 // files of a sum
	files, all := changes.First(h, most)
	is.All = all
	added, removed := 0, 0
	for _, c := range files {
		if added, removed = added+c.Added, removed+c.Removed; len(is.First) == n {
			continue
		}
		row := app.Item{Title: displayName(c.Path), Detail: c.Note}
		if c.Added+c.Removed > 0 {
			row.Cells = []string{fmt.Sprintf("+%d", c.Added), fmt.Sprintf("−%d", c.Removed)}
		}
		is.First = append(is.First, row)
	}
	sum := ""
	if all <= most && added+removed > 0 {
		sum = fmt.Sprintf("+%d −%d", added, removed)
	}
	if !f.app.Ephemeral {
		_ = f.app.Library.Set(app.ChangesKey(of.ID()), sum) // without it lists show no sum
	}
	return is
}

// list shows the files, with what can be done with each.
func (s *changeSet) list() app.Effect {
	added, removed := 0, 0
	items := make([]app.Item, len(s.files))
	for i, c := range s.files {
		added, removed = added+c.Added, removed+c.Removed
		cells := s.cells(c)
		parts := []string{cells[0], strings.TrimSpace(cells[1] + " " + cells[2]), cells[3], cells[4]}
		detail := format.Join(" · ", parts...)
		items[i] = app.Item{Title: displayName(c.Path), Detail: detail, Cells: cells, Value: strconv.Itoa(i)}
	}
	title := "Changes"
	if s.turn != "" {
		title += " of \"" + s.turn + "\""
	}
	l := app.Choose(fmt.Sprintf("%s · %s · +%d −%d", title, format.Plural(len(items), "file"), added, removed), "file", items, s.show)
	l.Columns = []app.Column{{}, {Name: "lines", Figures: true}, {Figures: true}, {Figures: true}, {Name: "last", Figures: true}}
	l.Preview = func(value string) string {
		c := s.at(value)
		return c.Diff(s.history)
	}
	l.Actions = append(s.actions(), app.Action{Key: "t", Help: "by turn", Do: func(string) app.Effect { return s.turns() }})
	return l
}

// actions returns what can be done with a file.
func (s *changeSet) actions() []app.Action {
	return []app.Action{
		{Key: "u", Help: "undo this file", Do: func(value string) app.Effect { return s.undo(s.at(value)) }},
		{Key: "c", Help: "copy patch", Copy: func(value string) (text, as string) {
			c := s.at(value)
			return c.Diff(s.history), "patch of " + displayName(c.Path)
		}},
	}
}

func (s *changeSet) at(value string) changes.File {
	n, _ := strconv.Atoi(value)
	return s.files[n]
}

// cells describes a change in columns: what is special, lines, calls, and the time of the last one.
func (s *changeSet) cells(c changes.File) []string {
	cells := []string{format.Join(" · ", c.Note, c.ConfirmReason, c.Blocked), "", "", "", ""}
	if c.Added+c.Removed > 0 {
		cells[1], cells[2] = fmt.Sprintf("+%d", c.Added), fmt.Sprintf("−%d", c.Removed)
	}
	if c.Calls > 0 {
		cells[3], cells[4] = format.Plural(c.Calls, "call"), format.Clock(c.At, s.app.Now())
	}
	return cells
}

// show opens the whole diff of a file. Closing it returns to the list.
func (s *changeSet) show(value string) app.Effect {
	c := s.at(value)
	return app.Prepare(func(context.Context) func() app.Effect {
		patch := c.Diff(s.history)
		return func() app.Effect { return s.showPatch(value, patch) }
	})
}

func (s *changeSet) showPatch(value, patch string) app.Effect {
	p := s.page(displayName(s.at(value).Path), patch)
	for _, a := range s.actions() {
		of := app.Action{Key: a.Key, Help: a.Help, Do: func(string) app.Effect { return a.Do(value) }}
		if a.Copy != nil {
			of.Copy = func(string) (string, string) { return a.Copy(value) }
		}
		p.Actions = append(p.Actions, of)
	}
	p.Back = s.list()
	return p
}

// page shows a patch.
func (s *changeSet) page(title, patch string) app.Page {
	part := format.Part{Title: title, Source: patch, Verbatim: true, Patch: true}
	for l := range diff.Lines(patch) {
		line := format.Line{Text: l.Raw}
		if l.Kind == diff.Added || l.Kind == diff.Removed {
			line = format.Line{Sign: string(rune(l.Kind)), Text: l.Text()}
		}
		part.Lines = append(part.Lines, line)
	}
	return app.Page{Title: "Changes", Parts: []format.Part{part}}
}

// maxPatch is the greatest size of a patch of several files, in bytes.
const maxPatch = 8 << 20

// patch returns the diffs of files, and says how many it leaves out.
func (s *changeSet) patch(files []changes.File) string {
	var b strings.Builder
	for i, c := range files {
		if b.Len() > maxPatch {
			fmt.Fprintf(&b, "… %s: parley sessions changes --patch %s\n", format.Plural(len(files)-i, "more file"), s.app.Session.ID())
			break
		}
		b.WriteString(c.Diff(s.history))
	}
	return b.String()
}

// undo offers to restore a file to its state before the changes.
func (s *changeSet) undo(c changes.File) app.Effect {
	if busy := s.app.BusyText(); busy != "" {
		return app.Toast(busy)
	}
	to := "before this conversation"
	if s.turn != "" {
		to = "before \"" + s.turn + "\""
	}
	r := &fileRestore{app: s.app, of: s.app.Session, to: to, seq: s.app.Session.Head(), only: c.Path}
	return r.show(s.from)
}

// turns lists the turns that changed files, the latest first.
func (f flow) turns() app.Effect {
	s := f.app.Session
	history := fileHistory(s)
	var turns []*turnChanges
	for _, r := range history.Records() {
		prompt, ok := f.promptOf(r.Seq)
		if r.Restore || !ok {
			continue
		}
		if len(turns) == 0 || turns[len(turns)-1].seq != prompt.Seq {
			turns = append(turns, &turnChanges{seq: prompt.Seq, title: app.MessageLine(prompt.Message), at: prompt.At})
		}
		t := turns[len(turns)-1]
		t.records = append(t.records, r)
	}
	if len(turns) == 0 {
		return app.Toast("No turn of this branch changed files")
	}
	var items []app.Item
	for i, t := range slices.Backward(turns) {
		n, _ := store.CountSince(t.records, t.records[0].N)
		items = append(items, app.Item{Title: t.title, Detail: format.Plural(n, "file") + " · " + format.Clock(t.at, f.app.Now()), Value: strconv.Itoa(i)})
	}
	return app.Choose("Changes by turn", "turn", items, func(value string) app.Effect {
		n, _ := strconv.Atoi(value)
		t := turns[n]
		return app.Prepare(func(context.Context) func() app.Effect {
			set := &changeSet{flow: f, history: history, turn: t.title, from: t.records[0].N, files: changes.In(history, t.records)}
			return func() app.Effect { return set.list() }
		})
	})
}

// A turnChanges is a turn with the records of its calls.
type turnChanges struct {
	seq     int
	title   string
	at      time.Time
	records []store.Record
}

// promptOf returns the prompt of the turn that a message belongs to.
func (f flow) promptOf(seq int) (prompt session.Node, ok bool) {
	for seq > 0 {
		n, err := f.app.Session.At(seq)
		if err != nil {
			return prompt, false
		}
		if n.Role == llm.RoleUser && !n.Summary {
			return n, true
		}
		seq = n.Parent
	}
	return prompt, false
}
