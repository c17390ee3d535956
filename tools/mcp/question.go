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
	Text   string  // the server's text
	URL    string  // of the page to open; "" for other questions
	Opened bool    // the user agreed to open the page; the next reply reports that it is done
	Fields []Field // of a form

	Sample *llm.Request // request for the model, without tools; nil for other questions

	Refused string // why it was declined before the user saw it; "": it waits for an answer

	Reply    func(Reply)     // answers the question; only the first call counts
	Ended    <-chan struct{} // closed when the server no longer waits for the answer; nil if it never did
	PageDone <-chan struct{} // closed when the server reports that the page is done; nil: it does not report
	WhyOver  func() string   // returns why the server no longer waits; "" if unknown or still waiting; nil: unknown
}

// A Reply is the user's answer to a question.
type Reply struct {
	Action string         // an Action constant, as in MCP
	Values map[string]any // of the fields, by name
	Text   string         // of the model
	Model  string
}

// Actions of a Reply, as in MCP's elicitation.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel" // dismissed without an answer
)

// Answer accepts with the values of the fields by name; nil if there are no fields.
func (q *Question) Answer(values map[string]any) {
	q.Reply(Reply{Action: ActionAccept, Values: values})
}

// Decline refuses the request.
func (q *Question) Decline() { q.Reply(Reply{Action: ActionDecline}) }

// Cancel dismisses the question without an answer.
func (q *Question) Cancel() { q.Reply(Reply{Action: ActionCancel}) }

// Done reports whether the server has reported that the page is done.
func (q *Question) Done() bool { return isClosed(q.PageDone) }

// Over reports whether the server no longer waits for the answer.
func (q *Question) Over() bool { return isClosed(q.Ended) }

// isClosed reports whether a channel is closed; a nil channel is not.
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

// SampleText returns a sampling request for the user's approval: the server's text is quoted, so
// that none of it can be mistaken for the roles above it.
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

// A Field is a form field: a text, a number, or one or more choices.
type Field struct {
	Name     string // the server's name; for Question.Answer
	Title    string // for display
	Help     string // "" for none
	Required bool
	Default  string   // as a user would type it; "" for none
	Choices  []Choice // "" is no choice; nil: free text
	Several  bool     // several choices may be typed, separated by commas

	// Parse parses the typed or chosen value of the field. An error says what the value must be.
	Parse func(text string) (any, error)
}

// A Choice is a possible value of a field.
type Choice struct {
	Value string // for Parse
	Title string
}

// ChoiceTitles returns the titles of the choices, separated by commas.
func (f Field) ChoiceTitles() string {
	var titles []string
	for _, c := range f.Choices {
		titles = append(titles, c.Title)
	}
	return strings.Join(titles, ", ")
}
