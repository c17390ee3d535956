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

// keepAfter is the delay between a key and storing the draft, and so the
// longest typing that a crash can lose. It is extended by the same time for
// each megabyte.
const keepAfter = 400 * time.Millisecond

// historyShown is the number of past prompts loaded into the composer.
const historyShown = 1000

// A SaveDraftMsg makes Update store the draft.
type SaveDraftMsg struct{}

type (
	promptHistoryMsg []string
	// draftTokensMsg delivers the approximate number of tokens of a draft, which takes
	// a while to count for a long one.
	draftTokensMsg struct{ of, tokens int }
)

// draft holds the state of the draft besides its text.
type draft struct {
	changed bool       // changed since it was stored
	key     string     // key under which it is stored; "" if it is not stored
	tokens  int        // approximate number of tokens, including attachments
	version int        // number of the draft; incremented before tokens are counted and when it is sent
	seen    int        // value of Composer.Changes that changed accounts for, or that needs no store
	model   string     // value of App.Models.Chosen that changed accounts for
	reached string     // model whose server was connected to for this draft; "" for none
	left    *leftDraft // draft of the conversation being left; nil for none
}

// A leftDraft is the draft of a conversation being left.
type leftDraft struct {
	key, text, model string
	attached         []llm.Part
}

// draftOrder counts the drafts stored under each key, so that deleting one late leaves those stored since. The zero
// value is ready to use.
type draftOrder struct {
	mu     sync.Mutex
	stored map[string]int
}

// store calls f, which stores a draft under key.
func (o *draftOrder) store(key string, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stored == nil {
		o.stored = map[string]int{}
	}
	o.stored[key]++
	f()
}

// deleter returns a function that calls f, on any goroutine, unless a draft was stored under key since.
func (o *draftOrder) deleter(key string, f func()) func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.stored[key]
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.stored[key] == n {
			f()
		}
	}
}

// Changed schedules SaveDraft. Call it when the draft may have changed.
func (in *Input) Changed() tea.Cmd {
	if in.draft.changed {
		return nil
	}
	in.draft.changed = true
	long := time.Duration(in.Composer.Len() >> 20)
	return in.Tick(keepAfter*(1+long), SaveDraftMsg{})
}

// Watch calls Changed if the composer's text or the chosen model has changed. Call it after everything
// that may change them.
func (in *Input) Watch() tea.Cmd {
	if in.Composer.Changes() == in.draft.seen && in.App.Models.Chosen == in.draft.model {
		return nil
	}
	in.draft.seen, in.draft.model = in.Composer.Changes(), in.App.Models.Chosen
	in.connect()
	return in.Changed()
}

// connect connects to the model's server once for each prompt that is written, and again for another model.
func (in *Input) connect() {
	model := ""
	if in.Composer.WritesPrompt() {
		model = in.App.Session.Model().Name
	}
	if model != "" && model != in.draft.reached {
		in.App.Session.Connect()
	}
	in.draft.reached = model
}

// SaveDraft stores the draft and counts its tokens on another goroutine, if it has changed.
func (in *Input) SaveDraft() tea.Cmd {
	if !in.draft.changed {
		return nil
	}
	return in.save(false)
}

// save stores the draft. left reports that its conversation is being left, so that another window may
// continue it.
func (in *Input) save(left bool) tea.Cmd {
	stored := in.store(left)
	return tea.Batch(in.countTokens(), func() tea.Msg {
		if err := stored(); err != nil {
			return app.Failure{Err: err}
		}
		return nil
	})
}

// countTokens counts the tokens of the current draft on another goroutine.
func (in *Input) countTokens() tea.Cmd {
	of, estimate := in.draft.version, in.App.EstimatePrompt
	text, attached := in.Composer.Value(), slices.Clone(in.App.Attached)
	return func() tea.Msg { return draftTokensMsg{of, estimate(text, attached)} }
}

func (in *Input) setTokens(msg draftTokensMsg) {
	if msg.of == in.draft.version { // the draft was not sent meanwhile
		in.draft.tokens = msg.tokens
	}
}

// SaveDraftNow stores the draft, if it has changed, and waits for the disk. It is for the
// end of the program.
func (in *Input) SaveDraftNow() {
	if in.draft.changed || in.draft.key != "" { // another window may have stored its own draft instead
		in.store(false)
		_ = in.App.Library.Flush() // the screen is gone, so an error cannot be shown
	}
}

