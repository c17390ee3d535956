package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/session"
	"parley/ui/app"
	"parley/ui/app/flows/config"
)

type sample struct {
	Effort string            `toml:"effort"`
	Turns  int               `toml:"max_turns"`
	UI     screen            `toml:"ui"`
	Alias  map[string]string `toml:"aliases"`
	MCP    map[string]server `toml:"mcp"`
}

type screen struct {
	Theme  string   `toml:"theme"`
	Vim    bool     `toml:"vim"`
	Status []string `toml:"status"`
}

type server struct {
	Env map[string]string `toml:"env"`
}

func (s *sample) Validate() error {
	if s.Effort == "huge" {
		return errors.New(`effort = "huge": use low or high`)
	}
	return nil
}

// open returns an App whose config.toml has this text, and the path of that.
func open(t *testing.T, text string) (*app.App, string) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o := app.Options{Flows: config.Register, Session: session.New(session.Options{}), Directory: "/work", ConfigFile: app.ConfigFile{
		Path: path, Undo: &app.ConfigChange{}, New: func() interface{ Validate() error } { return &sample{UI: screen{Theme: "auto"}} },
		Words: func(setting string) []string {
			return map[string][]string{"ui.theme": {"auto", "nord"}, "ui.status": {"model", "effort", "badge", "folder", "branch", "command", "speed", "cost", "mode"}}[setting]
		},
		Sources: func() (over, under map[string]string) {
			return map[string]string{"max_turns": "--max-turns"}, map[string]string{"effort": "this folder: high"}
		},
	}}
	return app.New(o), path
}

func row(t *testing.T, l *app.List, title string) app.Item {
	i := slices.IndexFunc(l.Items, func(i app.Item) bool { return i.Title == title })
	if i < 0 {
		t.Fatalf("no row %s", title)
	}
	return l.Items[i]
}

