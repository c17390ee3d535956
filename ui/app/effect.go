package app

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/format"
)

// An Effect is what a front end shows for something a user did: data, no terminal. The
// zero value shows nothing; fields that are set are shown together, in their order.
type Effect struct {
	SessionOpened *SessionOpened                                // App.Session is another conversation now
	Event         session.Event                                 // stands between the messages from now on
	Failed        error                                         // stands between the messages as an error with its hint
	Notes         []string                                      // kept with the conversation as notices, and shown
	Text          string                                        // put in front of the draft
	Attached      []llm.Part                                    // added to App.Attached
	Toast         string                                        // said in a few words
	Err           error                                         // said like a Toast: what did not work
	View          PanelQuery                                    // shown, each front end in its own way
	List          *List                                         // asked from
	Confirm       *Confirm                                      // asked
	Secret        *Secret                                       // asked for
	Turn          func(context.Context) iter.Seq[session.Event] // run, and shown as it comes
	Async         func(context.Context) Effect                  // run beside; what it returns is shown then
	Prepare       func(context.Context) func() Effect           // run beside, while what is typed waits; see Held
	Quit          bool                                          // the front end ends
}

// TypedBecomesDraft says what becomes of what was typed while Prepare ran: the owner of the App calls
// what Prepare returned, shows its effect, and goes on with what was typed. If that effect
// is not what the user asked for, what they typed would go to the wrong place: it becomes
// their draft.
func (e Effect) TypedBecomesDraft() (draft bool) {
	return e.Err != nil || e.Failed != nil || e.Confirm != nil || e.Secret != nil
}

// What begins the lines that replace a summary and the system prompt.
const (
	editSummary = "/compact edit "
	editSystem  = "/system "
)

// TextIsCommand reports whether Text is a line of the user's own, which runs when it is sent: a
// command to be completed, or one that failed.
func (e Effect) TextIsCommand() bool {
	return strings.HasPrefix(e.Text, editSummary) || strings.HasPrefix(e.Text, editSystem) || IsImageEdit(e.Text) && (e.Failed != nil || e.Err != nil)
}

// ShowToast returns the effect that says text.
func ShowToast(text string) Effect { return Effect{Toast: text} }

// SessionOpened tells that another conversation is open.
type SessionOpened struct {
	Previous *session.Session // open before; nil: only the branch is another
	Seq      int              // message to show; 0 is the end
	left     chan struct{}    // closed when Left is
}

// Close closes the conversation that was open before, which may take a while.
func (e SessionOpened) Close() {
	e.Previous.Close()
	close(e.left)
}

// A PanelQuery is a panel, and what it is searched for.
type PanelQuery struct {
	Panel Panel // "": none
	Query string
}

// Panels are views with a life of their own.
type Panel string

const (
	PanelSessions    Panel = "sessions"
	PanelModels      Panel = "models"
	PanelPermissions Panel = "permissions"
	PanelContext     Panel = "context"
	PanelUsage       Panel = "usage"
	PanelDoctor      Panel = "doctor"
	PanelHelp        Panel = "help"
	PanelWire        Panel = "wire"
	PanelCompare     Panel = "compare"
	PanelRewind      Panel = "rewind"
	PanelUndo        Panel = "undo"
	PanelJob         Panel = "job"    // its query is the number
	PanelManual      Panel = "manual" // its query is the name of a page
	PanelBranches    Panel = "tree"
)

// A List is something to choose from.
type List struct {
	Title     string
	Noun      string // of one row, as in "3 conversations"
	Items     []Item
	TakesArg  bool // more words may be typed behind a row
	Choose    func(item Item, arg string) Effect
	OnDismiss func() // called when it is left without a choice; nil: nobody has to know
}

// An Item is a row of a List, or something that may follow a command.
type Item struct {
	Title    string
	Detail   string
	Value    string // what a command takes for it
	Current  bool   // in use
	Disabled bool   // cannot be used at the moment
	Exact    bool   // of an argument: its beginning does not stand for it
}

// A Confirm is a question with a yes and a no.
type Confirm struct {
	Text, Yes, No string
	Harmless      bool // a yes that comes before the question was read does no harm
	Answer        func(yes bool) Effect
	OnDismiss     func()          // called when something else takes its place; nil: nobody has to know
	Done          <-chan struct{} // closed when no answer is needed any more; nil: one is
	OnDone        func() Effect   // is shown when the question was taken back because it is Over
}

// A Secret is a line that is asked for and shown nowhere. A front end keeps it in no history,
// no draft and no recording: only Take gets it. One that is Shown is seen while it is typed.
type Secret struct {
	Title   string // what is asked for, such as "Anthropic API key"
	Text    string // what becomes of it
	Visible bool   // it is no secret
	Value   string // of one that is shown, to begin with
	// Submit runs beside, until ctx ends. After an error the line is asked for again; what
	// it returns otherwise is called by the owner of the App, and shown.
	Submit func(ctx context.Context, line string) (func() Effect, error)

	Optional bool // an empty line is taken too

	Ready     <-chan struct{} // closed when the line is not needed any more, and Take gets ""; nil: it is needed
	OnDismiss func()          // called when it is left without a line; nil: nobody has to know
}

// Sentences that more than one front end shows. The screen shows them as they are, plain
// lines with a full stop.
const (
	Trusted        = "Folder trusted · /context shows what is sent"
	TrustYes       = "Trust"
	TrustNo        = "Don't trust"
	Stopped        = "Stopped"
	EmptyAnswer    = "Empty answer from the model"
	AnswerCutOff   = `Answer cut off at the output limit · type "continue"`
	AnswerFiltered = "Answer stopped by the provider's filter"
	SavedAgain     = "Saved: everything is on disk again"
	NoShell        = "No shell here"
	NoRules        = "No permission rules yet. Press p in an approval to add one"
	RuleRemoved    = "Rule removed"
)

// SummaryOffer asks whether to summarize a conversation that is too long; then does so.
func SummaryOffer(then func() Effect) *Confirm {
	return &Confirm{
		Text: "The conversation is too long for this model's context window. Summarize it and retry? Nothing is deleted.",
		Yes:  "Summarize", No: "Not now", Harmless: true,
		Answer: func(yes bool) Effect {
			if !yes {
				return Effect{}
			}
			return then()
		},
	}
}

// CompactedText says what a summary saves.
func CompactedText(e session.Compacted) string {
	return fmt.Sprintf("Conversation summarized: %s → %s tokens per request. The full text stays here", format.Tokens(e.Before), format.Tokens(e.After))
}

// LeaseLostText says that the conversation continues in a copy.
func LeaseLostText(e *session.LeaseLostError) string {
	return fmt.Sprintf("Another parley opened this conversation; continuing in a copy, %s", e.Fork)
}

// SaveErrorText says that messages cannot be stored, and why.
func SaveErrorText(err error) string {
	return "Not saved (" + err.Error() + "). Messages are kept in memory and saved when possible"
}

// modeHelp says what each approval mode does.
var modeHelp = map[tools.Mode]string{
	tools.ModeAsk: "reading runs; everything else asks", tools.ModeAuto: "edits and sandboxed commands run without asking",
	tools.ModePlan:     "reading runs; nothing changes until you accept the plan",
	tools.ModeReadOnly: "everything but reading is denied", tools.ModeYolo: "everything runs without asking, unless a rule denies it",
}

// ModeDetail says what an approval mode does.
func ModeDetail(mode tools.Mode) string { return modeHelp[mode] }

// ModeHelp names an approval mode and says what it does.
func ModeHelp(mode tools.Mode) string { return string(mode) + " – " + modeHelp[mode] }
