package input

import (
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/tui/composer"
)

// keepAfter is how long after a key the draft is written: what is typed in
// between is all that a crash can cost. For each megabyte it is as long again.
const keepAfter = 400 * time.Millisecond

// historyShown is how many prompts of the past the composer knows.
const historyShown = 1000

// A SaveDraftMsg makes Update store the draft.
type SaveDraftMsg struct{}

type (
	promptHistoryMsg []string
	// draftTokensMsg says about how many tokens a draft has, which takes a while for a
	// long one.
	draftTokensMsg struct{ of, tokens int }
)

// draft is what is known of the draft beside its text.
type draft struct {
	changed bool       // since it was stored
	key     string     // under which it is stored; "" if it is not
	tokens  int        // about how many it has, with what is attached
	version int        // counts those whose tokens were to be counted, or that were sent
	seen    int        // changes of the composer that changed tells of, or that need no store
	left    *leftDraft // nil: no conversation is about to be left
}

// A leftDraft is that of a conversation that is about to be left.
type leftDraft struct {
	key, text string
	attached  []llm.Part
}

// draftOrder keeps writes of drafts in the order in which they were decided: goroutines write
// them, and one that comes late would bring back what was sent meanwhile. The zero value is ready.
type draftOrder struct {
	mu   sync.Mutex
	last map[string]int // version of the last write, by key
}

// write calls f, unless a later version was written under the key.
func (o *draftOrder) write(key string, version int, f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last[key] > version {
		return nil
	}
	if o.last == nil {
		o.last = map[string]int{}
	}
	o.last[key] = version
	return f()
}

// Changed has to be called when the draft may have changed: it schedules SaveDraft.
func (in *Input) Changed() tea.Cmd {
	if in.draft.changed {
		return nil
	}
	in.draft.changed = true
	long := time.Duration(in.Composer.Len() >> 20)
	return in.Tick(keepAfter*(1+long), SaveDraftMsg{})
}

// Watch has to be called after everything that may write into the composer: it does what Changed
// does if something has.
func (in *Input) Watch() tea.Cmd {
	if in.Composer.Changes() == in.draft.seen {
		return nil
	}
	in.draft.seen = in.Composer.Changes()
	return in.Changed()
}

// SaveDraft stores the draft and counts its tokens on another goroutine, if it changed.
func (in *Input) SaveDraft() tea.Cmd {
	if !in.draft.changed {
		return nil
	}
	return in.save(false)
}

// save stores the draft; left says that its conversation is left, in which another window may go on with it.
func (in *Input) save(left bool) tea.Cmd {
	save := in.saver(left)
	return tea.Batch(in.countTokens(), func() tea.Msg {
		if err := save(); err != nil {
			return app.Failure{Err: err}
		}
		return nil
	})
}

// countTokens counts the tokens of this version of the draft on another goroutine.
func (in *Input) countTokens() tea.Cmd {
	of, estimate := in.draft.version, in.App.EstimatePrompt
	text, attached := in.Composer.Value(), slices.Clone(in.App.Attached)
	return func() tea.Msg { return draftTokensMsg{of, estimate(text, attached)} }
}

func (in *Input) setTokens(msg draftTokensMsg) {
	if msg.of == in.draft.version { // it was not sent meanwhile
		in.draft.tokens = msg.tokens
	}
}

// SaveDraftNow stores the draft, if it changed, and waits for the disk: for the end of the
// program.
func (in *Input) SaveDraftNow() {
	if in.draft.changed || in.draft.key != "" { // another window may have stored one in its place
		_ = in.saver(false)() // the screen has gone: there is nobody to tell
	}
}

// saver takes the draft as it is now, to be stored by the call. An empty one removes what is stored only
// if that is of this window: it may be another window's.
func (in *Input) saver(left bool) func() error {
	in.draft.changed = false
	in.draft.version++
	d, key := in.App.NewDraft(in.Composer.Recall.Draft(), slices.Concat(in.Aside, in.App.Attached)), in.App.DraftKey()
	d.Left = left
	empty := d.Text == "" && len(d.Parts) == 0
	if empty && in.draft.key == "" {
		return func() error { return nil }
	}
	old, remove := in.draft.key, in.App.DeleteDraft
	if in.draft.key = key; empty {
		in.draft.key = ""
	}
	keep, ended, version := in.App.Library.SaveDraft, in.Ended(), in.draft.version
	return func() error {
		err := in.order.write(key, version, func() error { return keep(key, d) })
		if err != nil {
			return err
		}
		ended()
		if old != "" && old != key { // the conversation has begun since, or is empty again
			_ = in.order.write(old, version, func() error { remove(old); return nil })
		}
		return nil
	}
}

