// Package config lets the user see and change the settings of config.toml.
//
//	struct of the configuration ──► settings ◄── help and groups of the manual
//	                                   │
//	config.toml ──► value of each ──► page ──► new value ──► config.toml, its comments kept ──► the running program
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"parley/session/config"
	"parley/tools/atomicfile"
	"parley/tools/lazy"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "settings", Aliases: []string{"config"}, Group: app.Program, Arg: "NAME VALUE", Help: "Settings: search, change, undo", Unavailable: f.unavailable, Args: f.arguments, Run: f.run},
		app.Command{Name: "statusline", Group: app.Program, Arg: "WORD", Help: "Choose the words of the status line", Unavailable: f.noStatusLine, Args: f.statusArguments, Run: f.statusLine})
	a.ConfigFile.WriteTables = f.writeTables
}

// A flow changes the configuration of an App.
type flow struct{ app *app.App }

func (f flow) file() app.ConfigFile { return f.app.ConfigFile }

func (f flow) unavailable() string {
	if f.file().New == nil {
		return "There is no configuration here"
	}
	return ""
}

// A state is config.toml as read, with the settings that it may have.
type state struct {
	text     string
	values   map[string]any
	settings []setting
	defaults any
	err      error // why the file cannot be read, with its line
}

// read reads the file. A missing one is empty.
func (f flow) read() (s state) {
	cfg := f.file().New()
	s.settings, s.defaults = known(cfg), f.file().New()
	text, err := os.ReadFile(f.file().Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.err = err
		return s
	}
	s.text = string(text)
	if err := config.Decode(s.text, cfg); err != nil {
		s.err = fmt.Errorf("%s:%w", f.app.AbbrevPath(f.file().Path), err)
		return s
	}
	s.values, s.err = decode(s.text)
	return s
}

