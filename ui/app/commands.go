package app

import (
	"cmp"
	"slices"

	"parley/providers/llm"
)

// Commands returns what every front end can do. A new command is a row here.
func Commands() []Command {
	return []Command{
		{Name: "retry", Keys: []string{"ctrl+x r"}, Group: Talking, Help: "try the failed turn again", Unavailable: nothingFailed, Run: (*App).retry},
		{Name: "attach", Group: Talking, Arg: "PATH", Help: "attach a file, or the picture on the clipboard", Run: (*App).attach},
		{Name: "prompt", Group: Talking, Arg: "NAME", Help: "a prompt of an MCP server", Unavailable: noPrompts, Args: (*App).PromptItems, Run: (*App).prompt},
		{Name: "resource", Group: Talking, Help: "attach a resource of an MCP server", Unavailable: noResources, Run: (*App).resource},
		{Name: "permissions", Group: Talking, Help: "rules about tools: what may run unasked, and what never", Unavailable: noRules, Run: show(PanelPermissions)},
		{Name: "mode", Keys: []string{"shift+tab"}, Group: Talking, Arg: "MODE", Help: "approval mode: ask, auto, read-only; yolo by name", Args: modeItems, Run: (*App).mode},

		{Name: "sessions", Aliases: []string{"resume", "continue"}, Keys: []string{"ctrl+x l"}, Group: Conversations, Arg: "WORDS", Help: "find a conversation: open, rename, pin, delete", Run: show(PanelSessions)},
		{Name: "new", Aliases: []string{"clear"}, Keys: []string{"ctrl+x n"}, Group: Conversations, Help: "start a new conversation", Unavailable: busy, Run: (*App).newSession},
		{Name: "fork", Keys: []string{"ctrl+x f"}, Group: Conversations, Help: "go on from here in a copy", Unavailable: busyOrEmpty, Run: forkHere},
		{Name: "rename", Group: Conversations, Arg: "TITLE", Help: "give this conversation a title", Unavailable: nothingSaid, Run: (*App).rename},
		{Name: "export", Keys: []string{"ctrl+x e"}, Group: Conversations, Arg: "FORMAT PATH", Help: "write this conversation to a file", Unavailable: nothingSaid, Args: exportItems, Run: (*App).export},
		{Name: "compact", Keys: []string{"ctrl+x k"}, Group: Conversations, Help: "summarize what was said, to save room", Unavailable: busyOrEmpty, Run: compact},
		{Name: "history", Group: Conversations, Arg: "MODE", Help: "what requests hold: full, dynamic, stateless", Args: historyItems, Run: (*App).history},
		{Name: "context", Group: Conversations, Help: "what every request holds", Run: show(PanelContext)},
		{Name: "usage", Keys: []string{"ctrl+x u"}, Group: Conversations, Help: "tokens and cost", Run: show(PanelUsage)},

		{Name: "model", Aliases: []string{"models"}, Keys: []string{"ctrl+x m", "alt+p"}, Group: ModelsGroup, Arg: "NAME", Help: "pick a model", Run: (*App).model},
		{Name: "next-model", Keys: []string{"f2", "ctrl+x ."}, Group: ModelsGroup, Help: "next recent model", Unavailable: noOtherModel, Run: cycleModels(1)},
		{Name: "previous-model", Keys: []string{"shift+f2"}, Group: ModelsGroup, Help: "previous recent model", Unavailable: noOtherModel, Run: cycleModels(-1)},
		{Name: "effort", Group: ModelsGroup, Arg: "LEVEL", Help: "pick how much the model thinks", Unavailable: noEfforts, Args: effortItems, Run: (*App).effort},
		{Name: "less-effort", Keys: []string{"alt+,"}, Group: ModelsGroup, Help: "think less", Unavailable: noEfforts, Run: changeEffort(-1)},
		{Name: "more-effort", Keys: []string{"alt+."}, Group: ModelsGroup, Help: "think more", Unavailable: noEfforts, Run: changeEffort(1)},
		{Name: "thinking", Keys: []string{"alt+t"}, Group: ModelsGroup, Help: "thinking off or on", Unavailable: alwaysThinks, Run: (*App).toggleThinking},

		{Name: "help", Keys: []string{"f1", "ctrl+x ?"}, Group: Program, Help: "keys", Run: show(PanelHelp)},
		{Name: "mcp", Group: Program, Arg: "NAME", Help: "MCP servers: their state and their tools", Unavailable: noServers, Run: (*App).mcp},
		{Name: "folder", Aliases: []string{"cd"}, Group: Program, Arg: "PATH", Help: "work in another folder, in a new conversation", Unavailable: folderFixed, Run: (*App).folder},
		{Name: "quit", Aliases: []string{"exit"}, Group: Program, Help: "leave parley", Run: func(*App, string) Effect { return Effect{Quit: true} }},
	}
}

// show returns a command that opens a panel, searched for its argument.
func show(p Panel) func(*App, string) Effect {
	return func(_ *App, arg string) Effect { return Effect{Panel: p, Query: arg} }
}

// What follows says why a command cannot run now; "" if it can.

func busy(a *App) string {
	if a.Busy() {
		return "stop the running turn first"
	}
	return ""
}

func nothingSaid(a *App) string {
	if len(a.Session.History()) == 0 {
		return "nothing was said yet"
	}
	return ""
}

func busyOrEmpty(a *App) string { return cmp.Or(busy(a), nothingSaid(a)) }

func nothingFailed(a *App) string {
	if a.Busy() || !a.Failed() {
		return "there is nothing to try again"
	}
	return ""
}

func noRules(a *App) string {
	if len(a.Session.Policy().Rules()) == 0 {
		return "there are no rules yet: p in a question makes one"
	}
	return ""
}

func noOtherModel(a *App) string {
	if len(a.Recent) < 2 {
		return "no other recent model: " + a.KeyOf("model") + " picks one"
	}
	return ""
}

func noEfforts(a *App) string {
	if len(a.Session.Model().Efforts) == 0 {
		return "this model has no effort to set"
	}
	return ""
}

func alwaysThinks(a *App) string {
	if !slices.Contains(a.Session.Model().Efforts, llm.EffortOff) {
		return "this model cannot switch thinking off and on"
	}
	return ""
}

func noServers(a *App) string {
	if a.Servers() == nil {
		return "no MCP server is configured: [mcp.NAME] in the configuration adds one"
	}
	return ""
}

func noPrompts(a *App) string {
	if servers := a.Servers(); servers != nil && len(servers.Prompts()) == 0 {
		return "no MCP server has prompts"
	}
	return noServers(a)
}

func noResources(a *App) string {
	if servers := a.Servers(); servers != nil && len(servers.Resources()) == 0 {
		return "no MCP server has resources"
	}
	return noServers(a)
}

func folderFixed(a *App) string {
	if a.Enter == nil {
		return "The folder is fixed here"
	}
	return busy(a)
}