// Sent forgets the draft that was just sent, and remembers the prompt as one: what
// it begins with does not run when it comes back.
func (in *Input) Sent(text string) tea.Cmd {
	forget := in.Forget()
	stored, ended := in.App.RememberPrompt(composer.EscapeCommand(text)), in.Ended()
	return func() tea.Msg {
		ended()
		if err := stored(); err != nil {
			return nil // the conversation holds it, and has its own way to say that the disk is full
		}
		forget()
		return nil
	}
}

// Forget forgets the draft that was just submitted. The stored one goes when the function is called
// that it returns, on any goroutine, and does not come back.
func (in *Input) Forget() func() {
	in.draft.changed, in.draft.tokens, in.draft.seen = false, 0, in.Composer.Changes()
	in.draft.version++
	key, version := in.draft.key, in.draft.version
	if key == "" {
		return func() {}
	}
	in.draft.key = ""
	remove := in.App.Options.DeleteDraft
	return func() { _ = in.order.write(key, version, func() error { remove(key); return nil }) }
}

// Leave stores the draft of a conversation that is left.
func (in *Input) Leave() tea.Cmd {
	in.Watch()
	in.draft.left = &leftDraft{in.App.DraftKey(), in.Composer.Recall.Draft(), in.App.Attached}
	if !in.draft.changed && in.draft.key == "" {
		return nil
	}
	return in.save(true)
}

// RestoreDraft loads the stored draft of the open conversation, in the place of what is written.
func (in *Input) RestoreDraft() {
	key := in.App.DraftKey()
	d, ok := in.App.Draft(key)
	if left := in.draft.left; left != nil && left.key == key { // it may not be stored yet
		d.Text, d.Parts = left.text, left.attached
		ok = d.Text != "" || len(d.Parts) > 0
	}
	again := in.draft.left != nil && in.draft.left.key == key
	in.draft.left = nil
	if in.draft.key = ""; ok {
		in.draft.key = key
	}
	in.Composer.Reset()
	in.App.Attached = append(in.App.Attached, d.Parts...)
	if strings.TrimSpace(d.Text) != "" {
		in.Composer.SetValue(d.Text)
	}
	in.draft.changed, in.draft.seen, in.draft.tokens = false, in.Composer.Changes(), 0
	in.draft.version++ // the tokens of the one before do not count
	if !in.Composer.Empty() || len(in.App.Attached) > 0 {
		in.Defer(in.countTokens())
		if again { // it is stored as one that was left
			in.Defer(in.Changed())
		}
	}
}

// LoadHistory loads the prompt history.
func (in *Input) LoadHistory() tea.Cmd {
	lib := in.App.Library
	return func() tea.Msg {
		past, err := lib.Prompts(historyShown)
		if err != nil {
			return nil
		}
		texts := make(promptHistoryMsg, len(past))
		for i, p := range past {
			texts[i] = p.Text
		}
		return texts
	}
}

// A firstRequest is about how many tokens go with the first prompt of a conversation.
type firstRequest struct {
	known  bool
	tokens int
}

// CountAgain has to be called when anything but the draft may have changed of the next request.
func (in *Input) CountAgain() { in.first = firstRequest{} }

// SetCommand replaces the draft by a command to be completed. A draft that is written is stashed.
func (in *Input) SetCommand(line string) tea.Cmd {
	var stashed tea.Cmd
	if in.Composer.Recall.Written() != "" {
		stashed = in.Stash()
	}
	in.Composer.SetValue(line)
	return tea.Batch(stashed, in.Changed())
}

// ContextTokens returns about how many tokens the next request takes: what was said and what
// goes with it, and the draft.
func (in *Input) ContextTokens() int {
	const short = 200 // tokens of a first draft that are not worth a figure
	fill := in.App.Session.ContextTokens()
	if fill == 0 && in.App.Session.Empty() {
		if !in.first.known {
			in.first = firstRequest{known: true}
			for _, f := range in.App.Context() {
				in.first.tokens += f.Tokens
			}
		}
		fill = in.first.tokens
	}
	if fill > 0 || in.draft.tokens > short {
		fill += in.draft.tokens
	}
	return fill
}
