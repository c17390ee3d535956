package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/clip"
)

// A Check is one line of a checkup: how it stands with one thing that parley works with.
type Check struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint"` // what to do about it; "" if nothing has to be done
}

// A Status says whether something works.
type Status string

const (
	Works  Status = "ok"
	Warns  Status = "warning" // works, but not as well as it could
	Broken Status = "broken"
)

// Sign returns the sign that a line with the status begins with.
func (s Status) Sign() string {
	return map[Status]string{Works: "✓", Warns: "!", Broken: "✗"}[s]
}

// Sections of a checkup, in their order.
const (
	SectionProviders     = "Providers"
	SectionAgents        = "Agent CLIs"
	SectionLocal         = "Local servers"
	SectionMCP           = "MCP servers"
	SectionTerminal      = "Terminal"
	SectionSandbox       = "Sandbox"
	SectionStore         = "Store"
	SectionConfiguration = "Configuration"
)

// Sections lists all of them in order.
var Sections = []string{SectionProviders, SectionAgents, SectionLocal, SectionMCP, SectionTerminal, SectionSandbox, SectionStore, SectionConfiguration}

// A TerminalState is what a front end knows of the terminal; "" is not known.
type TerminalState struct {
	Colors     string // how many, such as "truecolor"
	Background string // "dark" or "light", and how that is known
	Keyboard   string // its protocol
	Images     string // how they are drawn
}

// Checks returns the lines about a terminal: what the front end knows, and the way to the
// clipboard.
func (t TerminalState) Checks(ctx context.Context, getenv func(string) string, board *clip.Board) []Check {
	line := func(name, detail, hint string) Check {
		c := Check{Section: SectionTerminal, Name: name, Status: Works, Detail: detail}
		if detail == "" {
			c.Detail = "unknown"
		}
		if hint != "" {
			c.Status, c.Hint = Warns, hint
		}
		return c
	}
	hint := func(when bool, text string) string {
		if when {
			return text
		}
		return ""
	}
	term, routes := getenv("TERM"), board.Routes(ctx)
	clipboard := strings.Join(routes, ", ")
	if clipboard == "" {
		clipboard = "none"
	}
	return []Check{
		line("TERM", term, hint(term == "" || term == "dumb", "Set TERM to your terminal, such as xterm-256color; with dumb parley prints plain lines")),
		line("colors", t.Colors, ""),
		line("background", t.Background, ""),
		line("keyboard", t.Keyboard, ""),
		line("clipboard", clipboard, hint(len(routes) == 0, "Copies go to a file: install wl-clipboard or xclip, or use a terminal with OSC 52")),
		line("images", t.Images, ""),
	}
}

// CheckReport returns checks by their sections, each with its title and the lines that show it.
func CheckReport(checks []Check) (parts []CheckSection) {
	for _, section := range Sections {
		var lines []CheckLine
		for _, c := range checks {
			if c.Section == section {
				lines = append(lines, c.lines()...)
			}
		}
		if len(lines) > 0 {
			parts = append(parts, CheckSection{Title: section, Lines: lines})
		}
	}
	return parts
}

// lines returns c as a user reads it, and below it what to do.
func (c Check) lines() []CheckLine {
	text := sanitize.Line(c.Name)
	if detail := sanitize.Line(c.Detail); detail != "" {
		text += ": " + detail
	}
	lines := []CheckLine{{Sign: c.Status.Sign(), Text: text}}
	if hint := sanitize.Line(c.Hint); hint != "" {
		lines = append(lines, CheckLine{Sign: " ", Text: hint})
	}
	return lines
}

// HasBrokenCheck reports whether something of checks does not work.
func HasBrokenCheck(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Status == Broken })
}

// A CheckSection is a part of a checkup, in lines to show. They are sanitized.
type CheckSection struct {
	Title string
	Lines []CheckLine
}

// A CheckLine is one of them: what a Check says behind its sign, or behind a blank what to
// do about it.
type CheckLine struct{ Sign, Text string }

// String returns the line in plain text.
func (l CheckLine) String() string { return l.Sign + " " + l.Text }

