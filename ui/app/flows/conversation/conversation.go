// Package conversation lets the user start, copy, rename, summarize and leave conversations.
package conversation

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/session"
	"parley/ui/app"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands, []app.Command{
		{Name: "retry", Keys: []string{"ctrl+x r"}, Group: app.Messages, Help: "Retry the last message", Unavailable: f.nothingFailed, Run: f.retry},
		{Name: "attach", Aliases: []string{"file"}, Group: app.Messages, Arg: "PATH", Help: "Attach a file or the clipboard image", Path: app.PathFile, Run: a.Attach},

		{Name: "sessions", Aliases: []string{"resume", "continue"}, Keys: []string{"ctrl+x l"}, Group: app.Conversations, Arg: "WORDS", Help: "Find a conversation to open, rename, pin or delete", Run: openPanel(app.PanelSessions)},
		{Name: "new", Aliases: []string{"clear"}, Keys: []string{"ctrl+x n"}, Group: app.Conversations, Help: "Start a new conversation", Unavailable: a.BusyText, Run: func(string) app.Effect { return a.NewSession() }},
		{Name: "fork", Keys: []string{"ctrl+x f"}, Group: app.Conversations, Help: "Fork: continue in a copy", Unavailable: f.busyOrEmpty, Run: func(string) app.Effect { return a.ForkSession(a.Session.ID(), 0) }},
		{Name: "tree", Aliases: []string{"branches"}, Keys: []string{"ctrl+x t"}, Group: app.Conversations, Help: "Branches of this conversation", Unavailable: a.NoBranchesText, Run: openPanel(app.PanelBranches)},
		{Name: "rename", Group: app.Conversations, Arg: "TITLE", Help: "Rename this conversation", Unavailable: a.EmptyText, Run: f.rename},
		{Name: "compact", Aliases: []string{"compress", "summarize"}, Keys: []string{"ctrl+x k"}, Group: app.Conversations, Arg: "ACTION", Help: "Summarize to free context; edit, undo", Unavailable: f.busyOrEmpty, Args: f.compactItems, MultilineArg: "edit", Run: f.compact},

		{Name: "wire", Keys: []string{"ctrl+x w", "f12"}, Group: app.View, Help: "HTTP inspector: raw requests and responses", Unavailable: f.noExchanges, Run: openPanel(app.PanelWire)},

		{Name: "init", Group: app.Program, Help: "Ask the model to write AGENTS.md for this folder", Run: draft(writeInstructions)},
		{Name: "review-changes", Group: app.Program, Help: "Ask the model to review the uncommitted changes", Run: draft(reviewChanges)},
		{Name: "folder", Aliases: []string{"cd"}, Group: app.Program, Arg: "PATH", Help: "Start a new conversation in another folder", Unavailable: f.folderFixed, Path: app.PathDirectory, Run: f.folder},
		{Name: "quit", Aliases: []string{"exit"}, Group: app.Program, Help: "Quit parley", Run: func(string) app.Effect { return app.Quit(a) }},
	}...)
}

type flow struct{ app *app.App }

// draft returns a function that drafts a prompt.
func draft(text string) func(string) app.Effect {
	return func(string) app.Effect { return app.Draft(text) }
}

const (
	writeInstructions = "Look through this folder and write AGENTS.md: what the project is, how it is built and tested, how the code is laid out, and the conventions to follow. Keep it short. If AGENTS.md exists, improve it."
	reviewChanges     = "Review the uncommitted changes in this folder (git status, git diff). List the problems, the worst first: file and line, what goes wrong, how to repair it. Change nothing."
)

// openPanel returns a function that opens a panel with its argument as search text.
func openPanel(p app.Panel) func(string) app.Effect {
	return func(arg string) app.Effect { return app.PanelQuery{Panel: p, Query: arg} }
}

// rename changes the title of the conversation.
func (f flow) rename(title string) app.Effect {
	if title == "" {
		return app.Toast("Type /rename and a title")
	}
	s := f.app.Session
	return app.Do(func(context.Context) error { return s.Rename(title) }, "Renamed to "+title)
}

// compactItems lists the actions for an existing summary.
func (f flow) compactItems() []app.Item {
	if _, _, ok := f.app.Session.Branch.LastSummary(); !ok {
		return nil
	}
	return []app.Item{
		{Title: "edit", Detail: "Change the summary before the next message", Value: "edit"},
		{Title: "undo", Detail: "Send the full messages again", Value: "undo"},
	}
}

