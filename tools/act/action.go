// Package act is the vocabulary of a model's actions on a user's machine: a call becomes an
// [Action], a [Policy] decides whether it may run, and it ends with an [Outcome]. Package tools has
// the tools themselves; conversations and front ends need only this package.
package act

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/providers/llm"
)

// An Action is a tool call that was parsed and checked, and has not run yet.
// Its fields describe all effects of Run.
type Action struct {
	Tool    string          // the tool's name
	Input   json.RawMessage // the arguments, validated and compact
	Access  Access          // files, programs or network that it uses
	Title   string          // one line, such as "edit main.go" or the shell command; untrusted text
	Path    string          // file it reads or changes, relative to the workspace, slashes; "" if none
	Command string          // the whole shell command; "" if it runs none
	Host    string          // host it fetches from, lower case, with its port unless that is the scheme's; "" if it fetches nothing
	URL     string          // the whole address it fetches; "" if it fetches nothing
	Diff    string          // unified diff of a write's changes; "" if none

	Sandboxed bool // the command runs in the sandbox, and can change the workspace only
	Network   bool // the sandbox lets it reach the network, see [Action.WithNetwork]

	Allowed     bool   // the user allowed all calls of the server: it runs unless a rule or the mode decides otherwise
	Caution     string // why a user must approve it regardless of rules, in words for them; "" if there is no special reason
	AskEachTime bool   // it needs approval each time; answers are not remembered
	Question    string // with AskEachTime: the question to the user, also in yolo mode and whatever rules allow; "": the usual question, if any

	// Facts about the target, for the policy or for the user.
	PlaceClass   string // class of Path in the table of places, such as "credentials"; "" if it is not listed
	NoWorkspace  bool   // Path is in a directory that is not used as a workspace
	NeedsRule    bool   // the command asks in the mode auto as well, for the reason in Caution, unless a rule allows it
	ForeignShell bool   // the shell of Command does not read POSIX syntax
	Irreversible string // effects that cannot be undone, in words for the user; "" if all can
	RunByGit     bool   // git runs Path or reads its settings from it, although its name does not show that
	Proposal     string // a plan that the user is asked to accept, as Markdown; "" for other actions
	Ordered      bool   // later calls wait for it even though it only reads
	OfPrompt     bool   // a prompt of the user runs it: no model requested it, or is told why it is denied
	OfProject    bool   // a file of the project requests it, not a model: it needs approval each time

	Do       func(ctx context.Context, progress func(text string)) Outcome // called by Run; progress is not nil
	DoOnline func(ctx context.Context, progress func(text string)) Outcome // Do with network access; nil if not sandboxed
}

// Access is the access that an action needs, from harmless to dangerous.
type Access string

// The kinds of access.
const (
	AccessRead  Access = "reads"   // inside the workspace
	AccessWrite Access = "writes"  // inside the workspace
	AccessRun   Access = "runs"    // a program, which can do anything
	AccessFetch Access = "fetches" // from Host, which learns the whole URL
)

// An Outcome is the result of an action.
type Outcome struct {
	Text     string     // for the model: truncated, with a note where
	Notes    string     // parley's own text at the end of Text: how the command ended, and where its output is; "" for none
	Failed   bool       // Text is an error message
	Diff     string     // unified diff of the changes, for the screen
	Media    []llm.Part // images for the model, each of Kind llm.Media with its MIME and Data; Text mentions them
	Duration time.Duration
	Job      int // number of the command that continues in the background; 0: none

	Ends error // the turn ends with it, after the calls of this answer; nil: it continues

	By string // model that was asked, and what it cost, in words for the user; "" for none
}

// Run carries out the action. Progress receives live output in pieces; a backspace in them removes
// one character. It is called from any goroutine, but never after Run has returned. It may be nil,
// and must return soon once ctx is canceled. Canceling ctx ends the action and all its processes. A
// panic of a tool is a failed Outcome. See [WithReady] for a channel that Run may have to wait for.
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
	if ready := Ready(ctx); ready != nil && a.Command == "" { // a program waits later, because its preparation takes long
		<-ready
	}
	return a.Do(ctx, progress)
}

// readyKey is the context key of WithReady.
type readyKey struct{}

