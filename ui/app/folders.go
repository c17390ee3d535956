package app

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
)

// removeFolder begins the argument of /add-dir that takes a folder away.
const removeFolder = "remove "

// addFolder lets tools reach another folder once the user has agreed, takes one away, or lists
// them.
func addFolder(a *App, arg string) Effect {
	now := slices.Clone(a.Session.Directories().Stored())
	name, remove := strings.CutPrefix(arg, removeFolder)
	switch {
	case arg == "" && len(now) == 0:
		return Toast("No folders added · /add-dir PATH adds one")
	case arg == "":
		return &List{Title: "Added folders: which one is removed?", Noun: "folder", Items: addedItems(a, ""), Choose: func(i Item, _ string) Effect { return addFolder(a, removeFolder+i.Value) }}
	case remove:
		dir, err := a.absolute(strings.TrimSpace(name))
		if real, rerr := filepath.EvalSymlinks(dir); rerr == nil {
			dir = real
		}
		if err != nil || !slices.Contains(now, dir) {
			return Refuse("%s is not among the added folders: /add-dir lists them", sanitize.Line(name))
		}
		return setFolders(a, func() error {
			return a.Session.Directories().Set(slices.DeleteFunc(now, func(d string) bool { return d == dir })...)
		})
	}
	dir, err := a.absolute(arg)
	if err == nil {
		dir, err = a.Session.Directories().Check(dir)
	}
	if err != nil {
		return Failure{Err: err}
	}
	text := "Add " + sanitize.Line(dir) + " to this conversation?\nTools read in it without asking, and change it as the approval mode says; commands in the sandbox can change it. /undo covers edits by tools there, not what commands change. Its AGENTS.md, prompts, skills and hooks are not read."
	return &Confirm{Text: text, Yes: "Add folder", No: "Cancel", Accept: func() Effect {
		return setFolders(a, func() error { return a.Session.Directories().Add(dir) })
	}}
}

// setFolders changes which folders tools reach but for those that are missing, which the error of the
// effect tells, and tells the model with the next prompt: the system prompt stays as it is, which
// providers have in their caches.
func setFolders(a *App, change func() error) Effect {
	before, kept := a.Session.Directories().Reachable(), a.Session.Directories().Stored()
	err := change()
	now, stay := a.Session.Directories().Reachable(), session.AddedDirectories{Dirs: a.Session.Directories().Stored()}
	switch {
	case slices.Equal(now, before) && slices.Equal(stay.Dirs, kept):
		return Fail(err)
	case slices.Equal(now, before): // a missing one was removed
		return Then{Shown{stay}, Fail(err)}
	}
	if servers := a.Servers(); servers != nil {
		servers.SetRoots(append([]string{a.Directory}, now...)...)
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
	a.Attached = append(a.Attached, note)
	return Then{Shown{stay}, Attached{note}, Fail(err)}
}

// FoldersText says which folders tools reach beside the working directory.
func FoldersText(f session.AddedDirectories) string {
	if len(f.Dirs) == 0 {
		return "No added folders"
	}
	return "Added folders: " + sanitize.Line(strings.Join(f.Dirs, ", "))
}

func addedItems(a *App, verb string) (items []Item) {
	missing := a.Session.Directories().Missing()
	for _, dir := range a.Session.Directories().Stored() {
		item := Item{Title: verb + a.AbbrevPath(dir), Value: verb + dir}
		if slices.Contains(missing, dir) {
			item.Detail = "missing · used again once it is back"
		}
		items = append(items, item)
	}
	return items
}

// folderItems lists the directories that /add-dir can remove.
func folderItems(a *App) []Item { return addedItems(a, removeFolder) }