// store stores the draft as it is now; the function that it returns waits for the disk. An empty draft removes the
// stored one only if this window stored it: it may belong to another window.
func (in *Input) store(left bool) func() error {
	in.draft.changed = false
	in.draft.version++
	d, key := in.App.Drafts().New(in.Composer.Recall.Draft(), slices.Concat(in.Aside, in.App.Attached)), in.App.DraftKey()
	d.Left, d.Model = left, in.App.Models.Chosen
	empty := d.Text == "" && len(d.Parts) == 0
	if empty && in.draft.key == "" {
		return func() error { return nil }
	}
	var old []string
	if in.draft.key != "" && in.draft.key != key { // the conversation has begun since then, or is empty again
		old = []string{in.draft.key}
	}
	if in.draft.key = key; empty {
		in.draft.key = ""
	}
	var stored func() error
	in.order.store(key, func() { stored = in.App.Library.Drafts().SaveAsync(key, d, old...) })
	ended := in.Ended()
	return func() error {
		err := stored()
		if err == nil {
			ended()
		}
		return err
	}
}

// Sent removes the draft that was just sent, and adds it to the history as a plain
// prompt, so that a recalled prompt does not run as a command.
func (in *Input) Sent(text string) tea.Cmd {
	in.App.Models.Chosen, in.draft.model = "", ""
	var drafts []string
	if key := in.forget(); key != "" {
		drafts = []string{key}
	}
	in.App.Drafts().RememberPrompt(composer.EscapeCommand(text), drafts...)
	ended := in.Ended()
	return func() tea.Msg {
		ended()
		return nil
	}
}

// forget discards the draft that was just submitted, and returns the key of the stored one; "" if there is none.
func (in *Input) forget() (key string) {
	key, in.draft.key = in.draft.key, ""
	in.draft.changed, in.draft.tokens, in.draft.seen, in.draft.reached = false, 0, in.Composer.Changes(), ""
	in.draft.version++
	return key
}

// Forget discards the draft that was just submitted. The returned function deletes the stored one,
// on any goroutine, for good.
func (in *Input) Forget() func() {
	key, remove := in.forget(), in.App.Library.Drafts().SaveAsync
	if key == "" {
		return func() {}
	}
	return in.order.deleter(key, func() { remove(key, in.App.Drafts().New("", nil)) })
}

// Leave stores the draft of the conversation being left.
func (in *Input) Leave() tea.Cmd {
	in.Watch()
	in.draft.left = &leftDraft{in.App.DraftKey(), in.Composer.Recall.Draft(), in.App.Models.Chosen, in.App.Attached}
	if !in.draft.changed && in.draft.key == "" {
		return nil
	}
	return in.save(true)
}

// RestoreDraft replaces the text with the stored draft of the open conversation.
func (in *Input) RestoreDraft() {
	key := in.App.DraftKey()
	d, ok := in.App.Drafts().Take(key)
	if left := in.draft.left; left != nil && left.key == key { // it may not be stored yet
		d.Text, d.Parts, d.Model = left.text, left.attached, left.model
		ok = d.Text != "" || len(d.Parts) > 0
	}
	again := in.draft.left != nil && in.draft.left.key == key
	in.draft.left = nil
	if in.draft.key = ""; ok {
		in.draft.key = key
	}
	app.RestoreModel(in.App, d.Model)
	in.draft.model = in.App.Models.Chosen
	in.Composer.Reset()
	in.App.Attached = append(in.App.Attached, d.Parts...)
	if strings.TrimSpace(d.Text) != "" {
		in.Composer.SetValue(d.Text)
	}
	in.draft.changed, in.draft.seen, in.draft.tokens, in.draft.reached = false, in.Composer.Changes(), 0, ""
	in.draft.version++ // ignore the token count of the previous draft
	if !in.Composer.Empty() || len(in.App.Attached) > 0 {
		in.Defer(in.countTokens())
		if again { // it is stored as a draft that was left
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

// A firstRequest is the approximate number of tokens sent with the first prompt of a conversation.
type firstRequest struct {
	known  bool
	tokens int
}

// CountAgain discards the token count of the first request. Call it when anything besides the draft
// may have changed.
func (in *Input) CountAgain() { in.first = firstRequest{} }

// SetCommand replaces the draft with a command for the user to complete. It stashes an existing draft.
func (in *Input) SetCommand(line string) tea.Cmd {
	var stashed tea.Cmd
	if in.Composer.Recall.Written() != "" {
		stashed = in.Stash()
	}
	in.Composer.SetValue(line)
	return tea.Batch(stashed, in.Changed())
}

// DraftTokens returns the approximate number of tokens of the draft with its attachments.
func (in *Input) DraftTokens() int { return in.draft.tokens }

// ContextTokens returns the approximate number of tokens of the next request: the
// conversation, the rest of the request, and the draft.
func (in *Input) ContextTokens() int {
	const short = 200 // fewer tokens of a first draft are not shown
	fill := in.App.Session.Next.ContextTokens()
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
