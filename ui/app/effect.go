package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// An Effect says what a front end has to show or do after a user's action: data, no terminal. It is one of
// the types below; nil is nothing.
type Effect interface{ effect() }

// Then is effects, one after the other.
type Then []Effect

// Shown is an event to show between the messages. It is stored already, if it is to stay.
type Shown struct{ Event session.Event }

// Notes are stored with the conversation as notices, and shown.
type Notes []string

// A Failure is an error to tell.
type Failure struct {
	Err     error
	Lasting bool   // shown between the messages, with its hint, rather than like a Toast
	Line    string // command that did not run, as it was typed, to be corrected; "": none
}

// A Draft is text to insert before the draft.
type Draft string

// A DraftCommand is a command that stands in the input instead of the draft, to be completed.
type DraftCommand string

// Attached is what App.Attached has been given already: to tell, not to add.
type Attached []llm.Part

// A Toast is text to show for a few seconds.
type Toast string

// Progress is a Toast that more follow: front ends that print lines leave it out.
type Progress string

// Play is a turn to run, showing its events as they come.
type Play func(context.Context) iter.Seq[session.Event]

// Async runs on another goroutine. The effect it returns is performed then.
type Async func(context.Context) Effect

// A Page is text to read.
type Page struct {
	Title string
	Parts []format.Part
}

// Output is text to read that grows, such as that of a command in the background.
type Output struct {
	Title string
	Read  func() OutputText    // the text as it is now
	Watch func(changed func()) // sets the function that is called, on any goroutine, when there is more; nil: none
}

// An OutputText is the text of an Output at a time.
type OutputText struct {
	Title, State string
	Lines        []string // of much the first and the last
	Size         int64    // bytes of all output
	Running      bool
}

// Prepare runs on another goroutine while typed input is held back; see TypedBecomesDraft.
type Prepare func(context.Context) func() Effect

// Fail returns the Failure that tells err; nil for nil.
func Fail(err error) Effect {
	if err == nil {
		return nil
	}
	return Failure{Err: err}
}

// Do returns an effect that runs do on another goroutine, and then tells its error, or says done.
func Do(do func(context.Context) error, done string) Effect {
	return Async(func(ctx context.Context) Effect {
		if err := do(ctx); err != nil {
			return Fail(err)
		}
		return Toast(done)
	})
}

// save returns an effect that runs do, which stores something. A store that is read-only is no error.
func save(lib *session.Store, do func() error) Effect {
	return Do(func(context.Context) error {
		if err := do(); lib.ReadOnly() == nil {
			return err
		}
		return nil
	}, "")
}

// Edit is a message of the user's to edit, by its number.
type Edit int

// Exit ends the front end.
type Exit struct{}

func (Then) effect()          {}
func (Shown) effect()         {}
func (Notes) effect()         {}
func (Failure) effect()       {}
func (Draft) effect()         {}
func (DraftCommand) effect()  {}
func (Attached) effect()      {}
func (Toast) effect()         {}
func (Progress) effect()      {}
func (Play) effect()          {}
func (Async) effect()         {}
func (Page) effect()          {}
func (Output) effect()        {}
func (Prepare) effect()       {}
func (Edit) effect()          {}
func (Exit) effect()          {}
func (SessionOpened) effect() {}
func (PanelQuery) effect()    {}
func (*List) effect()         {}
func (*Confirm) effect()      {}
func (*Secret) effect()       {}

// TypedBecomesDraft reports whether input that was held back while Prepare ran becomes the draft,
// instead of being handled as typed. It is asked of the effect that Prepare led to: an error or
// a question is not what the user typed ahead for.
func TypedBecomesDraft(e Effect) bool {
	switch e := e.(type) {
	case Then:
		return slices.ContainsFunc(e, TypedBecomesDraft)
	case Failure, *Confirm, *Secret:
		return true
	}
	return false
}

// Beginnings of the lines that replace a summary and the system prompt.
const (
	editSummary = "/compact edit "
	editSystem  = "/system "
)