// The page has each setting of the struct, with value, possible values and the source of the value.
func TestPage(t *testing.T) {
	a, _ := open(t, "max_turns = 5\n[aliases]\nfast = \"x/y\"\n[mcp.a.env]\nAPI = \"tCanary\"\n")
	l := a.Command("settings").Do("").(*app.List)
	for title, want := range map[string]string{
		"effort": "text · this folder: high", "max_turns": "5 · a whole number · --max-turns", "ui.theme": "auto · auto · nord · default",
		"ui.vim": "false · true · false · default", "aliases.fast": "x/y · text", "aliases.NAME": "text", "mcp.a.env.API": "(set, hidden) · text", "mcp.NAME.env.NAME": "text",
	} {
		if got := row(t, l, title).Detail; got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	for title, want := range map[string]app.Origin{"effort": app.BySomething, "max_turns": app.BySomething, "ui.theme": app.ByDefault, "aliases.fast": app.ByUser} {
		if got := row(t, l, title).Origin; got != want {
			t.Errorf("%s is of %d, want %d", title, got, want)
		}
	}
	var groups []string // in the order of the manual
	for _, i := range l.Items {
		groups = append(groups, i.Group)
	}
	if got, want := slices.Compact(groups), []string{"General", "[aliases]", "[ui]", "[mcp.NAME]"}; !slices.Equal(got, want) {
		t.Errorf("the groups are %q, want %q", got, want)
	}
	if theme := row(t, l, "ui.theme"); theme.Group != "[ui]" || !strings.HasPrefix(theme.About, `"auto" follows`) {
		t.Errorf("%q %q are not of the manual", theme.Group, theme.About)
	}
}

// A change is written, counts at once, and can be taken back.
func TestChange(t *testing.T) {
	a, path := open(t, "# mine\n[ui] # screen\nvim = true\n")
	c := a.Command("settings")
	read := func() string { b, _ := os.ReadFile(path); return string(b) }
	said := func(e app.Effect) string {
		for _, one := range append(app.Then{e}, asThen(e)...) {
			switch one := one.(type) {
			case app.Toast:
				return string(one)
			case app.Failure:
				return one.Err.Error()
			}
		}
		return ""
	}
	e := c.Do("theme nord")
	if want := "# mine\n[ui] # screen\nvim = true\ntheme = \"nord\"\n"; read() != want {
		t.Errorf("wrote %q, want %q", read(), want)
	}
	if r, ok := asThen(e)[0].(app.Reconfigured); !ok || !reflect.DeepEqual(r.UI, screen{Theme: "nord", Vim: true}) || r.Setting != "ui.theme" {
		t.Errorf("%#v does not reconfigure the screen", e)
	}
	if got := said(e); got != "ui.theme is nord" {
		t.Error(got)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o644 {
		t.Errorf("mode %o", info.Mode())
	}
	undo := c.Do("").(*app.List).Actions[0]
	if e := asThen(undo.Do("ui.theme")); undo.Key != "ctrl+_" || len(e) != 2 || e[1].(*app.List).Selected != "ui.theme" {
		t.Errorf("%s leads to %+v", undo.Key, e)
	}
	if want := "# mine\n[ui] # screen\nvim = true\n"; read() != want {
		t.Errorf("undo left %q", read())
	}
	for line, want := range map[string]string{
		"undo": "no setting was changed since parley started", "effort huge": `effort = "huge": use low or high`, "colour red": "there is no setting colour: /settings lists them",
		"max_turns many": "max_turns = many: use a number", "aliases.NAME x": "aliases.NAME: write a name of your own for NAME", "effort default": "effort is not set",
	} {
		if got := said(c.Do(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if got := said(c.Do("max_turns 9")); got != "max_turns is 9 · --max-turns applies here · applies from the next start" {
		t.Error(got)
	}
	notice := ""
	a.Restart = func(dir, conversation, said string) { notice = dir + " " + conversation + " " + said }
	if _, ended := c.Do("aliases.fast x/y").(app.Exit); !ended || notice != "/work  aliases.fast is x/y" {
		t.Errorf("restarts with %q", notice)
	}
}

func asThen(e app.Effect) app.Then { then, _ := e.(app.Then); return then }

// A file that cannot be read or changed is shown, and stays as it is.
func TestReadOnly(t *testing.T) {
	broken, path := open(t, "effort = \"low\"\nmax_turns = = 3\n")
	l := broken.Command("settings").Do("").(*app.List)
	if want := "Cannot be changed here: " + path + ":2:13: "; !strings.HasPrefix(l.Items[0].About, want) || !l.Items[0].Disabled || l.Remove != nil {
		t.Errorf("%s, want %s", l.Items[0].About, want)
	}
	if edit, ok := l.Actions[0].Do("").(app.EditFile); !ok || edit.Path != path || len(l.Actions) != 1 {
		t.Errorf("%d keys; the first opens %+v", len(l.Actions), edit)
	} else if err := os.WriteFile(path, []byte("effort = \"low\"\n"), 0o600); err != nil {
		t.Fatal(err)
	} else if said := asThen(edit.Done())[0]; said != app.Toast(path+" was edited · applies from the next start") {
		t.Errorf("after the editor: %v", said)
	}
	if err := os.WriteFile(path, []byte("effort = \"low\"\nmax_turns = = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, ok := broken.Command("settings").Do("effort high").(app.Failure); !ok || !strings.Contains(f.Err.Error(), ":2:13: ") {
		t.Errorf("%v", f.Err)
	}
	linked, path := open(t, "")
	store := filepath.Join(t.TempDir(), "store.toml")
	if err := errors.Join(os.WriteFile(store, []byte("effort = \"low\"\n"), 0o444), os.Remove(path), os.Symlink(store, path)); err != nil {
		t.Skip(err) // no links here
	}
	if f, ok := linked.Command("settings").Do("effort high").(app.Failure); !ok || f.Err.Error() != path+", a link to "+store+", is read-only: change it where it is made" {
		t.Errorf("%v", f.Err)
	}
	if err := os.Chmod(store, 0o600); err != nil {
		t.Fatal(err)
	}
	linked.Command("settings").Do("effort high")
	if b, _ := os.ReadFile(store); string(b) != "effort = \"high\"\n" {
		t.Errorf("wrote %q", b)
	}
	if _, err := os.Readlink(path); err != nil {
		t.Error("the link is gone")
	}
}

// /statusline shows, hides and moves the words of the status line, each on its side, and writes them to the file.
func TestStatusLine(t *testing.T) {
	a, path := open(t, "# mine\n")
	c := a.Command("statusline")
	if why := c.Unavailable(); why != "There is no status line here" {
		t.Error(why)
	}
	a.FrontEnd.StatusLine = func(words []string) string { return strings.Join(words, " · ") }
	for _, step := range []struct{ arg, written, listed string }{
		{"", "", "model effort badge folder branch command | cost mode | speed"},
		{"speed", `["model", "effort", "badge", "folder", "branch", "command", "cost", "mode", "speed"]`, "model effort badge folder branch command | cost mode speed |"},
		{"effort", `["model", "badge", "folder", "branch", "command", "cost", "mode", "speed"]`, "model badge folder branch command | cost mode speed | effort"},
		{"left cost", `["model", "badge", "folder", "branch", "command", "cost", "mode", "speed"]`, "model badge folder branch command | cost mode speed | effort"}, // the first of its side
		{"left speed", `["model", "badge", "folder", "branch", "command", "cost", "speed", "mode"]`, "model badge folder branch command | cost speed mode | effort"},
		{"right model", `["badge", "model", "folder", "branch", "command", "cost", "speed", "mode"]`, "badge model folder branch command | cost speed mode | effort"},
		{"left effort", `["badge", "model", "folder", "branch", "command", "cost", "speed", "mode"]`, "badge model folder branch command | cost speed mode | effort"},   // not shown
		{"right command", `["badge", "model", "folder", "branch", "command", "cost", "speed", "mode"]`, "badge model folder branch command | cost speed mode | effort"}, // the last of its side
		{"left command", `["badge", "model", "folder", "command", "branch", "cost", "speed", "mode"]`, "badge model folder command branch | cost speed mode | effort"},
		{"right mode", `["badge", "model", "folder", "command", "branch", "cost", "speed", "mode"]`, "badge model folder command branch | cost speed mode | effort"},
		{"default", "", "model effort badge folder branch command | cost mode | speed"},
	} {
		e := c.Do(step.arg)
		l, ok := e.(*app.List)
		if then := asThen(e); !ok {
			l = then[len(then)-1].(*app.List)
			if r := then[0].(app.Then)[0].(app.Reconfigured); r.Setting != "ui.status" {
				t.Errorf("%s: reconfigures %s", step.arg, r.Setting)
			}
		}
		groups := map[string][]string{}
		for _, i := range l.Items {
			groups[i.Group] = append(groups[i.Group], i.Title)
		}
		got := strings.TrimSpace(strings.Join(groups["Left"], " ") + " | " + strings.Join(groups["Right"], " ") + " | " + strings.Join(groups["Not shown"], " "))
		if line := strings.Join(append(groups["Left"], groups["Right"]...), " · "); got != step.listed || l.Items[0].About != line {
			t.Errorf("%s: lists %s and %s, want %s", step.arg, got, l.Items[0].About, step.listed)
		}
		want := "# mine\n"
		if step.written != "" {
			want = "# mine\n\n[ui]\nstatus = " + step.written + "\n"
		}
		if b, _ := os.ReadFile(path); strings.TrimSuffix(string(b), "\n[ui]\n") != want {
			t.Errorf("%s: wrote %q, want %q", step.arg, b, want)
		}
	}
	for arg, want := range map[string]string{
		"default": "The status line already has its default", "colour": `the status line has no "colour": use model, effort, badge, folder, branch, command, speed, cost, mode`, "left modell": `the status line has no "modell": did you mean "model"?`,
		"up model": `the status line has no "up model": use model, effort, badge, folder, branch, command, speed, cost, mode`,
	} {
		got := ""
		switch e := c.Do(arg).(type) {
		case app.Toast:
			got = string(e)
		case app.Failure:
			got = e.Err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
	}
}
