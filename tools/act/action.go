// Package act is the vocabulary of what a model does on a user's machine: a call becomes an
// [Action], a [Policy] decides whether it may run, and it ends with an [Outcome]. Package tools has
// the tools themselves; a conversation, and who shows it, needs no more than these words.
package act

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/providers/llm"
)

// An Action is one tool call that was understood and checked, and not yet run.
// It shows all that it will do: Run does nothing that its fields do not say.
type Action struct {
	Tool    string          // the tool's name
	Input   json.RawMessage // the arguments, validated and compact
	Access  Access          // what it needs
	Title   string          // one line, such as "edit main.go" or the shell command; untrusted text
	Path    string          // file it reads or changes, relative to the workspace, slashes; "" if none
	Command string          // the whole shell command; "" if it runs none
	Host    string          // host it fetches from, lower case, with its port unless that is the scheme's; "" if it fetches nothing
	URL     string          // the whole address it fetches; "" if it fetches nothing
	Diff    string          // unified diff of what a write would change; "" if none

	Sandboxed bool // the command runs in the sandbox, and can change the workspace only
	Network   bool // the sandbox lets it reach the network, see [Action.WithNetwork]

	Caution     string // why a user is asked whatever was allowed, in words for them; "" if nothing is special
	AskEachTime bool   // a user is asked each time: no answer holds for later

	// Facts about the target: the policy asks for them, or the user is to know them.
	PlaceClass      string // of Path in the table of places, such as "credentials"; "" if it is not in it
	NoWorkspace     bool   // Path is in a directory that is no workspace
	NearCredentials bool   // the command can read credentials that are in the workspace
	Irreversible    string // what of the action cannot be undone, in words for the user; "" if all can
	RunByGit        bool   // git runs Path or reads its settings from it, though its name does not say so
	Proposal        string // a plan that the user is to accept, as Markdown; "" if it is none
	Ordered         bool   // later calls wait for it, although it only reads
	OfPrompt        bool   // a prompt of the user runs it: no model asked for it, or learns why it is denied
	OfProject       bool   // a file of the working directory asks for it, and not a model: it needs approval each time

	Do       func(ctx context.Context, progress func(text string)) Outcome // what Run calls; progress is not nil
	DoOnline func(ctx context.Context, progress func(text string)) Outcome // Do with the network; nil if not sandboxed
}

// Access is what an action needs, from the harmless to the dangerous.
type Access string

// The kinds of access.
const (
	AccessRead  Access = "reads"   // inside the workspace
	AccessWrite Access = "writes"  // inside the workspace
	AccessRun   Access = "runs"    // a program, which can do anything
	AccessFetch Access = "fetches" // from Host, which learns the whole URL
)

// An Outcome is what a tool answers.
type Outcome struct {
	Text     string     // for the model: capped, and says so where it was cut
	Notes    string     // the end of Text that a command did not write: how it ended, and what became of its output; "" for none
	Failed   bool       // Text says what went wrong
	Diff     string     // unified diff of what was changed, for the screen
	Media    []llm.Part // images for the model, each of Kind llm.Media with its MIME and Data; Text tells of them too
	Duration time.Duration
	Job      int // number of the command that goes on in the background; 0: none does
}

// Run carries the action out. Progress receives live output in pieces as it comes; a backspace in
// them takes back one character. It is called from any goroutine, but never after Run has returned.
// It may be nil, and must return soon once ctx is canceled. Canceling ctx ends the
// action and everything it started. A panic of a tool is a failed Outcome.
// See [WithReady] for what Run may have to wait for.
func (a *Action) Run(ctx context.Context, progress func(text string)) (out Outcome) {
	start := time.Now()
	defer func() {
		if r := recover(); r != nil {
			out = failed("%s: internal error: %v", a.Tool, r)
		}
		out.Duration = time.Since(start)
	}()
	if err := ctx.Err(); err != nil {
		return failed("%s was not run: canceled", a.Tool)
	}
	if progress == nil {
		progress = func(string) {}
	}
	if ready := Ready(ctx); ready != nil && a.Command == "" { // a program waits itself: it has much to prepare
		<-ready
	}
	return a.Do(ctx, progress)
}

// readyKey is the key of what WithReady puts in a context.
type readyKey struct{}

// WithReady returns a context for [Action.Run], which changes nothing before ready is closed, nor
// does a program that is started with it: no instruction of it runs until then. It has to be closed soon, also
// once the context has ended. A nil one is as none.
func WithReady(ctx context.Context, ready <-chan struct{}) context.Context {
	return context.WithValue(ctx, readyKey{}, ready)
}