// WithReady returns a context for [Action.Run], which changes nothing before ready is closed. A program may be
// started earlier but executes no instruction until then. Close ready soon, also if the context has ended. A
// nil ready means no wait.
func WithReady(ctx context.Context, ready <-chan struct{}) context.Context {
	return context.WithValue(ctx, readyKey{}, ready)
}

// Ready returns the channel that [WithReady] put into ctx; nil if there is none.
func Ready(ctx context.Context) <-chan struct{} {
	ready, _ := ctx.Value(readyKey{}).(<-chan struct{})
	return ready
}

// WithNetwork returns the same action with network access from the sandbox. An
// action that is not sandboxed has access anyway and is returned unchanged.
func (a *Action) WithNetwork() *Action {
	if !a.Sandboxed {
		return a
	}
	open := *a
	open.Network, open.Do = true, a.DoOnline
	return &open
}

// FromProject returns a as an action requested by file, a file of the project: it needs approval
// each time, regardless of rules and mode.
func FromProject(a *Action, file string) *Action {
	asked := *a
	asked.AskEachTime, asked.OfProject = true, true
	asked.Caution = strings.TrimSuffix(QuotePath(file)+" of this folder runs it; "+a.Caution, "; ")
	return &asked
}

// Target returns the command, file or host in the narrowest rule for a; "" if that rule allows every
// call of its tool.
func (a *Action) Target() string {
	if a.Command != "" && a.Tool != "shell" { // a custom tool has a fixed command
		return ""
	}
	return cmp.Or(a.Command, a.Path, a.Host)
}

// guardedNames are files and directories that configure or run programs for parley, git
// and the shell (.envrc), so that changing them can amount to running a command.
// Makefiles, tests and scripts run programs too but are not guarded. Git hooks
// elsewhere, set by core.hooksPath, are.
var guardedNames = []string{".git", ".parley", ".mcp.json", ".envrc"}

// IsGuarded reports whether a changes a file that parley, git or the shell obey. Letter case is
// ignored: on some file systems .GIT is .git.
func (a *Action) IsGuarded() bool {
	return a.Access == AccessWrite && (a.RunByGit || slices.ContainsFunc(strings.Split(a.Path, "/"), func(part string) bool {
		return slices.ContainsFunc(guardedNames, func(g string) bool { return strings.EqualFold(g, part) })
	}))
}

// IsOrdinaryEdit reports whether an approval of all edits in the workspace includes a: it changes a
// file there with one of the tools for that, and nothing makes it special.
func (a *Action) IsOrdinaryEdit() bool {
	return a.Access == AccessWrite && (a.Tool == "edit" || a.Tool == "write") && filepath.IsLocal(filepath.FromSlash(a.Path)) &&
		!a.IsGuarded() && a.PlaceClass == "" && !a.NoWorkspace && !a.AskEachTime && !a.OfProject && a.Caution == ""
}

// failed returns a failed Outcome with a message of at most 1,000 characters.
func failed(format string, args ...any) Outcome {
	return Outcome{Failed: true, Text: strings.ToValidUTF8(fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)), "")}
}

// QuotePath returns a path as answers show it: unchanged, or quoted as in Go if it could
// be misread.
func QuotePath(name string) string {
	odd := name == "" || strings.HasPrefix(name, `"`) || strings.TrimSpace(name) != name || !utf8.ValidString(name)
	if odd || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// shownKey is the context key of WithShown.
type shownKey struct{}

// WithShown returns a context for [Action.Run] in which shown reports whether the messages of
// the next request contain a text.
func WithShown(ctx context.Context, shown func(text string) bool) context.Context {
	return context.WithValue(ctx, shownKey{}, shown)
}

// IsShown reports whether the messages of the next request are known to contain text.
func IsShown(ctx context.Context, text string) bool {
	shown, ok := ctx.Value(shownKey{}).(func(string) bool)
	return ok && shown(text)
}

// ownerKey is the context key of WithJobOwner.
type ownerKey struct{}

// WithJobOwner returns a context for [Set.Plan] and [Action.Run] in which background
// commands belong to a conversation: only its model can read and end them.
func WithJobOwner(ctx context.Context, conversation string) context.Context {
	return context.WithValue(ctx, ownerKey{}, conversation)
}

// JobOwner returns the conversation set by WithJobOwner; "" for none.
func JobOwner(ctx context.Context) string {
	owner, _ := ctx.Value(ownerKey{}).(string)
	return owner
}
