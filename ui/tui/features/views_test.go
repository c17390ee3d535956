package features

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panel"
)

var update = flag.Bool("update", false, "write the first screens into testdata/welcome.txt")

// A desk has what views need, with a stopped clock, and records what they ask for.
type desk struct {
	*panel.Deps
	over *overlay.Overlay
	now  time.Time
	did  []string // what the views asked for
}

func newDesk(t *testing.T, model string) *desk {
	t.Helper()
	d := &desk{now: time.Unix(1e9, 0)}
	clock := func() time.Time { return d.now }
	s := common.New(common.DefaultConfig(), func(string) string { return "" }, clock)
	s.KeyOf = func(action string) string { return "ctrl+" + action[:1] }
	s.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	a := app.New(app.Options{
		Session: session.New(session.Options{Model: llm.Endpoint{Name: model, Context: 1000}}), Now: clock, Workspace: "~/work", Directory: "/work",
	})
	d.over = overlay.New(s, "")
	d.Deps = &panel.Deps{
		Screen: s, Host: d.over, App: a,
		Perform: func(e app.Effect) tea.Cmd { return d.do(fmt.Sprintf("%T", e)) },
		Run:     func(command string) tea.Cmd { return d.do("run " + command) },
		Prompt:  func(text string) tea.Cmd { return d.do("send " + text) },
		Show:    func(seq int) { d.do(fmt.Sprint("show ", seq)) },
	}
	return d
}

func (d *desk) do(what string) tea.Cmd {
	d.did = append(d.did, what)
	return nil
}

// done returns what the views asked for since the last call.
func (d *desk) done() string {
	did := strings.Join(d.did, ", ")
	d.did = nil
	return did
}

// dialog returns the open dialog as text.
func (d *desk) dialog() string {
	if d.over.Dialog == nil {
		return ""
	}
	d.over.Dialog.SetSize(100, 30)
	return ansi.Strip(d.over.Dialog.View())
}

// press passes keys to the open dialog.
func (d *desk) press(keys ...rune) {
	for _, k := range keys {
		if d.over.Dialog != nil {
			d.over.Dialog.Update(tea.KeyPressMsg{Code: k, Text: map[bool]string{true: string(k)}[k >= ' ' && k < 0x7f]})
		}
	}
}

// run runs a command and returns its messages.
func run(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			all = append(all, run(c)...)
		}
		return all
	}
	return append(all, msg)
}

var (
	recentRows = []app.Item{
		{Title: "Refactor the store", Detail: "12 min ago", Cells: []string{"+24", "−9"}, Value: "s1"},
		{Title: "Why does the build fail on a clean machine when the cache is empty?", Detail: "on 12 October", Value: "s2"},
		{Title: "Hello", Detail: "on 3 October", Value: "s3"},
	}
	tries = []string{"Explain how this project is built and where to start reading", "Run the tests"}
)

