package app

import (
	"context"
	"iter"
	"slices"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// An Effect tells a front end what to show or do after a user's action. It is data, of one of the types below; nil does
// nothing.
type Effect interface{ effect() }

// Then is a list of effects to perform in order.
type Then []Effect

// Shown is an event to show between the messages. If it is to be kept, it is stored already.
type Shown struct{ Event session.Event }

// Notes are stored with the conversation as notices, and shown.
type Notes []string

// A Failure is an error to show.
type Failure struct {
	Err     error
	Lasting bool   // shown between the messages with its hint, instead of as a Toast
	Line    string // command that did not run, as typed, for correction; "" for none
}

// A Draft is text to insert before the draft.
type Draft string

// A DraftCommand is a command to put in the input for completion, in place of the draft.
type DraftCommand string

// Attached reports parts that were added to App.Attached; front ends show them and add nothing.
type Attached []llm.Part

// A Toast is text to show for a few seconds.
type Toast string

// Progress is a Toast that others will follow; front ends that print lines skip it.
type Progress string

// Play runs a turn and yields its events as they come.
type Play func(context.Context) iter.Seq[session.Event]

// Async runs on another goroutine; the effect it returns is then performed.
type Async func(context.Context) Effect

// A Page is text to read.
type Page struct {
	Title   string
	Parts   []format.Part
	Actions []Action
	Back    Effect // shown when the page is closed; may be nil
}

// An Action is what a key does with the selected row of a List or with a Page. Front ends without keys have it as an
// argument of the command. Value is that of the row; "" for a Page.
type Action struct {
	Key, Help string
	Do        func(value string) Effect            // nil if Copy is set
	Copy      func(value string) (text, as string) // returns text for the clipboard, and its name for the user
}

// Output is text to read that grows, such as that of a command in the background.
type Output struct {
	Title string
	Read  func() OutputText    // returns the current text
	Watch func(changed func()) // sets the callback for changes, which runs on any goroutine; nil: changes are not reported
}

// An OutputText is the text of an Output at one moment.
type OutputText struct {
	Title, State string
	Lines        []string // first and last lines if there are many
	Size         int64    // bytes of all output
	Running      bool
	Closed       bool // by a command
}

// Beside is an Output shown above the input, where the user continues to write.
type Beside struct {
	Output
	Grow    func(context.Context) // returns when the text is complete or the context ends; runs on another goroutine
	Actions func() []Action       // keys that work now, while the input is empty
	Closed  func() Effect         // called when the user closes it
}

// Prepare runs on another goroutine while typed input is held back; see TypedBecomesDraft.
type Prepare func(context.Context) func() Effect

// Fail returns the Failure for err; nil for nil.
func Fail(err error) Effect {
	if err == nil {
		return nil
	}
	return Failure{Err: err}
}

// Do returns an effect that runs do on another goroutine, and then shows its error or the text done.
func Do(do func(context.Context) error, done string) Effect {
	return Async(func(ctx context.Context) Effect {
		if err := do(ctx); err != nil {
			return Fail(err)
		}
		return Toast(done)
	})
}

// Save returns an effect that runs do, which writes to the store. It ignores errors of a read-only store.
func Save(lib *session.Store, do func() error) Effect {
	return Do(func(context.Context) error {
		if err := do(); lib.ReadOnly() == nil {
			return err
		}
		return nil
	}, "")
}

// Edit is the number of a user message to edit.
type Edit int

// EditFile is a file to open in the user's editor. Only front ends with a screen have it. Done is called after that.
type EditFile struct {
	Path string
	Done func() Effect
}

// A PickModel lists the models for the user to choose one by name.
type PickModel struct {
	Title  string
	Chosen func(name string) Effect
}

// Exit ends the front end.
type Exit struct{}

// Reconfigured reports that [ui] of the configuration changed.
type Reconfigured struct {
	Setting string // such as ui.theme
	UI      any    // all of [ui], in the front end's own type
}

func (Then) effect()           {}
func (Shown) effect()          {}
func (Notes) effect()          {}
func (Failure) effect()        {}
func (Draft) effect()          {}
func (DraftCommand) effect()   {}
func (Attached) effect()       {}
func (Toast) effect()          {}
func (Progress) effect()       {}
func (Play) effect()           {}
func (Async) effect()          {}
func (Page) effect()           {}
func (Output) effect()         {}
func (Beside) effect()         {}
func (Prepare) effect()        {}
func (Edit) effect()           {}
func (EditFile) effect()       {}
func (PickModel) effect()      {}
func (Exit) effect()           {}
func (Reconfigured) effect()   {}
func (SessionOpened) effect()  {}
func (PanelQuery) effect()     {}
func (*List) effect()          {}
func (*Confirm) effect()       {}
func (*Secret) effect()        {}
func (*ModelQuestion) effect() {}

// TypedBecomesDraft reports whether input that was held back while Prepare ran becomes the draft, instead of being
// handled as typed. E is the effect that Prepare led to: the user did not type ahead for an error or a question.
func TypedBecomesDraft(e Effect) bool {
	switch e := e.(type) {
	case Then:
		return slices.ContainsFunc(e, TypedBecomesDraft)
	case Failure, *Confirm, *Secret:
		return true
	}
	return false
}

// SessionOpened reports that App.Session or its current branch has changed.
type SessionOpened struct {
	Previous *session.Session // the session that was open before; nil if only the branch changed
	Seq      int              // message to scroll to; 0: the end
	close    func() error     // closes Previous
	closed   chan struct{}    // closed when Previous is closed
}

// Close closes Previous, which must not be nil. It may wait for its turn and the disk. It returns a text for the user
// if something could not be saved; "" otherwise.
func (e SessionOpened) Close() (lost string) {
	defer close(e.closed)
	if err := e.close(); err != nil {
		return "The end of the previous conversation could not be saved: " + format.ErrorText(err)
	}
	return ""
}

// A PanelQuery is a panel to open with a search text.
type PanelQuery struct {
	Panel Panel // "" for none
	Query string
}

// A Panel is a view that each front end builds itself, such as the list of sessions.
type Panel string

const (
	PanelSessions Panel = "sessions"
	PanelModels   Panel = "models"
	PanelHelp     Panel = "help"
	PanelWire     Panel = "wire"
	PanelBranches Panel = "tree"
)

// A List offers items to choose from.
type List struct {
	Title     string
	Noun      string // singular noun for a row, as in "3 conversations"
	Items     []Item
	Refresh   func() []Item // the current items, for use after an MCP server changed or a row was removed; nil if they do not change
	Columns   []Column      // of Cells
	Selected  string        // value of the row that is selected at first; "" for the current one
	Free      bool          // typed text may be chosen too, as an Item with that value
	TakesArg  bool          // an argument may be typed after the title of a row; Choose receives it after the value
	Choose    func(value string) Effect
	Remove    func(value string) Effect // runs when the user deletes a row, before Refresh; nil if rows cannot be deleted
	RemoveAs  string                    // Remove in one word; "": remove
	Actions   []Action                  // further keys, which work until the user types a filter
	Preview   func(value string) string // the unified diff of a row, shown where there is room; runs on any goroutine; may be nil
	OnDismiss func()                    // called when the list is closed without a choice; may be nil
	Lapse
}

// Words returns an item for each word; current is the one in use.
func Words(words []string, current string) (items []Item) {
	for _, w := range words {
		items = append(items, Item{Title: w, Value: w, Current: w == current})
	}
	return items
}

// Item returns the item with a value; the zero Item if value was typed.
func (l *List) Item(value string) Item {
	for _, i := range l.Items {
		if i.Value == value {
			return i
		}
	}
	return Item{}
}

// A Column is a column of a List.
type Column struct {
	Name    string
	Figures bool // aligned to the right; +n and −n have the colors of a diff
}

// Choose lists items and calls chosen with the value of the selected one. Noun is the singular for an item.
func Choose(title, noun string, items []Item, chosen func(value string) Effect) *List {
	return &List{Title: title, Noun: noun, Items: items, Choose: chosen}
}

// A Lapse withdraws a question that needs no answer anymore. The zero value never does.
type Lapse struct {
	Done   <-chan struct{} // closed when no answer is needed anymore; nil: never
	OnDone func() Effect   // returns an effect to show after Done withdrew the question
}

// An Item is a row of a List, or a possible argument of a command.
type Item struct {
	Title    string
	Detail   string
	Cells    []string // for the columns of a List, in place of Detail
	Origin   Origin   // of the value in the first cell
	Group    string   // heading of the rows in a List
	About    string   // sentence about a row, shown while it is selected
	Value    string   // argument that commands take for this item
	Current  bool     // in use
	Disabled bool     // cannot be chosen now
	Exact    bool     // an argument that must be typed in full
}

// An Origin tells who set a value.
type Origin uint8

const (
	ByDefault   Origin = iota
	ByUser             // in the configuration
	BySomething        // else, such as a flag or the folder
)

// A Confirm is a yes-or-no question.
type Confirm struct {
	Text, Yes, No string
	Harmless      bool          // "yes" works at once, even before the question is on screen
	Unasked       bool          // appears without a key of the user's: only a single letter answers, longer typed text goes into the input
	Accept        func() Effect // called for yes
	Decline       func() Effect // called for no; nil does nothing
	OnDismiss     func()        // called when the question is closed without an answer; may be nil
	Lapse
}

// Answer returns the effect of the user's answer.
func (c *Confirm) Answer(yes bool) Effect {
	switch {
	case yes:
		return c.Accept()
	case c.Decline != nil:
		return c.Decline()
	}
	return nil
}

// A Secret asks for a line, such as an API key, that is hidden while it is typed unless Visible is set. Front ends pass
// it to Submit only, and keep it out of history, drafts and recordings.
type Secret struct {
	Title   string // such as "Anthropic API key"
	Text    string // how the line will be used
	Visible bool   // the line is no secret and is shown while it is typed
	Value   string // initial value, if Visible
	// Submit runs on another goroutine until ctx ends. After an error the line is asked for again. Otherwise the App's
	// goroutine calls the returned function and shows its effect.
	Submit func(ctx context.Context, line string) (func() Effect, error)

	Optional bool // an empty line is accepted

	Ready     <-chan struct{} // closed when the line is not needed anymore; Submit then gets ""; nil: never
	OnDismiss func()          // called when the prompt is closed without a line; may be nil
	Lapse
}

// A ModelQuestion is a question of the model. Any text may be an answer, besides the choices.
type ModelQuestion struct {
	Text    string
	Count   string // such as "1 of 3"; "" for a single question
	Choices []Item // Title and Detail; the first one is recommended
	Several bool   // several choices may be chosen
	// Answer returns what to do after an answer: the indexes of choices, and text of the user's own. Neither means that
	// the user does not answer.
	Answer func(chosen []int, text string) Effect
	Done   <-chan struct{} // closed when no answer is needed anymore; nil: never
}

// SummaryOffer asks whether to summarize a conversation that is too long, and calls then on yes. If the message alone
// is too long, it says so instead.
func SummaryOffer(a *App, then func() Effect) Effect {
	if !a.Session.CanSummarize() {
		return Toast("This message is too long for the model: shorten it, or choose a model with a larger context window")
	}
	return &Confirm{
		Text: "The conversation is too long for this model's context window. Summarize it and retry? Nothing is deleted.",
		Yes:  "Summarize", No: "Not now", Harmless: true, Unasked: true, Accept: then,
	}
}
