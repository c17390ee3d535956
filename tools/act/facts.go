package act

import "slices"

// Facts describe one of parley's own tools. A tool has a row in Tools, and in package tools a file that registers it
// and one with its description.
type Facts struct {
	Name     string
	Reads    bool      // its actions have AccessRead or are refused; compared models may call it
	Kind     string    // icon in an editor: read, search, edit, execute, fetch, think
	Did      string    // verb for several calls in a row, as in "read 3 files"; "": each has its own line
	What     string    // noun for that verb
	Program  bool      // the end of its output is shown rather than the beginning
	Preview  []Preview // arguments whose text is shown while it arrives
	Language string    // file name that gives the language of that text; "": the argument path does
	Does     string    // column of that row for the mode ask
	InAsk    string    // the row's column for the mode ask
}

// A Preview is an argument whose text is shown as lines of a diff.
type Preview struct {
	Argument string
	Sign     byte // '+', '-', or ' ' for a text that is not shown once the call runs
}

// Tools lists every tool of parley's own, in the order in which a model is told of them.
var Tools = []Facts{
	{Name: "read", Reads: true, Kind: "read", Did: "read", What: "file", Does: looks, InAsk: "runs"},
	{Name: "list", Reads: true, Kind: "read", Did: "listed", What: "folder", Does: looks, InAsk: "runs"},
	{Name: "glob", Reads: true, Kind: "search", Did: "searched", What: "pattern", Does: looks, InAsk: "runs"},
	{Name: "grep", Reads: true, Kind: "search", Did: "searched", What: "pattern", Does: looks, InAsk: "runs"},
	{Name: "write", Kind: "edit", Preview: []Preview{{"content", '+'}}, Does: changes, InAsk: "asks, shows the diff"},
	{Name: "edit", Kind: "edit", Preview: []Preview{{"old", '-'}, {"new", '+'}}, Does: changes, InAsk: "asks, shows the diff"},
	{Name: "shell", Kind: "execute", Program: true, Preview: []Preview{{"command", ' '}}, Language: "command.sh", Does: "Runs a command", InAsk: "asks, shows the command"},
	{Name: "jobs", Kind: "execute", Does: "Reads, waits for and ends its background commands", InAsk: "runs"},
	{Name: "fetch", Kind: "fetch", Does: "Gets a public page or file from the web", InAsk: "asks for each host"},
	{Name: PlanTool, Kind: "think", Does: "Shows the steps of longer work", InAsk: "runs"},
}

const (
	looks   = "Look at files of the folder"
	changes = "Create and change files"
)

// FactsOf returns the facts of a tool; only the name of one that is not parley's own.
func FactsOf(name string) Facts {
	if i := slices.IndexFunc(Tools, func(f Facts) bool { return f.Name == name }); i >= 0 {
		return Tools[i]
	}
	return Facts{Name: name}
}

// IsOwn reports whether a tool is parley's own.
func IsOwn(name string) bool { return FactsOf(name).Kind != "" }

// IsReserved reports whether no tool of a configuration can have the name: parley has one, or adds one where it can
// be used.
func IsReserved(name string) bool {
	return IsOwn(name) || slices.Contains([]string{SkillName, SearchName, AskTool, ConsultTool, ExploreTool, RememberTool}, name)
}