// Text returns the lines of s.
func (s CheckSection) Text() string {
	var lines []string
	for _, l := range s.Lines {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

func noCheckup(a *App) string {
	if a.Checkup == nil {
		return "Not available here"
	}
	return ""
}

// A ManualPage is one topic of the manual.
type ManualPage struct {
	Name  string // as /manual and parley help take it
	Title string
	Text  string // Markdown

	// Render returns the text in lines that are at most width cells wide, where they can be
	// broken, without styles.
	Render func(width int) []string
}

func noManual(a *App) string {
	if a.Manual == nil {
		return "No manual here"
	}
	return ""
}

func manualItems(a *App) []Item {
	if a.Manual == nil {
		return nil
	}
	var items []Item
	for _, p := range a.Manual() {
		items = append(items, Item{Title: p.Name, Detail: p.Title, Value: p.Name})
	}
	return items
}

// FindManual returns the page of a name, and whether there is one.
func FindManual(a *App, name string) (ManualPage, bool) {
	if a.Manual == nil {
		return ManualPage{}, false
	}
	pages := a.Manual()
	i := slices.IndexFunc(pages, func(p ManualPage) bool { return p.Name == strings.ToLower(name) })
	if i < 0 {
		return ManualPage{}, false
	}
	return pages[i], true
}

// showManual opens a page of the manual, or lists them.
func showManual(a *App, name string) Effect {
	if name == "" {
		return Effect{List: &List{Title: "Manual", Noun: "page", Items: manualItems(a), Choose: func(i Item, _ string) Effect {
			return Effect{View: PanelQuery{PanelManual, i.Value}}
		}}}
	}
	if _, ok := FindManual(a, name); !ok {
		return ShowToast(fmt.Sprintf("No page %q in the manual: /manual lists them", name))
	}
	return Effect{View: PanelQuery{PanelManual, name}}
}

// showHelp shows the keys, or, as parley help TOPIC does, a page of the manual.
func showHelp(a *App, topic string) Effect {
	if topic != "" && a.Manual != nil {
		return showManual(a, topic)
	}
	return Effect{View: PanelQuery{Panel: PanelHelp}}
}

// removeFolder begins the argument of /add-dir that takes a folder away.
const removeFolder = "remove "

// addFolder lets tools reach another folder once the user has agreed, takes one away, or lists
// them.
func addFolder(a *App, arg string) Effect {
	now := slices.Clone(session.BranchDirectories(a.Session))
	name, remove := strings.CutPrefix(arg, removeFolder)
	switch {
	case arg == "" && len(now) == 0:
		return ShowToast("No folders added · /add-dir PATH adds one")
	case arg == "":
		return Effect{List: &List{Title: "Added folders: which one is removed?", Noun: "folder", Items: addedItems(a, ""), Choose: func(i Item, _ string) Effect { return addFolder(a, removeFolder+i.Value) }}}
	case remove:
		dir, err := a.absolute(strings.TrimSpace(name))
		if real, rerr := filepath.EvalSymlinks(dir); rerr == nil {
			dir = real
		}
		if err != nil || !slices.Contains(now, dir) {
			return ShowToast(sanitize.Line(name) + " is not among the added folders")
		}
		return setFolders(a, func() error {
			return session.SetDirectories(a.Session, slices.DeleteFunc(now, func(d string) bool { return d == dir })...)
		})
	}
	dir, err := a.absolute(arg)
	if err == nil {
		dir, err = session.CheckDirectory(a.Session, dir)
	}
	if err != nil {
		return Effect{Err: err}
	}
	text := "Add " + sanitize.Line(dir) + " to this conversation?\nTools read in it without asking, and change it as the approval mode says; commands in the sandbox can change it. /undo covers edits by tools there, not what commands change. Its AGENTS.md, prompts, skills and hooks are not read."
	return Effect{Confirm: &Confirm{Text: text, Yes: "Add folder", No: "Cancel", Answer: func(yes bool) Effect {
		if !yes {
			return Effect{}
		}
		return setFolders(a, func() error { return session.AddDirectory(a.Session, dir) })
	}}}
}

// setFolders changes which folders tools reach but for those that are missing, which the error of the
// effect tells, and tells the model with the next prompt: the system prompt stays as it is, which
// providers have in their caches.
func setFolders(a *App, change func() error) Effect {
	before, kept := session.AddedDirectories(a.Session), session.BranchDirectories(a.Session)
	err := change()
	now, stay := session.AddedDirectories(a.Session), session.Directories{Dirs: session.BranchDirectories(a.Session)}
	switch {
	case slices.Equal(now, before) && slices.Equal(stay.Dirs, kept):
		return Effect{Err: err}
	case slices.Equal(now, before): // a missing one was removed
		return Effect{Event: stay, Err: err}
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
	return Effect{Event: stay, Attached: []llm.Part{note}, Err: err}
}

// FoldersText says which folders tools reach beside the working directory.
func FoldersText(f session.Directories) string {
	if len(f.Dirs) == 0 {
		return "No added folders"
	}
	return "Added folders: " + sanitize.Line(strings.Join(f.Dirs, ", "))
}

func addedItems(a *App, verb string) (items []Item) {
	missing := session.MissingDirectories(a.Session)
	for _, dir := range session.BranchDirectories(a.Session) {
		item := Item{Title: verb + a.AbbrevPath(dir), Value: verb + dir}
		if slices.Contains(missing, dir) {
			item.Detail = "missing · used again once it is back"
		}
		items = append(items, item)
	}
	return items
}

// folderItems lists what can be removed behind /add-dir.
func folderItems(a *App) []Item { return addedItems(a, removeFolder) }
