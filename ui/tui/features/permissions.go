package features

import (
	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// Permissions lists the rules about tools.
type Permissions struct{ *Deps }

// Update takes what the user did in the list, and reports whether msg is that.
func (f *Permissions) Update(msg tea.Msg) (tea.Cmd, bool) {
	if gone, ok := msg.(dialog.PermissionRemoved); ok {
		return f.revoke(gone.PermissionRow), true
	}
	return nil, false
}

// List lists the rules about tools, to be looked at and taken away.
func (f *Permissions) List() tea.Cmd {
	var rows []dialog.PermissionRow
	for _, r := range f.App.Policy().Rules() {
		row := dialog.PermissionRow{Rule: r.String(), Effect: string(r.Effect), From: string(r.Source), Directory: f.App.AbbrevPath(r.Workspace)}
		if r.Workspace == "" {
			row.Directory = ""
		}
		if row.From == "config" {
			row.File = f.App.AbbrevPath(f.App.ConfigFile)
		}
		rows = append(rows, row)
	}
	return f.Open(dialog.Permissions(rows, f.Theme))
}

// revoke takes a rule away.
func (f *Permissions) revoke(row dialog.PermissionRow) tea.Cmd {
	policy := f.App.Policy()
	for _, r := range policy.Rules() {
		if r.String() == row.Rule && string(r.Effect) == row.Effect && string(r.Source) == row.From && (r.Workspace == "" && row.Directory == "" || f.App.AbbrevPath(r.Workspace) == row.Directory) {
			policy.Remove(r)
			return f.ShowToast(app.RuleRemoved)
		}
	}
	return nil
}
