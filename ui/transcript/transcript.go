// Package transcript is the conversation on the screen: a list of blocks (what
// the user wrote, thinking, answers, tool calls, notes) through which a reader
// scrolls while it grows.
//
//	calls of the root ──► blocks ──► lines, cached ──► the rows in sight ──► View
//
// Only blocks that changed and the rows in sight cost anything per frame;
// blocks far from sight keep their source alone. A position is a block and a
// line in it, so that nothing above or below moves what is being read; only a
// reader at the bottom follows what arrives. All text given to the model comes
// from outside and is made printable here.
package transcript

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
)

// A Model is the scrollable conversation. It belongs to one goroutine.
type Model struct {
	theme         *theme.Theme
	width, height int
}

// A Tool is what is known about a tool call; each update brings all of it.
type Tool struct {
	Name    string
	Title   string        // what it does in one line, such as the command or the path; "" while arguments arrive
	Input   string        // the arguments as far as they arrived: JSON, perhaps cut anywhere
	Status  Status        // how far it is
	Output  string        // what it answered, whole
	Diff    string        // unified diff of what it changed
	Started time.Time     // when it began to run; zero before
	Took    time.Duration // how long it ran; 0 until it ended
}

// Status is how far a tool call is.
type Status int

// The statuses.
const (
	Arriving Status = iota // its arguments stream in
	Asking                 // waits for a person's word
	Running
	Done
	Failed
	Denied
	Canceled
)

// NoteKind says what a note is about, which decides its sign.
type NoteKind int

// The kinds of notes.
const (
	Info   NoteKind = iota // a dropped setting, a repaired call
	Retry                  // a request is sent again
	Switch                 // another model answers from here on
	Warn                   // deserves attention: a budget, a missing sandbox
)

// CopyMsg asks for text to be put on the clipboard.
type CopyMsg struct {
	Text string
	What string // in words: "answer", "code", "output"
}

// New makes an empty transcript.
func New(th *theme.Theme) *Model { return &Model{theme: th} }

func (m *Model) SetSize(width, height int)                     {}
func (m *Model) SetTheme(th *theme.Theme)                      {}
func (m *Model) View() string                                  { return "" }
func (m *Model) Clear()                                        {}
func (m *Model) User(text string)                              {}
func (m *Model) Think(id, delta string)                        {}
func (m *Model) ThoughtFor(id string, took time.Duration)      {}
func (m *Model) Answer(id, delta string)                       {}
func (m *Model) AnswerDone(id string)                          {}
func (m *Model) Tool(id string, t Tool)                        {}
func (m *Model) ToolOutput(id, text string)                    {}
func (m *Model) Footer(text string)                            {}
func (m *Model) Note(text string)                              {}
func (m *Model) Replace(id string, kind NoteKind, text string) {}
func (m *Model) Fail(text, hint string)                        {}
func (m *Model) Drop(id string)                                {}
func (m *Model) Tick(now time.Time)                            {}
func (m *Model) Scroll(lines int)                              {}
func (m *Model) Page(n float64)                                {}
func (m *Model) Top()                                          {}
func (m *Model) Bottom()                                       {}
func (m *Model) AtBottom() bool                                { return true }
func (m *Model) NewLines() int                                 { return 0 }
func (m *Model) PrevUser()                                     {}
func (m *Model) NextUser()                                     {}
func (m *Model) ToggleThinking()                               {}
func (m *Model) ToggleOutput()                                 {}
func (m *Model) LastAnswer() string                            { return "" }
func (m *Model) LastCode() (string, bool)                      { return "", false }
func (m *Model) Browse(on bool)                                {}
func (m *Model) Browsing() bool                                { return false }
func (m *Model) Update(msg tea.Msg) tea.Cmd                    { return nil }
