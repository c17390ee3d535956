package features

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// A Connect asks for hidden lines, such as API keys of providers. An accepted line may make
// other models ready.
type Connect struct {
	*panel.Deps
	models *Models
}

// lineSubmittedMsg reports the result of a submitted line; then returns the effect to show.
type lineSubmittedMsg struct {
	of   *dialog.Secret
	then func() app.Effect
	err  error
}

// readyMsg reports that the line of a dialog is no longer needed.
type readyMsg struct{ of *dialog.Secret }

// ask asks for a line and passes it to the function that needs it.
func (f *Connect) ask(secret *app.Secret) tea.Cmd {
	d := dialog.AskSecret(secret.Title, secret.Text, f.Theme)
	if secret.Visible {
		d.Show(secret.Value)
	}
	d.Optional = secret.Optional
	ctx, cancel := context.WithCancel(context.Background())
	d.Submit = func(line string) tea.Cmd {
		return func() tea.Msg {
			then, err := secret.Submit(ctx, line)
			return lineSubmittedMsg{d, then, err}
		}
	}
	cmd := f.Open(d)
	f.OnLeave(func(dialog.Left) tea.Cmd {
		cancel()
		if secret.OnDismiss != nil {
			secret.OnDismiss()
		}
		return nil
	})
	if secret.Ready == nil {
		return cmd
	}
	return tea.Batch(cmd, func() tea.Msg {
		select {
		case <-secret.Ready:
			return readyMsg{d}
		case <-ctx.Done():
			return nil
		}
	})
}

// Update asks for a line and handles its result. It reports whether msg was one of these.
func (f *Connect) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case *app.Secret:
		return f.ask(msg), true
	case readyMsg:
		if msg.of.Checking() || f.Current() != dialog.Dialog(msg.of) {
			return nil, true // caused by the submitted line, or the user left the dialog
		}
		msg.of.MarkChecking()
		return msg.of.Submit(""), true
	case lineSubmittedMsg:
		return f.lineSubmitted(msg), true
	}
	return nil, false
}

// lineSubmitted shows the result of a line. It does not show errors of a closed dialog.
func (f *Connect) lineSubmitted(msg lineSubmittedMsg) tea.Cmd {
	open := f.Current() == dialog.Dialog(msg.of)
	if msg.err != nil {
		if open {
			msg.of.Reject(format.Capital(format.ErrorText(msg.err)))
		}
		return nil
	}
	if open {
		f.Close()
	}
	f.models.forget()
	return f.Perform(msg.then())
}