// Ready returns the channel that [WithReady] put into ctx; nil if there is none.
func Ready(ctx context.Context) <-chan struct{} {
	ready, _ := ctx.Value(readyKey{}).(<-chan struct{})
	return ready
}

// WithNetwork returns the same action, allowed to reach the network from inside the
// sandbox. One that is not sandboxed, and so could anyway, is returned as it is.
func (a *Action) WithNetwork() *Action {
	if !a.Sandboxed {
		return a
	}
	open := *a
	open.Network, open.Do = true, a.DoOnline
	return &open
}

// FromProject returns a as an action that file, which came with the working directory, asks for: it
// needs approval each time, whatever rules and mode allow.
func FromProject(a *Action, file string) *Action {
	asked := *a
	asked.AskEachTime, asked.OfProject = true, true
	asked.Caution = strings.TrimSuffix(QuotePath(file)+" of this folder runs it; "+a.Caution, "; ")
	return &asked
}

// Target returns the command, file or host that the narrowest rule for a names; "" if that rule allows
// every call of its tool.
func (a *Action) Target() string {
	if a.Command != "" && a.Tool != "shell" { // a tool of the user's own has one command
		return ""
	}
	return cmp.Or(a.Command, a.Path, a.Host)
}

// CanBeAllowed reports whether a rule or a mode can let a run without a question.
func (a *Action) CanBeAllowed() bool { return !a.OfProject }

// Sensitive reports whether a is about a file that holds credentials or starts
// programs at login, which asks in every mode.
func (a *Action) Sensitive() bool { return a.PlaceClass != "" }

// failed returns an Outcome that says what went wrong, in at most 1,000 characters.
func failed(format string, args ...any) Outcome {
	return Outcome{Failed: true, Text: strings.ToValidUTF8(fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)), "")}
}

// QuotePath returns a path as answers show it: as it is, or quoted as in Go if it could be
// mistaken.
func QuotePath(name string) string {
	odd := name == "" || strings.HasPrefix(name, `"`) || strings.TrimSpace(name) != name || !utf8.ValidString(name)
	if odd || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// A MediaGate lets one action at a time have media in memory that are not prepared yet: they may
// be large, and as pixels many times as large.
type MediaGate chan struct{}

// NewMediaGate returns a gate that is free.
func NewMediaGate() MediaGate { return make(MediaGate, 1) }

// A MediaTurn is an action's turn at a gate. It is for one goroutine.
type MediaTurn struct {
	gate   MediaGate
	ctx    context.Context
	passed bool
}

// mediaTurnKey is the key of a *MediaTurn in a context.
type mediaTurnKey struct{}

// Turn returns a context for [Action.Run], which waits for the turn before it reads media. The
// turn goes on until End: media are to be prepared by then.
func (g MediaGate) Turn(ctx context.Context) (context.Context, *MediaTurn) {
	turn := &MediaTurn{gate: g, ctx: ctx}
	return context.WithValue(ctx, mediaTurnKey{}, turn), turn
}

// Wait returns once no other action has the turn, or with why the context ended before.
func (m *MediaTurn) Wait() error {
	if m == nil || m.passed {
		return nil
	}
	select {
	case m.gate <- struct{}{}:
		m.passed = true
		return nil
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

// End lets the next one have the turn.
func (m *MediaTurn) End() {
	if m.passed {
		<-m.gate
		m.passed = false
	}
}

// AwaitMediaTurn waits until media may be read.
func AwaitMediaTurn(ctx context.Context) error {
	turn, _ := ctx.Value(mediaTurnKey{}).(*MediaTurn)
	return turn.Wait()
}

// shownKey is the key of what WithShown puts in a context.
type shownKey struct{}

// WithShown returns a context for [Action.Run] in which shown reports whether the next request
// has a text in its messages.
func WithShown(ctx context.Context, shown func(text string) bool) context.Context {
	return context.WithValue(ctx, shownKey{}, shown)
}

// IsShown reports whether the next request has text in its messages, as far as is known.
func IsShown(ctx context.Context, text string) bool {
	shown, ok := ctx.Value(shownKey{}).(func(string) bool)
	return ok && shown(text)
}

// ownerKey is the key of what WithJobOwner puts in a context.
type ownerKey struct{}

// WithJobOwner returns a context for [Set.Plan] and [Action.Run] in which commands in the
// background belong to a conversation: its model reads and ends them, and no other does.
func WithJobOwner(ctx context.Context, conversation string) context.Context {
	return context.WithValue(ctx, ownerKey{}, conversation)
}

// JobOwner returns that conversation; "" for none.
func JobOwner(ctx context.Context) string {
	owner, _ := ctx.Value(ownerKey{}).(string)
	return owner
}
