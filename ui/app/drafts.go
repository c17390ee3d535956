package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/process"
)

// writer returns the key under which stands who wrote a draft last.
func writer(key string) string { return "draft of " + key }

// DraftKey names the draft of the open conversation, or that of the directory in which
// none has begun.
func (a *App) DraftKey() string {
	if a.Session.Head() > 0 {
		return "session:" + a.Session.ID()
	}
	return "folder:" + a.Folder
}

// NewDraft returns a draft of text with what is attached, the cursor at its end.
func (o Options) NewDraft(text string, attached []llm.Part) session.Draft {
	return session.Draft{Text: text, Cursor: len(text), Parts: attached, At: o.Now()}
}

// RememberPrompt puts text into the history of prompts, where it can be found again, also
// after a restart. The call returned waits until it is stored.
func (o Options) RememberPrompt(text string) (stored func() error) {
	return o.Library.AddPromptAsync(session.SentPrompt{Text: text, Dir: o.Folder, At: o.Now()})
}

// KeepDraft keeps a draft under key, and that this process wrote it.
func (o Options) KeepDraft(key string, d session.Draft) error {
	_ = o.Library.Set(writer(key), strconv.Itoa(os.Getpid()))
	return o.Library.SaveDraft(key, d)
}

// Draft returns what was kept under key, unless it stands in another window at the
// moment. Commands that the user typed there or in the directory, and that parley
// left running, are attached to it.
func (o Options) Draft(key string) (d session.Draft, ok bool) {
	if o.elsewhere(key) {
		return session.Draft{}, false
	}
	d, ok, err := o.Library.Draft(key)
	if err != nil {
		return session.Draft{}, false
	}
	for _, at := range slices.Compact([]string{key, "folder:" + o.Folder}) {
		if parts, left := o.interruptedShells(at); len(parts) > 0 {
			d.Parts, ok = append(d.Parts, parts...), true
			if o.KeepDraft(key, d) == nil {
				_ = o.SetShells(at, left)
			}
		}
	}
	return d, ok
}

// ForgetDraft takes back the draft that was kept under key.
func (o Options) ForgetDraft(key string) { _ = o.Library.SaveDraft(key, session.Draft{}) }

// elsewhere reports whether a draft stands in another window at the moment.
func (o Options) elsewhere(key string) bool {
	kept, err := o.Library.Get(writer(key))
	pid, bad := strconv.Atoi(kept)
	return err == nil && bad == nil && pid != os.Getpid() && process.Alive(pid)
}

// Editor makes the command of the user's own editor on a file that holds text.
// Written, which has to be called with the error of the command, returns what
// the file holds then, and removes it.
func Editor(getenv func(string) string, text string) (cmd *exec.Cmd, written func(error) (string, error), err error) {
	name := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if name == "" {
		return nil, nil, errors.New("set $VISUAL or $EDITOR to use an editor")
	}
	f, err := os.CreateTemp("", "parley-*.md") // mode 0600
	if err != nil {
		return nil, nil, err
	}
	path := f.Name()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	// The variable may hold arguments, as in "code --wait".
	cmd = exec.Command("sh", "-c", name+` "$1"`, "sh", path)
	return cmd, func(err error) (string, error) {
		defer os.Remove(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b, err := os.ReadFile(path)
		return strings.TrimRight(string(b), "\n"), err
	}, nil
}

// ChooseRewind asks for an earlier message of the user's, and calls edit with the one that
// is chosen.
func ChooseRewind(a *App, edit func(seq int) Effect) *List {
	return &List{Title: "Edit which message? What follows it is kept as a branch", Noun: "message", Items: rewindItems(a), Choose: func(i Item, _ string) Effect {
		seq, _ := strconv.Atoi(i.Value)
		return edit(seq)
	}}
}

// rewindItems returns the messages of the user's, the latest first.
func rewindItems(a *App) (items []Item) {
	for _, n := range a.Session.Path() {
		if n.Role == llm.RoleUser && !n.Summary {
			items = append(items, Item{Title: Spoken(n.Message), Value: strconv.Itoa(n.Seq)})
		}
	}
	slices.Reverse(items)
	return items
}

// EditMessage makes a message of the user's their draft; what followed it stays as a branch.
func EditMessage(a *App, seq int) Effect {
	msg, err := a.Session.Edit(seq)
	if err != nil {
		return Effect{Err: err}
	}
	text, attached := SplitPrompt(msg)
	a.Attached = append(a.Attached, attached...)
	return Effect{Entered: &Entered{}, Text: text, Attached: attached}
}