// compact summarizes the conversation. "edit" puts the summary into the draft, as the command that replaces it; "undo"
// returns to the state before it.
func (f flow) compact(arg string) app.Effect {
	action, text, _ := strings.Cut(strings.TrimSpace(arg), " ")
	text = strings.TrimSpace(text)
	switch {
	case action == "":
		return app.Play(f.app.Session.Compact)
	case action == "undo" && text == "":
		if err := f.app.Session.Branch.UndoSummary(); err != nil {
			return app.Fail(err)
		}
		return app.Then{app.SessionOpened{}, app.Toast("Summary undone: full messages are sent again")}
	case action == "edit" && text == "":
		_, summary, ok := f.app.Session.Branch.LastSummary()
		if !ok {
			return app.Failure{Err: session.ErrNoSummary}
		}
		return app.DraftCommand("/compact edit " + summary)
	case action == "edit":
		if err := f.app.Session.Branch.EditSummary(text); err != nil {
			return app.Fail(err)
		}
		return app.Then{app.SessionOpened{}, app.Toast("Summary replaced")}
	}
	return app.Refuse("unknown action %q: use /compact, /compact edit or /compact undo", action)
}

// retry asks again from the last prompt or tool results. An empty answer remains as a branch.
func (f flow) retry(string) app.Effect {
	dropped := f.app.Session.Branch.DropEmptyAnswer()
	e := f.app.AnswerLast()
	if dropped {
		return app.Then{app.SessionOpened{}, e}
	}
	return e
}

// folder changes to another directory, by name or from a list.
func (f flow) folder(arg string) app.Effect {
	if arg != "" {
		return f.enterFolder(arg)
	}
	o := f.app.Options
	return app.Async(func(context.Context) app.Effect {
		dirs, err := otherDirectories(o)
		switch {
		case len(dirs) == 0 && err != nil:
			return app.Fail(err)
		case len(dirs) == 0:
			return app.Toast("No other folder known yet · /cd PATH opens one")
		}
		var items []app.Item
		for _, dir := range dirs {
			items = append(items, app.Item{Title: o.AbbrevPath(dir), Value: dir})
		}
		return app.Choose("Open another folder · /cd PATH opens any", "folder", items, f.enterFolder)
	})
}

// enterFolder ends this front end and restarts in another directory.
func (f flow) enterFolder(name string) app.Effect {
	dir, err := findDirectory(f.app.Options, name)
	if err != nil {
		return app.Fail(err)
	}
	return f.app.Machine.EndJobs(&app.Confirm{Text: "Changing the folder", Yes: "Change folder", No: "Cancel", Harmless: true, Accept: func() app.Effect {
		f.app.Restart(dir, "", "")
		return app.Exit{}
	}})
}

// findDirectory returns the absolute path of an existing directory. ~ is the home directory; relative names are
// resolved against o.Directory.
func findDirectory(o app.Options, name string) (string, error) {
	name = o.Absolute(name)
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", name)
	}
	return name, err
}

// otherDirectories returns the existing directories of stored conversations except o.Directory, the most recent first.
func otherDirectories(o app.Options) (all []string, err error) {
	rows, err := o.Library.List(session.Query{})
	for _, s := range rows {
		if s.Dir == o.Directory || slices.Contains(all, s.Dir) {
			continue
		}
		if dir, err := findDirectory(o, s.Dir); err == nil && filepath.IsAbs(s.Dir) {
			all = append(all, dir)
		}
	}
	return all, err
}

func (f flow) busyOrEmpty() string { return cmp.Or(f.app.BusyText(), f.app.EmptyText()) }

func (f flow) nothingFailed() string {
	if f.app.FrontEnd.Busy() || !f.app.Session.Unanswered() {
		return "Nothing to retry"
	}
	return ""
}

func (f flow) folderFixed() string {
	if f.app.Restart == nil {
		return "The folder is fixed here"
	}
	return f.app.BusyText()
}

func (f flow) noExchanges() string {
	if f.app.Wire.List == nil || len(f.app.Wire.List()) == 0 {
		return "No requests yet"
	}
	return ""
}