// testdata/welcome.txt holds the first screen at several sizes and in several states, each after a line that names it.
func TestWelcomeView(t *testing.T) {
	const path, mark = "testdata/welcome.txt", "== "
	var got strings.Builder
	for _, tt := range []struct {
		name          string
		width, height int
		change        func(*desk, *Welcome)
	}{
		{"wide", 120, 24, nil}, {"letters", 60, 19, nil}, {"too narrow for letters", 59, 19, nil}, {"least height for letters", 60, 16, nil}, {"too low for letters", 60, 15, nil},
		{"just airy", 80, 14, nil}, {"not airy", 80, 13, nil}, {"still all", 80, 10, nil}, {"one section", 80, 9, nil}, {"no sections", 80, 5, nil}, {"only keys", 80, 2, nil}, {"narrow", 24, 12, nil}, {"one cell", 1, 3, nil},
		{"selected", 80, 12, func(_ *desk, w *Welcome) { w.at = 1 }},
		{"selected in the second section", 80, 12, func(_ *desk, w *Welcome) { w.at = 4 }},
		{"a little room", 40, 12, nil}, {"room for changed lines", 45, 12, nil}, {"no room for changed lines", 44, 12, nil},
		{"nothing found", 80, 8, func(_ *desk, w *Welcome) { w.found = suggestions{} }},
		{"nothing found, narrow", 30, 8, func(_ *desk, w *Welcome) { w.found = suggestions{} }},
		{"a dialog is open", 80, 12, func(d *desk, w *Welcome) { d.Open(dialog.Pick("Theme", nil, d.Theme)) }},
		{"branch, effort and version", 80, 12, func(d *desk, w *Welcome) {
			d.Branch, d.App.FirstScreen.Version = "main", "1.2.0"
			d.App.Session.Next.SetEffort("high")
		}},
		{"the same in letters", 80, 20, func(d *desk, w *Welcome) {
			d.Branch, d.App.FirstScreen.Version = "main", "1.2.0"
			d.App.Session.Next.SetEffort("high")
		}},
		{"a notice", 40, 16, func(d *desk, w *Welcome) {
			d.App.FirstScreen.Notice = "Prices are of 2026-11-20: parley models --update fetches new ones"
		}},
		{"no key", 80, 14, func(d *desk, w *Welcome) { d.App.FirstScreen.NoKey = true }},
	} {
		model := "fake/one"
		if tt.name == "no key" {
			model = "demo/parley"
		}
		if tt.name == "narrow" {
			model = "one"
		}
		d := newDesk(t, model)
		w := &Welcome{Deps: d.Deps, found: suggestions{examples: tries, recent: recentRows}}
		if tt.change != nil {
			tt.change(d, w)
		}
		view := w.View(tt.width, tt.height)
		for i, row := range strings.Split(view, "\n") {
			if ansi.StringWidth(row) > tt.width && tt.width > 1 || i >= tt.height {
				t.Errorf("%s: row %d is too much: %q", tt.name, i, row)
			}
		}
		fmt.Fprintf(&got, "%s%s, %dx%d, %d rows to select\n%s\n", mark, tt.name, tt.width, tt.height, w.drawn.rows, ansi.Strip(view))
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, now := strings.Split(string(want), mark), strings.Split(got.String(), mark)
	for i := range max(len(old), len(now)) {
		if a, b := at(old, i), at(now, i); a != b {
			t.Errorf("want\n%s\ngot\n%s", a, b)
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// The selected row has its background over the whole width, and the other rows have none.
func TestWelcomeSelection(t *testing.T) {
	d := newDesk(t, "fake/one")
	d.Theme, _ = theme.ByName("dark")
	ground := theme.NewSGR(d.Theme.Selected).On
	w := &Welcome{Deps: d.Deps, found: suggestions{recent: recentRows}, at: 2}
	var selected []string
	for row := range strings.SplitSeq(w.View(80, 12), "\n") {
		if strings.Contains(row, ground) {
			selected = append(selected, row)
		}
	}
	if ground == "" || len(selected) != 1 || ansi.StringWidth(selected[0]) != 80 || !strings.Contains(selected[0], "Why does") {
		t.Errorf("selected rows: %q", selected)
	}
}

// The arrow keys select a row, enter chooses it, and any other key is for the input.
func TestWelcomeKeys(t *testing.T) {
	for _, tt := range []struct {
		keys, did string
		at        int
		handled   bool // the last key
	}{
		{"down", "", 1, true}, {"down down up", "", 1, true}, {"down up", "", 0, true}, {"up", "", 0, false}, {"down up up", "", 0, false},
		{"down down down down down down down", "", 5, true}, {"down esc", "", 0, true}, {"esc", "", 0, false}, {"enter", "", 0, false}, {"down x", "", 0, false},
		{"down down down down enter", "send " + tries[0], 0, true}, {"down enter", "app.Toast", 0, true},
	} {
		d := newDesk(t, "fake/one")
		d.App.FrontEnd.Busy = func() bool { return true }
		w := &Welcome{Deps: d.Deps, found: suggestions{examples: tries, recent: recentRows}}
		var handled bool
		for key := range strings.FieldsSeq(tt.keys) {
			w.View(80, 24)
			_, handled = w.Key(key)
		}
		if did := d.done(); did != tt.did || w.at != tt.at || handled != tt.handled {
			t.Errorf("%s: row %d, %t, did %q; want row %d, %t, %q", tt.keys, w.at, handled, did, tt.at, tt.handled, tt.did)
		}
	}
	d := newDesk(t, "demo/parley")
	d.App.FirstScreen.NoKey = true
	w := &Welcome{Deps: d.Deps}
	w.View(80, 24)
	w.Key("down")
	if w.Key("enter"); d.done() != "run connect" {
		t.Error("the first row of the demo does not connect a provider")
	}
	w.View(80, 3)
	if _, handled := w.Key("down"); handled {
		t.Error("a row is selected that is not drawn")
	}
}

// A selected row stays selected when the suggestions are read again, unless it is gone.
func TestWelcomeReadsAgain(t *testing.T) {
	for _, tt := range []struct{ before, want int }{{0, 0}, {1, 2}, {2, 0}, {3, 1}} {
		d := newDesk(t, "fake/one")
		w := &Welcome{Deps: d.Deps, found: suggestions{recent: recentRows}, at: tt.before}
		w.View(80, 24)
		if _, ok := w.Update(welcomeMsg{recent: []app.Item{recentRows[2], recentRows[0]}}); !ok || w.at != tt.want {
			t.Errorf("row %d is row %d now, want %d", tt.before, w.at, tt.want)
		}
		if strings.Contains(w.View(80, 24), "Why does") {
			t.Error("the first screen is not drawn again")
		}
	}
	d := newDesk(t, "fake/one")
	for _, msg := range []tea.Msg{common.StartMsg{}, common.SessionsChangedMsg{}} {
		cmd, _ := (&Welcome{Deps: d.Deps}).Update(msg)
		if got := run(cmd); len(got) != 1 || len(got[0].(welcomeMsg).examples) != maxSuggested {
			t.Errorf("%T: %v", msg, got)
		}
	}
}

// modelRows returns items as text: group, name, state and note, and signs: * favorite, ! disabled, - hidden, > current.
func modelRows(items []dialog.Item) (rows []string) {
	for _, i := range items {
		row := i.Group + ": " + i.Title
		for sign, is := range map[string]bool{"*": i.Pinned, "!": i.Disabled, "-": i.Hidden, ">": i.Current} {
			if is {
				row = sign + row
			}
		}
		rows = append(rows, strings.Join(strings.Fields(row+" "+i.State+" "+i.Note+" "+i.Unavailable), " "))
	}
	return rows
}

// Favorites come first, then recently used models, then all in their order. Notes of all ready models but the current one
// are told once.
func TestModelItems(t *testing.T) {
	ready := func(name string) app.ModelChoice { return app.ModelChoice{Name: name, Ready: true} }
	for _, tt := range []struct {
		name    string
		choices []app.ModelChoice
		change  func(*Models)
		want    []string
		common  string
	}{
		{name: "none"},
		{name: "the order of the catalog", choices: []app.ModelChoice{ready("b/x"), ready("a/one"), ready("a/two")}, want: []string{">Recent: a/one", "b: b/x", "a: a/two"}},
		{name: "the current one is not listed", choices: []app.ModelChoice{ready("b/x")}, want: []string{">Recent: a/one", "b: b/x"}},
		{name: "recent", choices: []app.ModelChoice{ready("b/x"), ready("b/y"), ready("b/z"), ready("a/one")}, change: func(f *Models) { f.App.Models.Recent = []string{"a/one", "b/z", "b/y"} },
			want: []string{">Recent: a/one", "Recent: b/z", "Recent: b/y", "b: b/x"}},
		{name: "five recent ones", choices: []app.ModelChoice{ready("b/5"), ready("b/6")}, change: func(f *Models) { f.App.Models.Recent = []string{"a/one", "2", "3", "4", "b/5", "b/6"} },
			want: []string{">Recent: a/one", "Recent: b/5", "b: b/6"}},
		{name: "favorites", choices: []app.ModelChoice{ready("a/one"), ready("b/x"), ready("b/y"), ready("c/z")}, change: func(f *Models) {
			f.Config.Favorites, f.prefs = []string{"c/*", "b/x"}, map[string][]string{"favorites": {"-b/x", "+b/y"}}
		}, want: []string{"*Favorites: c/z", "*Favorites: b/y", ">Recent: a/one", "b: b/x"}},
		{name: "hidden", choices: []app.ModelChoice{ready("a/one"), ready("b/x"), ready("b/y"), ready("b/z")}, change: func(f *Models) {
			f.Config.Hidden, f.Config.Favorites, f.prefs = []string{"*"}, []string{"b/y"}, map[string][]string{"hidden": {"-b/z"}}
		}, want: []string{"*Favorites: b/y", ">Recent: a/one", "-b: b/x", "b: b/z"}},
		{name: "retired", choices: []app.ModelChoice{{Name: "a/one", Ready: true, Retired: true}, {Name: "b/x", Ready: true, Retired: true}, {Name: "b/y", Ready: true, Retired: true}}, change: func(f *Models) {
			f.prefs = map[string][]string{"hidden": {"-b/y"}}
		}, want: []string{">Recent: a/one", "-b: b/x", "b: b/y"}},
		{name: "not ready", choices: []app.ModelChoice{ready("a/one"), {Name: "b/x", Why: "set KEY"}, {Name: "b/y", Why: "unused", LacksKey: true}},
			want: []string{">Recent: a/one", "!b: b/x set KEY", "!b: b/y no key no key · enter adds one"}},
		{name: "an alias of the current one", choices: []app.ModelChoice{ready("a/one"), {Name: "fast", Alias: "a/one", Ready: true}}, want: []string{">Recent: a/one", "Aliases: fast → a/one"}},
		{name: "notes of all", choices: []app.ModelChoice{ready("a/one"), {Name: "b/x", Ready: true, Retires: "2027"}, {Name: "b/y", Ready: true, Retires: "2027"}, {Name: "b/z", Retires: "2028", Why: "off"}},
			want: []string{">Recent: a/one", "b: b/x", "b: b/y", "!b: b/z off"}, common: "retires on 2027"},
		{name: "notes of some", choices: []app.ModelChoice{ready("a/one"), {Name: "b/x", Ready: true, Retires: "2027"}, ready("b/y")}, want: []string{">Recent: a/one", "b: b/x retires on 2027", "b: b/y"}},
	} {
		f := &Models{Deps: newDesk(t, "a/one").Deps, choices: tt.choices}
		if tt.change != nil {
			tt.change(f)
		}
		items, common := f.items()
		if got := modelRows(items); !slices.Equal(got, tt.want) || strings.Join(common, " · ") != tt.common {
			t.Errorf("%s:\ngot  %q, %q\nwant %q, %q", tt.name, got, common, tt.want, tt.common)
		}
	}
}

// A whole name that is not listed can be typed, if its provider is known or may become known.
func TestTypedModel(t *testing.T) {
	listed := []app.ModelChoice{{Name: "a/one"}, {Name: "b/x"}}
	for _, tt := range []struct {
		typed     string
		choices   []app.ModelChoice
		asked     bool
		is, first bool
	}{
		{"a/new", listed, false, true, true}, {"A/ON", listed, true, true, false}, {"a/on", listed, false, true, false}, {"a/one/more", listed, false, true, true},
		{"c/new", listed, false, false, false}, {"c/new", listed, true, true, true}, {"c/new", nil, false, true, true},
		{"a", listed, true, false, false}, {"a/", listed, true, false, false}, {"/one", listed, true, false, false}, {"a/one two", listed, true, false, false},
	} {
		f := &Models{choices: tt.choices, served: serving{asked: tt.asked}}
		want := dialog.Item{}
		if tt.is {
			want = dialog.Item{Title: tt.typed, Value: tt.typed, State: "as typed"}
		}
		if item, first := f.typedModel(tt.typed); item.Value != want.Value || item.Title != want.Title || item.State != want.State || first != tt.first {
			t.Errorf("%s (asked %t): %v, first %t", tt.typed, tt.asked, item, first)
		}
	}
}

// The picker lists the catalog, then the models that servers report, which are kept for five minutes unless a server was silent.
func TestModelPicker(t *testing.T) {
	d := newDesk(t, "a/one")
	d.App.Models.Choices = func() []app.ModelChoice { return []app.ModelChoice{{Name: "a/one", Ready: true}} }
	served := []app.ModelChoice{{Name: "a/one", Ready: true}, {Name: "a/served", Ready: true}}
	f := &Models{Deps: d.Deps}
	open := common.OpenMsg{Panel: string(app.PanelModels)}
	asks := func() bool {
		cmd, ok := f.Update(open)
		if !ok {
			t.Fatal("the list is not opened")
		}
		return len(run(cmd)) > 0
	}
	if !asks() || !f.served.asked {
		t.Error("servers are not asked")
	}
	f.Update(choicesMsg(d.App.Models.Choices()))
	if text := d.dialog(); !strings.Contains(text, "a/one") || strings.Contains(text, "served") {
		t.Errorf("the catalog:\n%s", text)
	}
	f.Update(servedMsg(served))
	if text := d.dialog(); !strings.Contains(text, "a/served") || f.served.asked {
		t.Errorf("served models:\n%s", text)
	}
	d.now = d.now.Add(servedFor - time.Second)
	if asks() || !strings.Contains(d.dialog(), "a/served") {
		t.Error("servers are asked again soon")
	}
	d.now = d.now.Add(time.Second)
	if !asks() {
		t.Error("servers are not asked again")
	}
	f.forget()
	f.Update(servedMsg(append(served, app.ModelChoice{Name: "silent/"})))
	if !asks() {
		t.Error("a silent server is not asked again")
	}
	d.Close()
	f.Update(servedMsg(served))
	if f.forget(); !asks() {
		t.Error("forgotten lists are still used")
	}

	f.choices = served
	open.Query = "served"
	f.Update(open)
	if text := d.dialog(); !strings.Contains(text, "a/served") || strings.Contains(text, "a/one") {
		t.Errorf("the list is not filtered:\n%s", text)
	}
	var picked string
	f.Update(servedMsg(served))
	f.Update(app.PickModel{Title: "Judge", Chosen: func(name string) app.Effect { picked = name; return app.Toast("") }})
	if text := d.dialog(); !strings.Contains(text, "Judge") {
		t.Errorf("the title is missing:\n%s", text)
	}
	f.picker.Select("a/served")
	if d.press(tea.KeyEnter); picked != "a/served" || d.done() != "app.Toast" || d.over.Dialog != nil {
		t.Errorf("picked %q", picked)
	}
}

// A favorite or hidden model is stored, once.
func TestModelPrefs(t *testing.T) {
	d := newDesk(t, "a/one")
	d.App.Models.Choices = func() []app.ModelChoice {
		return []app.ModelChoice{{Name: "a/one", Ready: true}, {Name: "b/x", Ready: true}}
	}
	if err := d.App.Library.Set("hidden", "+b/x -b/y"); err != nil {
		t.Fatal(err)
	}
	f := &Models{Deps: d.Deps}
	args := f.Args("model")
	if len(args) != 2 || !args[1].Hidden || !args[1].Exact || args[1].Cells != nil || f.Args("theme") != nil || len(f.Args("compare")) != 2 {
		t.Errorf("arguments %v", args)
	}
	for _, tt := range []struct {
		name string
		on   bool
		want string
	}{{"b/x", false, "-b/y -b/x"}, {"b/z", true, "-b/y -b/x +b/z"}, {"b/y", true, "-b/x +b/z +b/y"}} {
		f.setModelPref("hidden", tt.name, tt.on)
		if got := strings.Join(f.prefs["hidden"], " "); got != tt.want || d.done() == "" {
			t.Errorf("%s %t: %q, want %q", tt.name, tt.on, got, tt.want)
		}
	}
	f.pick("Model", "", d.App.Models.Use)
	for _, tt := range []struct {
		mark func(string, bool) tea.Cmd
		on   bool
		want string
	}{{f.picker.Marks.Pin, true, ""}, {f.picker.Marks.Hide, false, ""}, {f.picker.Marks.Hide, true, "Hidden · " + dialog.ShowHiddenKeys() + " show hidden"}} {
		if tt.mark("b/x", tt.on); d.ToastText() != tt.want {
			t.Errorf("said %q, want %q", d.ToastText(), tt.want)
		}
	}
	if yes, _ := preferred(f.prefs["favorites"], "b/x"); !yes || !strings.Contains(d.dialog(), "Favorites") {
		t.Errorf("favorites %q", f.prefs["favorites"])
	}
}

// A repainted view is told its theme.
type repainted struct{ is string }

func (r *repainted) SetTheme(th *theme.Theme) { r.is = th.Name }

func newThemes(t *testing.T) (*desk, *Themes, *repainted) {
	d, view := newDesk(t, "a/one"), &repainted{}
	d.Themed = []panel.Themeable{view}
	d.Theme, _ = theme.ByName("dark")
	return d, &Themes{Deps: d.Deps}, view
}

// The list of themes previews the selected one. Leaving it restores the theme from before.
func TestThemeList(t *testing.T) {
	for _, tt := range []struct {
		key             rune
		theme, did, set string
	}{{tea.KeyEscape, "dark", "", "auto"}, {tea.KeyEnter, "light", "saved", "light"}} {
		d, f, view := newThemes(t)
		if _, ok := f.Update(common.OpenMsg{Panel: "theme"}); !ok {
			t.Fatal("the list is not opened")
		}
		list := d.over.Dialog.(*dialog.Picker)
		list.Moved("light")
		if d.Theme.Name != "light" || view.is != "light" {
			t.Errorf("the preview is in %s", d.Theme.Name)
		}
		list.Moved("auto")
		if d.Theme.Name != "dark" || view.is != "dark" {
			t.Errorf("the preview of auto is in %s", d.Theme.Name)
		}
		list.Select("light")
		list.Moved("light")
		d.press(tt.key)
		if saved := d.done() != ""; d.Theme.Name != tt.theme || view.is != tt.theme || saved != (tt.did != "") || d.Config.Theme != tt.set || d.over.Dialog != nil {
			t.Errorf("%q: in %s, saved %t, set to %s", tt.key, d.Theme.Name, saved, d.Config.Theme)
		}
	}
	d, f, _ := newThemes(t)
	if f.Update(common.OpenMsg{Panel: "theme", Query: "none such"}); d.done() != "app.Failure" || d.Config.Theme != "auto" {
		t.Error("an unknown theme is applied")
	}
	if _, ok := f.Update(common.OpenMsg{Panel: "models"}); ok || d.over.Dialog != nil {
		t.Error("another panel lists themes")
	}
	var details []string
	for _, item := range f.Args("theme") {
		details = append(details, fmt.Sprintf("%s %t: %s", item.Value, item.Current, item.Detail))
	}
	for _, want := range []string{"auto true: match the terminal background", "dark false: for dark backgrounds", "light false: for light backgrounds", "terminal false: the terminal's own colors"} {
		if !slices.Contains(details, want) {
			t.Errorf("no %q in %q", want, details)
		}
	}
	if f.Args("model") != nil {
		t.Error("themes are arguments of another command")
	}
}

// With the theme auto, the reported background counts if the answer comes at once.
func TestBackground(t *testing.T) {
	for _, tt := range []struct {
		name    string
		setting string
		wait    time.Duration
		want    string
	}{{"at once", "auto", 0, "light"}, {"at the limit", "auto", answerTime, "light"}, {"late", "auto", answerTime + 1, "dark"}, {"another theme", "dark", 0, "dark"}} {
		d, f, _ := newThemes(t)
		d.Config.Theme = tt.setting
		if cmd, _ := f.Update(common.StartMsg{}); (cmd != nil) != (tt.setting == "auto") {
			t.Errorf("%s: asked %t", tt.name, cmd != nil)
		}
		d.now = d.now.Add(tt.wait)
		white, _ := theme.ByName("light")
		if _, ok := f.Update(tea.BackgroundColorMsg{Color: ansi.RGBColor{R: 255, G: 255, B: 255}}); !ok || d.Theme.Name != tt.want {
			t.Errorf("%s: the theme is %s, want %s (%s)", tt.name, d.Theme.Name, tt.want, white.Name)
		}
	}
}

// A changed setting counts. A theme chosen with /theme stays until the setting itself changes.
func TestThemeSetting(t *testing.T) {
	for _, tt := range []struct{ setting, want string }{{"ui.theme", "light"}, {"ui.motion", "auto"}} {
		d, f, _ := newThemes(t)
		c := common.DefaultConfig()
		c.Theme, c.Motion = "light", "off"
		if f.Update(app.Reconfigured{Setting: tt.setting, UI: c}); d.Config.Theme != tt.want || d.Config.Motion != "off" {
			t.Errorf("%s: theme %s, motion %s", tt.setting, d.Config.Theme, d.Config.Motion)
		}
	}
}

// MCP servers start after the first frame, once. Models are looked for when there is no question any more either.
func TestLocal(t *testing.T) {
	for _, tt := range []struct {
		msgs []tea.Msg
		want string
	}{
		{[]tea.Msg{common.FirstFrameMsg{}}, "started"},
		{[]tea.Msg{common.ReadyMsg{}}, ""},
		{[]tea.Msg{common.ReadyMsg{}, common.FirstFrameMsg{}}, "started, looked"},
		{[]tea.Msg{common.FirstFrameMsg{}, common.ReadyMsg{}, common.ReadyMsg{}}, "started, looked"},
	} {
		d := newDesk(t, "a/one")
		d.App.Reopened = func() app.Effect { return d.effect("started") }
		d.App.Models.Discover = func() app.Effect { return d.effect("looked") }
		d.Deps.Perform = func(app.Effect) tea.Cmd { return nil }
		f := &Local{Deps: d.Deps}
		for _, msg := range tt.msgs {
			f.Update(msg)
		}
		if got := d.done(); got != tt.want {
			t.Errorf("%T: did %q, want %q", tt.msgs, got, tt.want)
		}
	}
	d, ticks := newDesk(t, "a/one"), 0
	d.Tick = func(time.Duration, tea.Msg) tea.Cmd { ticks++; return nil }
	f := &Local{Deps: d.Deps}
	for range 2 {
		f.Update(tea.WindowSizeMsg{})
	}
	if ticks != 1 {
		t.Errorf("the first frame is reported %d times", ticks)
	}
}

func (d *desk) effect(what string) app.Effect {
	d.do(what)
	return nil
}

// The result of a hidden line is shown while its dialog is open. An accepted line may make other models ready.
func TestConnect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		leave bool
		did   string
		text  string // in the dialog
	}{
		{"accepted", nil, false, "app.Toast", ""}, {"accepted after it was left", nil, true, "dismissed, app.Toast", ""},
		{"refused", errors.New("wrong key"), false, "", "Wrong key"}, {"refused after it was left", errors.New("wrong key"), true, "dismissed", ""},
	} {
		d := newDesk(t, "a/one")
		f := &Connect{Deps: d.Deps, models: &Models{choices: []app.ModelChoice{{}}}}
		f.Update(&app.Secret{
			Title: "Key", Text: "for a test", Visible: true, Value: "abc",
			Submit: func(_ context.Context, line string) (func() app.Effect, error) {
				if line != "abc" {
					t.Errorf("submitted %q", line)
				}
				return func() app.Effect { return app.Toast("fine") }, tt.err
			},
			OnDismiss: func() { d.do("dismissed") },
		})
		if text := d.dialog(); !strings.Contains(text, "Key") || !strings.Contains(text, "abc") {
			t.Errorf("%s:\n%s", tt.name, text)
		}
		cmd := d.over.Dialog.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		if tt.leave {
			d.press(tea.KeyEscape)
		}
		for _, msg := range run(cmd) {
			f.Update(msg)
		}
		text := d.dialog()
		if did := d.done(); did != tt.did || (text == "") != (tt.text == "") || !strings.Contains(text, tt.text) || (f.models.choices == nil) != (tt.err == nil) {
			t.Errorf("%s: did %q, models %v\n%s", tt.name, did, f.models.choices, text)
		}
	}
}

// If the line is not needed any more, it is as if an empty one were submitted, unless one was or the dialog was left.
func TestConnectReady(t *testing.T) {
	for _, tt := range []struct {
		name       string
		then       rune
		isAccepted bool
	}{{"alone", 0, true}, {"after a line", tea.KeyEnter, false}, {"after it was left", tea.KeyEscape, false}} {
		d := newDesk(t, "a/one")
		f, ready := &Connect{Deps: d.Deps, models: &Models{}}, make(chan struct{})
		close(ready)
		cmd, _ := f.Update(&app.Secret{Title: "Key", Visible: true, Value: "abc", Ready: ready, Submit: func(_ context.Context, line string) (func() app.Effect, error) {
			d.do("line " + line)
			return func() app.Effect { return nil }, nil
		}})
		msgs := run(cmd)
		if tt.then != 0 {
			d.press(tt.then)
		}
		for _, msg := range msgs {
			cmd, _ := f.Update(msg)
			run(cmd)
		}
		if got := d.done() == "line "; got != tt.isAccepted {
			t.Errorf("%s: accepted %t", tt.name, got)
		}
	}
}

// The branch is looked at when something happened that may have changed it, and every two seconds.
func TestBranch(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
	d := newDesk(t, "a/one")
	d.App.Directory = dir
	f := &Branch{Deps: d.Deps}
	look := func() int {
		cmd, _ := f.Update(common.UpdatedMsg{})
		msgs := run(cmd)
		for _, msg := range msgs {
			f.Update(msg)
		}
		return len(msgs)
	}
	if look(); d.Branch != "main" {
		t.Errorf("the branch is %q", d.Branch)
	}
	if look() != 0 {
		t.Error("it looks again at once")
	}
	for name, change := range map[string]func(){
		"two seconds":      func() { d.now = d.now.Add(branchInterval) },
		"an answer begins": func() { d.App.FrontEnd.Busy = func() bool { return true } },
		"another window":   func() { d.Unfocused = true },
		"an attachment":    func() { d.App.Attached = []llm.Part{{}} },
	} {
		if change(); look() == 0 {
			t.Errorf("%s: it does not look", name)
		}
	}
	f.Update(branchMsg{"/elsewhere", "other"})
	if d.Branch != "main" {
		t.Error("the branch of another directory is shown")
	}
	d.App.Directory = "/elsewhere"
	if f.look(); d.Branch != "" {
		t.Error("the branch of the directory before is shown")
	}
}

// Output is shown from its beginning, or from its end while the program runs, and grows.
func TestOutput(t *testing.T) {
	for _, running := range []bool{false, true} {
		d := newDesk(t, "a/one")
		f, sent, text, changed := &Output{Deps: d.Deps}, 0, app.OutputText{Title: "make", Lines: numbered(1, 60), Running: running}, func() {}
		d.Send = func(tea.Msg) { sent++ }
		if _, ok := f.Update(outputMsg{}); !ok {
			t.Error("unknown message")
		}
		f.Update(app.Output{Title: "make", Read: func() app.OutputText { return text }, Watch: func(c func()) { changed = c }})
		if shown := d.dialog(); strings.Contains(shown, "line 060") != running || strings.Contains(shown, "line 001") == running {
			t.Errorf("running %t:\n%s", running, shown)
		}
		for range 3 {
			changed()
		}
		if sent != 1 {
			t.Errorf("%d messages for one update", sent)
		}
		text.Lines = numbered(1, 70)
		f.Update(outputMsg{})
		if shown := d.dialog(); strings.Contains(shown, "line 070") != running {
			t.Errorf("running %t, grown:\n%s", running, shown)
		}
		if changed(); sent != 2 {
			t.Error("a later change is not reported")
		}
		if d.press(tea.KeyEscape); changed != nil || d.over.Dialog != nil {
			t.Error("closed output is still watched")
		}
		text.Lines = nil
		if f.Update(outputMsg{}); len(f.shown.Lines) != 70 {
			t.Error("closed output is still read")
		}
	}
}