// SessionOpened reports that App.Session, or its current branch, is another one now.
type SessionOpened struct {
	Previous *session.Session // the session that was open before; nil: only the branch changed
	Seq      int              // of the message to scroll to; 0: the end
	close    func() error     // closes Previous
	closed   chan struct{}    // closed when Previous is closed
}

// Close closes Previous, which may wait for its turn and the disk. Previous must not be nil. It
// returns what to tell if something of it could not be saved; "" if all is.
func (e SessionOpened) Close() (lost string) {
	defer close(e.closed)
	if err := e.close(); err != nil {
		return "The end of the previous conversation could not be saved: " + format.ErrorText(err)
	}
	return ""
}

// A PanelQuery is a panel to open, and the text to search it for.
type PanelQuery struct {
	Panel Panel // "": none
	Query string
}

// A Panel is a view that each front end builds by itself, such as a list of sessions.
type Panel string

const (
	PanelSessions Panel = "sessions"
	PanelModels   Panel = "models"
	PanelHelp     Panel = "help"
	PanelWire     Panel = "wire"
	PanelCompare  Panel = "compare"
	PanelBranches Panel = "tree"
)

// A List is something to choose from.
type List struct {
	Title     string
	Noun      string // of one row, as in "3 conversations"
	Items     []Item
	Refresh   func() []Item // the items as they are now, once an MCP server changed or one was removed; nil: they stay
	Free      bool          // what is typed may be chosen as well: an Item with it as its value
	TakesArg  bool          // an argument may be typed after the title of a row; Choose gets it
	Choose    func(item Item, arg string) Effect
	Remove    func(value string) Effect // what the key that deletes does with a row, before Refresh; nil: nothing
	OnDismiss func()                    // called when the list is closed without a choice; may be nil
	Lapse
}

// Choose asks which of items it is, and then does chosen with its value. Noun is what one item is.
func Choose(title, noun string, items []Item, chosen func(value string) Effect) *List {
	return &List{Title: title, Noun: noun, Items: items, Choose: func(i Item, _ string) Effect { return chosen(i.Value) }}
}

// A Lapse withdraws a question that needs no answer any more. The zero value never does.
type Lapse struct {
	Done   <-chan struct{} // closed when no answer is needed any more; nil: one always is
	OnDone func() Effect   // its effect is shown when Done withdrew the question
}

// An Item is a row of a List, or something that may follow a command.
type Item struct {
	Title    string
	Detail   string
	Value    string // what a command takes for it
	Current  bool   // in use
	Disabled bool   // cannot be chosen at the moment
	Exact    bool   // of an argument: has to be typed in full
}

// A Confirm is a question with a yes and a no.
type Confirm struct {
	Text, Yes, No string
	Harmless      bool          // yes works at once, even before the question was on the screen
	Unasked       bool          // it comes without a key of the user's: only a lone letter answers, text that is typed goes into the input
	Accept        func() Effect // called on yes
	Decline       func() Effect // called on no; nil: nothing comes of that
	OnDismiss     func()        // called when the question is closed without an answer; may be nil
	Lapse
}

// Answer returns the effect of an answer.
func (c *Confirm) Answer(yes bool) Effect {
	switch {
	case yes:
		return c.Accept()
	case c.Decline != nil:
		return c.Decline()
	}
	return nil
}

// A Secret asks for a line, such as an API key, that is not shown while it is typed unless it is
// Visible. A front end stores it in no history, draft or recording: only Submit gets it.
type Secret struct {
	Title   string // what is asked for, such as "Anthropic API key"
	Text    string // what becomes of it
	Visible bool   // what is typed is shown: it is no secret
	Value   string // of one that is shown, to begin with
	// Submit runs on another goroutine, until ctx ends. After an error the line is asked for
	// again; the function it returns otherwise is called by the App's goroutine, and its
	// effect is shown.
	Submit func(ctx context.Context, line string) (func() Effect, error)

	Optional bool // an empty line is accepted

	Ready     <-chan struct{} // closed when the line is not needed any more, and Submit gets ""; nil: it is needed
	OnDismiss func()          // called when the prompt is closed without a line; may be nil
	Lapse
}

