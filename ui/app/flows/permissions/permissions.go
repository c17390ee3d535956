// Package permissions lets the user set the approval mode, read the rules about tools, and remove the rules that
// approvals made.
package permissions

import (
	"slices"
	"strconv"
	"strings"

	"parley/tools"
	"parley/tools/act"
	"parley/tools/rule"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/describe"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "permissions", Aliases: []string{"allowed-tools"}, Group: app.Messages, Help: "Tool permissions: allow and deny rules", Unavailable: f.noRules, Run: f.list},
		app.Command{Name: "mode", Aliases: []string{"approvals"}, Group: app.Messages, Arg: "MODE", Help: "Approval mode (ask, auto, plan, read-only, yolo)", Args: f.modes, Run: f.setMode},
		app.Command{Name: "next-mode", Keys: []string{"shift+tab"}, Group: app.Messages, Help: "Next approval mode", Run: f.nextMode},
	)
}

// A flow lists the permission rules of the open conversation and sets its mode.
type flow struct{ app *app.App }

// policy returns the policy of the conversation with its rules; an empty one if it has none.
func (f flow) policy() *tools.Policy {
	if p, ok := f.app.Session.Policy().(*tools.Policy); ok {
		return p
	}
	return &tools.Policy{}
}

func (f flow) noRules() string {
	if len(f.policy().Rules()) == 0 {
		return "No permission rules yet. Press p in an approval to add one"
	}
	return ""
}

func (f flow) list(string) app.Effect {
	var rules []rule.Rule // rules in the list
	items := func() (items []app.Item) {
		rules = f.policy().Rules()
		for i, r := range rules {
			items = append(items, app.Item{Title: string(r.Effect) + " " + strings.Join(lines(r), "␊"), Detail: f.origin(r), Value: strconv.Itoa(i)})
		}
		return items
	}
	at := func(value string) rule.Rule {
		n, _ := strconv.Atoi(value)
		return rules[n]
	}
	return &app.List{
		Title: "Permissions", Noun: "rule", Items: items(), Refresh: items,
		Choose: func(value string) app.Effect { return f.show(at(value)) },
		Remove: func(value string) app.Effect { return f.remove(at(value)) },
	}
}

// lines returns the text of a rule with invisible characters revealed.
func lines(r rule.Rule) (lines []string) {
	for line := range strings.SplitSeq(r.String(), "\n") {
		lines = append(lines, describe.Reveal(line))
	}
	return lines
}

// origin describes the source and the scope of a rule.
func (f flow) origin(r rule.Rule) string {
	from := map[string]string{rule.FromConfig: "from " + f.app.AbbrevPath(f.app.ConfigFile.Path), rule.FromFlag: "command line", rule.FromState: "always", rule.FromSession: "this session"}[r.Source]
	if r.Workspace == "" {
		return from + ", in every folder"
	}
	return from + ", in " + f.app.AbbrevPath(r.Workspace)
}

// fixed says where to change a rule that did not come from an approval.
func (f flow) fixed(r rule.Rule) string {
	if r.Source == rule.FromFlag {
		return "Set by the command line: change it there"
	}
	return "Set in " + f.app.AbbrevPath(f.app.ConfigFile.Path) + ": change it there"
}

// show shows a whole rule and offers to remove it.
func (f flow) show(r rule.Rule) app.Effect {
	title := string(r.Effect) + ", " + f.origin(r)
	if !r.IsConfigured() {
		return &app.Confirm{Text: title + "\n\n" + strings.Join(lines(r), "\n"), Yes: "Remove", No: "Close", Accept: func() app.Effect { return f.remove(r) }}
	}
	part := format.Part{Title: title, Note: f.fixed(r), Source: r.String()}
	for _, line := range lines(r) {
		part.Lines = append(part.Lines, format.Line{Text: line})
	}
	return app.Page{Title: "Permissions", Parts: []format.Part{part}}
}

// remove removes a rule made by an approval.
func (f flow) remove(r rule.Rule) app.Effect {
	switch {
	case r.IsConfigured():
		return app.Toast(f.fixed(r))
	case f.policy().Remove(r):
		return app.Toast("Rule removed")
	}
	return nil
}

// modes lists the approval modes.
func (f flow) modes() []app.Item {
	var items []app.Item
	now, all := f.app.Session.Policy().Mode(), append(slices.Clone(act.Modes), act.ModeYolo)
	if now == act.ModeEdits { // cannot be chosen, only approved
		all = append([]act.Mode{now}, all...)
	}
	for _, mode := range all {
		items = append(items, app.Item{Title: string(mode), Detail: wording.ModeDetail(mode), Value: string(mode), Current: mode == now})
	}
	return items
}

// setMode sets the approval mode, by name or from a list.
func (f flow) setMode(arg string) app.Effect {
	p := f.app.Session.Policy()
	switch {
	case arg == "":
		return app.Choose("Approval mode", "mode", f.modes(), f.setMode)
	case slices.Contains(act.Modes, act.Mode(arg)), arg == string(act.ModeYolo), arg == string(p.Mode()):
		p.SetMode(act.Mode(arg))
	default:
		return app.Refuse("unknown approval mode %q: use %s or yolo", arg, format.JoinComma(act.Modes))
	}
	return app.Toast("Approval mode: " + wording.ModeHelp(p.Mode()))
}

// nextMode switches to the next approval mode.
func (f flow) nextMode(string) app.Effect {
	p := f.app.Session.Policy()
	p.SetMode(p.Mode().Next())
	return app.Toast("Approval mode: " + wording.ModeHelp(p.Mode()))
}