// readOnly returns why the file cannot be changed; "" if it can.
func (f flow) readOnly() string {
	path, about := f.file().Path, f.app.AbbrevPath(f.file().Path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if real != path {
		about += ", a link to " + f.app.AbbrevPath(real) + ","
	}
	info, err := os.Stat(real)
	if err == nil && info.Mode().Perm()&0o222 == 0 {
		return about + " is read-only: change it where it is made"
	}
	return ""
}

// run shows the settings, or changes or shows the named one.
func (f flow) run(arg string) app.Effect {
	if arg == "undo" {
		return f.undo()
	}
	at := strings.IndexAny(arg, " =")
	if at < 0 {
		at = len(arg)
	}
	name, value := arg[:at], strings.TrimLeft(arg[at:], " =")
	s := f.read()
	path, of := s.find(name)
	switch {
	case of == nil && value == "":
		return f.page(s, arg, "")
	case of == nil:
		return app.Refuse("there is no setting %s: /settings lists them", name)
	case value == "":
		return f.ask(s, path, of)
	}
	return f.set(path, of, value)
}

// find returns the setting with a name, or with a last word if only one has it; nil if there is none.
func (s *state) find(name string) (path []string, of *setting) {
	path, err := parseKey(name)
	if err != nil {
		return nil, nil
	}
	for i := range s.settings {
		if one := &s.settings[i]; matches(one.path, path) {
			return path, one
		}
	}
	for i := range s.settings {
		if one := &s.settings[i]; len(path) == 1 && one.path[len(one.path)-1] == path[0] && !slices.Contains(one.path, anyName) {
			if of != nil {
				return nil, nil
			}
			of = one
		}
	}
	if of != nil {
		path = of.path
	}
	return path, of
}

// page lists the settings that contain a word.
func (f flow) page(s state, word, selected string) app.Effect {
	title := "Settings · " + f.app.AbbrevPath(f.file().Path)
	fixed := f.readOnly()
	if s.err != nil {
		fixed = format.ErrorText(s.err)
	}
	rows := f.rows(s, fixed != "")
	if fixed != "" {
		title = "Settings · read-only"
		for i := range rows {
			rows[i].About = "Cannot be changed here: " + sanitize.Line(fixed)
		}
	}
	if word != "" {
		rows = slices.DeleteFunc(rows, func(i app.Item) bool {
			return !strings.Contains(strings.ToLower(i.Title+" "+i.About), strings.ToLower(word))
		})
		if len(rows) == 0 {
			return app.Refuse("there is no setting %q: /settings lists them", word)
		}
	}
	l := &app.List{Title: title, Noun: "setting", Items: rows, Columns: []app.Column{{Name: "value"}, {Name: "may be"}, {}}, Selected: selected, Choose: f.run}
	open := app.Action{Key: "ctrl+g", Help: "open the file", Do: func(string) app.Effect {
		return app.EditFile{Path: f.file().Path, Done: func() app.Effect { return f.edited(s.text) }}
	}}
	if fixed == "" {
		l.Actions = []app.Action{{Key: "ctrl+_", Help: "undo", Do: func(name string) app.Effect { return f.back(name, f.undo()) }}}
		l.Remove = func(name string) app.Effect { return f.run(name + " " + byDefault) }
		l.Refresh = func() []app.Item { return f.rows(f.read(), false) }
	}
	l.Actions = append(l.Actions, open)
	return l
}

// rows returns a row for each setting: for those below a name of the user's, one for each name in the file and one to
// add another.
func (f flow) rows(s state, fixed bool) (rows []app.Item) {
	over, under := f.file().Sources()
	if last := f.file().Undo.Setting; last != "" && !fixed {
		rows = append(rows, app.Item{Title: "undo", Value: "undo", Group: "Last change", Detail: last, Cells: []string{last, "", ""}})
	}
	for i := range s.settings {
		of := &s.settings[i]
		for _, path := range f.paths(of, s.values) {
			name := toml.Key(path).String()
			value, source, origin := valueText(path, lookup(s.values, path)), over[name], app.ByUser
			if value == "" && lookup(s.values, path) == nil {
				origin = app.ByDefault
				if source = cmp.Or(source, under[name]); source == "" && !slices.Contains(path, anyName) {
					source = byDefault
				}
				value = valueText(path, valueIn(s.defaults, path))
				if path[0] == "keys" {
					value = strings.Join(f.app.Command(path[1]).Keys, ", ")
				}
			}
			if s.err != nil { // nothing is known of the file
				value, source = "–", ""
			}
			if source != "" && source != byDefault {
				origin = app.BySomething
			}
			may := kindText(of.typ, f.words(of))
			rows = append(rows, app.Item{Title: name, Value: name, Group: of.group, About: of.help, Origin: origin, Disabled: fixed, Cells: []string{short(value, 30), short(may, 34), source},
				Detail: format.Join(" · ", value, may, source)})
		}
	}
	return rows
}

// short returns the beginning of text.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// paths returns the paths in values that a setting describes, and its own.
func (f flow) paths(of *setting, values map[string]any) (all [][]string) {
	if !slices.Contains(of.path, anyName) {
		return [][]string{of.path}
	}
	var walk func(m map[string]any, path []string)
	walk = func(m map[string]any, path []string) {
		part := of.path[len(path)]
		for name, v := range m {
			if part != anyName && part != name {
				continue
			}
			at := append(slices.Clip(path), name)
			if len(at) == len(of.path) {
				all = append(all, at)
			} else if below, ok := v.(map[string]any); ok {
				walk(below, at)
			}
		}
	}
	walk(values, nil)
	if of.path[0] == "keys" {
		for _, c := range f.app.Commands {
			if len(c.Keys) > 0 && lookup(values, []string{"keys", c.Name}) == nil {
				all = append(all, []string{"keys", c.Name})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return slices.Compare(all[i], all[j]) < 0 })
	return append(all, of.path)
}

// ask asks for the value of a setting.
func (f flow) ask(s state, path []string, of *setting) app.Effect {
	name := toml.Key(path).String()
	switch why := f.readOnly(); {
	case why != "":
		return app.Refuse("%s", why)
	case s.err != nil:
		return app.Fail(s.err)
	case slices.Contains(path, anyName):
		return app.DraftCommand("/settings " + name + " ")
	}
	if name == "model" && f.app.Session != nil {
		return app.PickModel{Title: "Model", Chosen: func(model string) app.Effect { return f.back(name, f.set(path, of, model)) }}
	}
	now := valueText(path, lookup(s.values, path))
	words := f.words(of)
	if len(words) > 0 && of.typ.Kind() != reflect.Slice {
		items := app.Words(append(slices.Clip(words), byDefault), cmp.Or(now, byDefault))
		return app.Choose(name, "value", items, func(value string) app.Effect { return f.back(name, f.set(path, of, value)) })
	}
	text := strings.TrimSpace(of.help + " " + format.Capital(kindText(of.typ, words)) + "; default resets it")
	return &app.Secret{Title: name, Text: text, Visible: !isSecret(path), Value: strings.TrimPrefix(now, hidden), Submit: func(_ context.Context, line string) (func() app.Effect, error) {
		changed, err := f.change(path, of, line)
		return func() app.Effect { return f.back(name, f.changed(path, changed)) }, err
	}}
}

// edited shows the page again after the file was opened in an editor. Other settings than before count at once.
func (f flow) edited(before string) app.Effect {
	s := f.read()
	page := f.page(s, "", "")
	if s.err != nil || s.text == before {
		return page
	}
	return f.back("", f.changed([]string{"file"}, change{said: f.app.AbbrevPath(f.file().Path) + " was edited"}))
}

// back returns an effect that shows the page again after e, unless e asks something or ends the front end.
func (f flow) back(name string, e app.Effect) app.Effect {
	switch e.(type) {
	case *app.Confirm, app.Exit:
		return e
	}
	return app.Then{e, f.page(f.read(), "", name)}
}

// words returns the possible values of a setting, if there are few.
func (f flow) words(of *setting) []string {
	if of.typ.Kind() == reflect.Bool {
		return []string{"true", "false"}
	}
	return f.file().Words(of.name())
}

// byDefault removes a setting from the file.
const byDefault = "default"

// set changes a setting in the file and in the running program.
func (f flow) set(path []string, of *setting, value string) app.Effect {
	if f.needsRestart(path, value) && f.app.BusyText() != "" {
		return app.Toast(f.app.BusyText())
	}
	changed, err := f.change(path, of, value)
	if err != nil {
		return app.Fail(err)
	}
	return f.changed(path, changed)
}

// A change is a changed setting.
type change struct {
	said  string
	value any // nil if the setting was removed
	ui    any // the new [ui]
}

// change writes another value of a setting, byDefault for none.
func (f flow) change(path []string, of *setting, value string) (done change, err error) {
	name, value := toml.Key(path).String(), strings.TrimSpace(value)
	s := f.read()
	if why := f.readOnly(); why != "" {
		return done, errors.New(why)
	}
	if s.err != nil {
		return done, s.err
	}
	if i := slices.Index(path, anyName); i >= 0 {
		return done, fmt.Errorf("%s: write a name of your own for %s", name, anyName)
	}
	if of.typ.Kind() == reflect.Slice && of.typ.Elem().Kind() == reflect.Struct {
		return done, fmt.Errorf("%s is a list of tables: parley config edit opens the file", name)
	}
	written := ""
	if value != byDefault || slices.Contains(f.words(of), byDefault) {
		if written, err = tomlValue(of.typ, value); err != nil {
			return done, fmt.Errorf("%s = %s: %w", name, value, err)
		}
	} else if lookup(s.values, path) == nil {
		return done, fmt.Errorf("%s is not set", name)
	}
	after, err := edited(s.text, path, written)
	if err != nil {
		return done, err
	}
	cfg, err := f.replace(app.ConfigChange{Setting: name, Before: s.text, After: after})
	if err != nil {
		return done, err
	}
	values, _ := decode(after) // it was decoded above
	done = change{value: lookup(values, path), ui: valueIn(cfg, []string{"ui"})}
	done.said = name + " is " + cmp.Or(valueText(path, done.value), valueText(path, valueIn(s.defaults, path)), "not set")
	if was := valueText(path, lookup(s.values, path)); was != "" && was != hidden {
		done.said += " · was " + was
	}
	if over, _ := f.file().Sources(); over[name] != "" {
		done.said += " · " + over[name] + " applies here"
	}
	return done, nil
}

// replace writes a changed file, unless it is not valid, and returns the new configuration.
func (f flow) replace(c app.ConfigChange) (cfg any, err error) {
	checked := f.file().New()
	if err := config.Decode(c.After, checked); err != nil {
		return nil, errors.New(lineNumber.ReplaceAllString(strings.TrimSpace(err.Error()), ""))
	}
	if err := f.write(c.After); err != nil {
		return nil, err
	}
	*f.file().Undo = c
	return checked, nil
}

// writeTables is App.ConfigFile.WriteTables.
func (f flow) writeTables(parent string, tables map[string]string, said string, undone func() error) app.Effect {
	s := f.read()
	if why := f.readOnly(); why != "" {
		return app.Refuse("%s", why)
	}
	after, err := s.text, s.err
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		path := []string{parent, name}
		switch there := lookup(s.values, path) != nil; {
		case err != nil:
		case there && tables[name] != "":
			err = fmt.Errorf("%s.%s is in %s already: remove it, or use another name", parent, name, f.app.AbbrevPath(f.file().Path))
		case !there && tables[name] == "":
			err = fmt.Errorf("%s.%s is not in %s", parent, name, f.app.AbbrevPath(f.file().Path))
		default:
			after, err = withTable(after, path, tables[name])
		}
	}
	if err == nil {
		_, err = f.replace(app.ConfigChange{Setting: parent, Before: s.text, After: after, Undone: undone})
	}
	if err != nil {
		return app.Fail(err)
	}
	return f.changed([]string{parent}, change{said: said})
}

// lineNumber matches the line at the beginning of an error about the file.
var lineNumber = lazy.NewRegexp(`^\d+(:\d+)?: `)

// write replaces the file, or the one that it links to.
func (f flow) write(text string) error {
	path, replace := f.file().Path, atomicfile.Replace
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o044 != 0 {
		replace = atomicfile.ReplaceShared
	}
	return replace(path, []byte(text))
}

// undo takes the last change back.
func (f flow) undo() app.Effect {
	last := f.file().Undo
	text, err := os.ReadFile(f.file().Path)
	switch {
	case last.Setting == "":
		return app.Refuse("no setting was changed since parley started")
	case err != nil:
		return app.Fail(err)
	case string(text) != last.After:
		return app.Refuse("%s was changed since: edit it", f.app.AbbrevPath(f.file().Path))
	}
	if err := f.write(last.Before); err != nil {
		return app.Fail(err)
	}
	if last.Undone != nil {
		err = last.Undone()
	}
	path, _ := parseKey(last.Setting)
	*last = app.ConfigChange{}
	s := f.read()
	cfg := f.file().New()
	_ = config.Decode(s.text, cfg) // it was valid before
	e := f.changed(path, change{said: strings.Join(path, ".") + ": change undone", value: lookup(s.values, path), ui: valueIn(cfg, []string{"ui"})})
	if err != nil {
		return app.Then{app.Fail(err), e}
	}
	return e
}

// commandFor returns the command that changes a setting for the open conversation as well; "" for none.
func commandFor(setting string) string {
	switch setting {
	case "model", "effort", "mode", "web":
		return setting
	case "session.history":
		return "history"
	}
	return ""
}

// needsRestart reports whether the front end starts again for a changed setting.
func (f flow) needsRestart(path []string, value any) bool {
	name := strings.Join(path, ".")
	return f.app.Session != nil && name != "ui.discover" && (path[0] != "ui" || name == "ui.screen_reader") && (commandFor(name) == "" || value == nil || value == byDefault)
}

// changed makes a changed setting count in the running program.
func (f flow) changed(path []string, done change) app.Effect {
	a, said := f.app, app.Toast(done.said)
	switch name := commandFor(strings.Join(path, ".")); {
	case a.Session == nil:
		return said
	case !f.needsRestart(path, done.value) && path[0] == "ui":
		return app.Then{app.Reconfigured{Setting: strings.Join(path, "."), UI: done.ui}, said}
	case !f.needsRestart(path, done.value):
		value := valueText(path, done.value)
		if done.value == true {
			value = "on"
		} else if done.value == false {
			value = "off"
		}
		return app.Then{a.Command(name).Run(value), said}
	case a.Restart == nil || a.Ephemeral && !a.Session.Empty() || a.BusyText() != "":
		return said + " · applies from the next start"
	}
	id := ""
	if !a.Session.Empty() {
		id = a.Session.ID()
	}
	restart := func() app.Effect {
		a.Restart(a.Directory, id, done.said)
		return app.Exit{}
	}
	return a.Machine.EndJobs(&app.Confirm{Text: done.said + ". Using it now", Yes: "Use it now", No: "From the next start", Harmless: true, Accept: restart, Decline: func() app.Effect { return said }})
}

// arguments lists the names of settings.
func (f flow) arguments() (items []app.Item) {
	if f.unavailable() != "" {
		return nil
	}
	for _, i := range f.rows(f.read(), false) {
		items = append(items, app.Item{Title: i.Title, Detail: i.Detail, Value: i.Value})
	}
	return items
}
