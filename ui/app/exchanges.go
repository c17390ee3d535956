package app

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/exchange"
)

// Wire gives access to the HTTP exchanges of this run. The zero value has none.
type Wire struct {
	List          func() []exchange.Exchange             // returns the exchanges, newest first, without headers and bodies
	Get           func(id int) (exchange.Exchange, bool) // returns one with headers and bodies; false if it is no longer in memory
	OnRecordError func(func(trouble string))             // sets the callback for recordings that cannot be written; it runs on any goroutine
}

// OfTurn returns the ids of the exchanges in the turn of the message user (a Seq) of path; nil if there are none.
func (w Wire) OfTurn(path []session.Node, user int) (ids []int) {
	from, to := turnTime(path, user)
	if w.List == nil || from.IsZero() {
		return nil
	}
	for _, e := range w.List() {
		if !e.Start.Before(from) && (to.IsZero() || e.Start.Before(to)) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// turnTime returns the time span of the turn of a message, from the time of the user's message to that of the next one.
// The end is zero for the last turn.
func turnTime(path []session.Node, user int) (from, to time.Time) {
	begun := false
	for i, n := range path {
		switch {
		case n.Seq == user && user != 0:
			from, begun = n.At, true
		case n.Summary && i > 0 && path[i-1].Role == llm.RoleTool: // a summary within the turn
		case begun && n.Role == llm.RoleUser && n.At.After(from):
			return from, n.At
		}
	}
	return from, time.Time{}
}

// SaveExchange writes e to a new file that only its owner may read, and returns its path. Relative paths are resolved
// against o.Directory; "" makes a name from the time and e.ID.
func (o *Options) SaveExchange(e exchange.Exchange, path string) (string, error) {
	if path == "" {
		path = fmt.Sprintf("wire-%s-%d.txt", e.Start.Local().Format("20060102-150405"), e.ID)
	}
	path = o.Absolute(path)
	var text strings.Builder
	for _, part := range e.Parts() {
		fmt.Fprintf(&text, "── %s %s\n\n%s\n\n", part.Title, part.Note, strings.TrimRight(part.Source, "\n"))
	}
	if err := attach.SaveNew(path, []byte(text.String())); err != nil {
		return "", err
	}
	return path, nil
}
