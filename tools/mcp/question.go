package mcp

import (
	"context"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

// A Question is a request of a server to the user: to fill in a form, to open a page, or to let the
// model answer. Its text is the server's, sanitized and without its credentials. Reply ends it.
type Question struct {
	Server string
	Text   string  // what the server says
	URL    string  // of the page to open; "": it is no page
	Opened bool    // the user agreed to open the page: the next reply means that it is done
	Fields []Field // of the form

	Sample *llm.Request // what the model is to answer, without tools; nil for other questions

	Refused string // why it was declined before a user saw it; "": it waits for an answer

	Reply    func(Reply)     // gives the answer; the first one counts
	Ended    <-chan struct{} // closed when the server no longer waits for the answer; nil if it never did
	PageDone <-chan struct{} // closed when the server says that the page is done; nil: it does not say
	WhyOver  func() string   // why the server no longer waits; "" if it does not say, or does; nil: it does not say
}

// A Reply is what a user said to a question.
type Reply struct {
	Action string         // as MCP has it
	Values map[string]any // of the fields, by their names
	Text   string         // of the model
	Model  string
}

// Actions of a Reply: MCP's elicitation.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel" // the question is dismissed without an answer
)

// Answer accepts, with the values of the fields by their names; nil without fields.
func (q *Question) Answer(values map[string]any) {
	q.Reply(Reply{Action: ActionAccept, Values: values})
}

// Decline refuses the request.
func (q *Question) Decline() { q.Reply(Reply{Action: ActionDecline}) }

// Cancel dismisses the question without an answer.
func (q *Question) Cancel() { q.Reply(Reply{Action: ActionCancel}) }

// Done reports whether the server said that the page is done.
func (q *Question) Done() bool { return isClosed(q.PageDone) }

// Over reports whether the server no longer waits for the answer.
func (q *Question) Over() bool { return isClosed(q.Ended) }

// isClosed reports whether a channel is closed; one that is nil is not.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Waiting returns a context that ends with ctx, or when the server no longer waits for the answer.
func (q *Question) Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-q.Ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// SampleText returns what a server has the model answer, for the user who allows it: what it wrote
// is quoted, so that none of it passes for the role above it.
func (q *Question) SampleText() string {
	var b strings.Builder
	if q.Sample.System != "" {
		fmt.Fprintf(&b, "── System prompt\n%s\n\n", sanitize.Quote(q.Sample.System))
	}
	for _, m := range q.Sample.Messages {
		fmt.Fprintf(&b, "── %s\n%s\n\n", map[llm.Role]string{llm.RoleUser: "User", llm.RoleAssistant: "Assistant"}[m.Role], sanitize.Quote(m.Text()))
	}
	return strings.TrimSpace(b.String())
}

// A Field is one of a form: a text, a number, or one or several of some choices.
type Field struct {
	Name     string // the server's; for Question.Answer
	Title    string // for people
	Help     string // "" for none
	Required bool
	Default  string   // as a user would type it; "" for none
	Choices  []Choice // "" is none of them; nil: it is typed
	Several  bool     // several choices may be typed, with commas

	// Parse returns the value of the field that was typed or chosen. The error says what it must be.
	Parse func(text string) (any, error)
}

// A Choice is a value that a field may have.
type Choice struct {
	Value string // to be parsed
	Title string
}

// ChoiceTitles returns what may be chosen, with commas.
func (f Field) ChoiceTitles() string {
	var titles []string
	for _, c := range f.Choices {
		titles = append(titles, c.Title)
	}
	return strings.Join(titles, ", ")
}
