// Package folders lets the user add folders for tools, and trust the folder that parley runs in.
package folders

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "trust", Group: app.Program, Help: "Trust or untrust this folder", Unavailable: f.nothingToTrust, Run: f.review},
		app.Command{Name: "add-dir", Group: app.Program, Arg: "PATH", Help: "Add a folder that tools may use; remove PATH", Unavailable: a.BusyText, Args: func() []app.Item { return f.items(removeFolder) }, Path: app.PathSiblingDirectory, Run: f.add},
	)
}

// A flow changes the added folders and the trust in the current one.
type flow struct{ app *app.App }

// removeFolder is the prefix of an argument of /add-dir that removes a folder.
const removeFolder = "remove "

// add adds a folder for tools once the user has agreed, removes one, or lists them.
func (f flow) add(arg string) app.Effect {
	directories := &f.app.Session.Directories
	now := slices.Clone(directories.Stored())
	name, remove := strings.CutPrefix(arg, removeFolder)
	switch {
	case arg == "" && len(now) == 0:
		return app.Toast("No folders added · /add-dir PATH adds one")
	case arg == "":
		return app.Choose("Added folders: which one is removed?", "folder", f.items(""), func(dir string) app.Effect { return f.add(removeFolder + dir) })
	case remove:
		dir := f.app.Absolute(strings.TrimSpace(name))
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if !slices.Contains(now, dir) {
			return app.Refuse("%s is not among the added folders: /add-dir lists them", sanitize.Line(name))
		}
		return f.set(func() error {
			return directories.Set(slices.DeleteFunc(now, func(d string) bool { return d == dir })...)
		})
	}
	dir, err := directories.Check(f.app.Absolute(arg))
	if err != nil {
		return app.Fail(err)
	}
	text := "Add " + sanitize.Line(dir) + " to this conversation?\nTools read in it without asking, and change it as the approval mode says; commands in the sandbox can change it. /undo covers edits by tools there, not what commands change. Its AGENTS.md, prompts, skills and hooks are not read."
	return &app.Confirm{Text: text, Yes: "Add folder", No: "Cancel", Accept: func() app.Effect {
		return f.set(func() error { return directories.Add(dir) })
	}}
}

// set changes the added folders and tells the model with the next prompt. The system prompt does not change, because
// providers have it in their caches. The error of the effect names missing folders, which are skipped.
func (f flow) set(change func() error) app.Effect {
	directories := &f.app.Session.Directories
	before, kept := directories.Reachable(), directories.Stored()
	err := change()
	now, stay := directories.Reachable(), session.AddedDirectories{Dirs: directories.Stored()}
	switch {
	case slices.Equal(now, before) && slices.Equal(stay.Dirs, kept):
		return app.Fail(err)
	case slices.Equal(now, before): // only a missing folder was removed
		return app.Then{app.Shown{Event: stay}, app.Fail(err)}
	}
	if servers := f.app.MCP.Servers(); servers != nil {
		servers.SetRoots(append([]string{f.app.Directory}, now...)...)
	}
	var told []string
	for _, dir := range before {
		switch {
		case slices.Contains(now, dir):
		case slices.Contains(stay.Dirs, dir):
			told = append(told, "The folder "+dir+" is missing: tools do not reach it until it is back.")
		default:
			told = append(told, "The folder "+dir+" was removed: tools no longer reach it.")
		}
	}
	if added := slices.DeleteFunc(slices.Clone(now), func(dir string) bool { return slices.Contains(before, dir) }); len(added) > 0 {
		told = append(told, "The user added a folder. "+session.DirectoriesText(added))
	}
	note := llm.Part{Kind: llm.Text, Name: "note on folders", Text: "<note>\n" + strings.Join(told, "\n") + "\n</note>"}
	f.app.Attached = append(f.app.Attached, note)
	return app.Then{app.Shown{Event: stay}, app.Attached{note}, app.Fail(err)}
}

// items lists the added folders; verb before each makes it an argument of the command.
func (f flow) items(verb string) (items []app.Item) {
	directories := &f.app.Session.Directories
	missing := directories.Missing()
	for _, dir := range directories.Stored() {
		item := app.Item{Title: verb + f.app.AbbrevPath(dir), Value: verb + dir}
		if slices.Contains(missing, dir) {
			item.Detail = "missing · used again once it is back"
		}
		items = append(items, item)
	}
	return items
}

// nothingToTrust says why there is no question about the directory; "" if there is one.
func (f flow) nothingToTrust() string {
	if f.app.Trust.Decided.Review == nil {
		return "This folder contains no settings for parley"
	}
	return ""
}

// review asks whether to change the decision about the directory.
func (f flow) review(string) app.Effect {
	c := &app.Confirm{Text: f.app.Trust.Decided.Review(), Yes: wording.TrustYes, No: wording.TrustNo}
	trusted := f.app.Trust.Decided.Get()
	if trusted {
		c = &app.Confirm{Text: "You trust this folder. Stop trusting it?\nIts instructions, settings, prompts, skills, hooks and MCP servers are ignored then.", Yes: "Stop trusting", No: "Cancel", Harmless: true}
	}
	c.Accept = func() app.Effect {
		if err := f.app.Trust.Decided.Set(!trusted); err != nil {
			return app.Fail(err)
		}
		if trusted {
			return app.Toast("Folder not trusted from the next start of parley")
		}
		return app.Toast("Folder trusted from the next start of parley")
	}
	return c
}
