package features

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// A Connect asks for lines that are not shown, such as the keys of providers. What comes of
// one may make other models ready.
type Connect struct {
	*panel.Deps
	models *Models

	open   *dialog.Secret // that was opened last
	secret *app.Secret    // what it asks for
	cancel context.CancelFunc
}

// lineSubmittedMsg says what came of a line; then is what is shown of it.
type lineSubmittedMsg struct {
	of   *dialog.Secret
	then func() app.Effect
	err  error
}

// ask asks for a line.
func (f *Connect) ask(secret *app.Secret) tea.Cmd {
	f.open, f.secret, f.cancel = dialog.AskSecret(secret.Title, secret.Text, f.Theme), secret, func() {}
	if secret.Visible {
		f.open.Show(secret.Value)
	}
	if secret.Optional {
		f.open.AllowEmpty()
	}
	cmd := f.Open(f.open)
	gone := make(chan struct{})
	f.OnLeave(func(dialog.ClosedMsg) tea.Cmd {
		close(gone)
		f.cancel()
		if secret.OnDismiss != nil {
			secret.OnDismiss()
		}
		return nil
	})
	if secret.Ready == nil {
		return cmd
	}
	of := f.open
	return tea.Batch(cmd, func() tea.Msg {
		select {
		case <-secret.Ready:
			return readyMsg{of}
		case <-gone:
			return nil
		}
	})
}

// readyMsg says that the line of a dialog is not needed any more.
type readyMsg struct{ of *dialog.Secret }

// submitLine passes a line to the function that asked for it.
func (f *Connect) submitLine(of *dialog.Secret, line string) tea.Cmd {
	if of != f.open || f.Current() != f.open {
		return nil // it was left
	}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	take, cancel := f.secret.Submit, f.cancel
	return func() tea.Msg {
		defer cancel()
		then, err := take(ctx, line)
		return lineSubmittedMsg{of, then, err}
	}
}

// Update takes a line, and what came of it; it reports whether msg is that.
func (f *Connect) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case *app.Secret:
		return f.ask(msg), true
	case dialog.SecretMsg:
		return f.submitLine(msg.Of, msg.Line), true
	case readyMsg:
		if msg.of.Checking() {
			return nil, true // what was pasted brought it
		}
		msg.of.MarkChecking()
		return f.submitLine(msg.of, ""), true
	case lineSubmittedMsg:
		return f.lineSubmitted(msg), true
	}
	return nil, false
}

// lineSubmitted shows what came of a line. A dialog that was left says nothing of errors.
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