// TypeContinue is what IncompleteText advises in a chat after an answer that was cut off.
const TypeContinue = ` · type "continue"`

// IncompleteText says why an answer is empty or incomplete; "" if it is complete, or was
// interrupted.
func IncompleteText(a session.Response) string {
	switch {
	case a.Message.Interrupted:
	case a.Finish.Reason == llm.Refused && !slices.Contains([]string{"", "stop", "completed", "end_turn"}, a.Finish.Raw):
		return answerFiltered + ": " + sanitize.Line(a.Finish.Raw)
	case a.Finish.Reason == llm.Refused:
		return answerFiltered
	case a.Finish.Raw == "model_context_window_exceeded":
		return windowFull
	case a.Message.Empty():
		return EmptyAnswer
	case a.Finish.Reason == llm.Length:
		return answerCutOff
	}
	return ""
}

// Sentences that more than one front end shows. The screen shows them as they are, plain
// lines with a full stop.
const (
	Trusted        = "Folder trusted · /context shows what is sent"
	NotTrusted     = "Folder not trusted: its settings are ignored · /trust asks again"
	TrustYes       = "Trust"
	TrustNo        = "Don't trust"
	Stopped        = "Stopped"
	Interrupted    = "Interrupted: parley ended"
	EmptyAnswer    = "Empty answer from the model"
	answerCutOff   = "Answer cut off at the output limit" + TypeContinue
	windowFull     = "Answer cut off: the context window is full · start a new conversation, or choose a model with a larger window"
	answerFiltered = "Answer blocked by the provider"
	SavedAgain     = "Saved: everything is on disk again"
	NoShell        = "No shell here"
)

// SummaryOffer asks whether to summarize a conversation that is too long. Then is called on yes. Where the
// message alone is too long, it says so instead.
func SummaryOffer(a *App, then func() Effect) Effect {
	if !a.Session.CanSummarize() {
		return Toast("This message is too long for the model: shorten it, or choose a model with a larger context window")
	}
	return &Confirm{
		Text: "The conversation is too long for this model's context window. Summarize it and retry? Nothing is deleted.",
		Yes:  "Summarize", No: "Not now", Harmless: true, Unasked: true, Accept: then,
	}
}

// SandboxText returns a notice of the sandbox as a sentence.
func SandboxText(e session.Sandbox) string { return format.Capital(e.Text) }

// CompactedText says what a summary saves.
func CompactedText(e session.Compacted) string {
	return fmt.Sprintf("Conversation summarized: %s → %s tokens per request. The full text stays here", format.Tokens(e.Before), format.Tokens(e.After))
}

// SaveText returns what to say once saving ends with err, after it ended with before, and the
// error that lasts: why what is said is not on disk. "" says nothing.
func SaveText(before, err error) (text string, lasting error) {
	var lost *session.LeaseLostError
	switch {
	case errors.As(err, &lost):
		return "Another parley opened this conversation; continuing in a copy, " + lost.Fork, nil
	case err != nil && before == nil:
		return "Not saved (" + format.ErrorText(err) + "). Messages are kept in memory and saved when possible", err
	case err == nil && before != nil:
		return SavedAgain, nil
	}
	return "", err
}

// modeHelp says what each approval mode does.
var modeHelp = map[act.Mode]string{
	act.ModeAsk: "reading runs; everything else asks", act.ModeAuto: "edits and sandboxed commands run without asking",
	act.ModePlan:     "reading runs; nothing changes until you accept the plan",
	act.ModeReadOnly: "everything but reading is denied", act.ModeYolo: "everything runs without asking, unless a rule denies it",
}

// ModeDetail says what an approval mode does.
func ModeDetail(mode act.Mode) string { return modeHelp[mode] }

// ModeHelp names an approval mode and says what it does.
func ModeHelp(mode act.Mode) string { return string(mode) + " – " + modeHelp[mode] }

// ComparedCallText says that a model called a tool, which may read and no more while comparing.
func ComparedCallText(tool string, status CallStatus) string {
	if status == CallRunning || status == CallDone {
		return "Called " + tool
	}
	return "Wanted to call " + tool + " (not run while comparing)"
}
