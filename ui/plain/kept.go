package plain

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
)

// hear listens to the session's news of the disk.
func (p *front) hear() {
	s := p.app.Session
	s.OnSave(func(err error) {
		p.mail.post(func() {
			if p.app.Session == s {
				p.saved(err)
			}
		})
	})
}

// saved tells that what is said cannot be kept, for as long as that is so.
func (p *front) saved(err error) {
	was := p.unsaved
	p.unsaved = err
	var lost *session.LeaseLostError
	switch {
	case errors.As(err, &lost):
		p.unsaved = nil
		p.say("Another parley took this conversation over while this one was stopped: going on in a copy, %s.", lost.Fork)
	case err != nil && was == nil:
		p.say("Not saved: %s The chat goes on; what is said is kept in memory and saved as soon as that works again.", sentence(oneLine(err.Error())))
	case err == nil && was != nil:
		p.say("Saved: everything is on disk again.")
	}
}

// resumed tells of a conversation that was held before, and reads its end.
func (p *front) resumed() {
	path := p.app.Session.Path()
	if n := len(path); n > 0 {
		last := path[n-1]
		p.failed = last.Interrupted || last.Role != llm.RoleAssistant && !last.Summary
		p.say("Conversation: %s, %s. Its end:", p.app.Session.Title(), format.Plural(n, "message"))
		p.readBack("")
		if p.failed && !endedEarly(p.app.Session, path) {
			p.say("Stopped. /retry goes on.")
		}
	}
	p.recall()
}

// readBack reads the last prompt and its answer, or the last so many of them.
func (p *front) readBack(arg string) {
	most, err := strconv.Atoi(arg)
	path := p.app.Session.Path()
	switch {
	case len(path) == 0:
		p.say("Nothing was said yet.")
		return
	case arg == "all":
		most = len(path)
	case arg == "":
		most = 1
	case err != nil || most < 1:
		p.say("/read and a number, or all.")
		return
	}
	from := len(path)
	for i := len(path) - 1; i >= 0 && most > 0; i-- {
		if from = i; path[i].Role == llm.RoleUser {
			most--
		}
	}
	p.readPath(path[from:])
}

// idle reports whether no reply is running, and says so if one is.
func (p *front) idle() bool {
	if p.turn != nil {
		p.say("Stop the running reply first, with ctrl+c.")
	}
	return p.turn == nil
}

// sessions reads the list of the conversations, or of those whose title or ID
// has words in it.
func (p *front) sessions(words string) {
	if !p.idle() {
		return
	}
	lib := p.app.Library
	p.soon(func() func() {
		found, err := lib.List(session.Query{})
		found = slices.DeleteFunc(found, func(s session.Info) bool {
			return !strings.Contains(strings.ToLower(s.ID+" "+app.Title(s)), strings.ToLower(words))
		})
		return func() { p.listed(found, err) }
	})
}

func (p *front) listed(found []session.Info, err error) {
	if err != nil {
		p.fail(err)
	}
	var rows []choice
	for _, s := range found {
		detail := []string{s.Model, format.Age(p.now().Sub(s.Updated)), p.app.Short(s.Dir)}
		if s.LockedBy != "" && s.ID != p.app.Session.ID() {
			detail = append(detail, "open in "+s.LockedBy)
		}
		if s.ID == p.app.Session.ID() {
			detail = append(detail, "this one")
		}
		rows = append(rows, choice{name: app.Title(s), detail: strings.Join(detail, ", "), value: s.ID})
	}
	if len(rows) == 0 {
		p.say("No conversation is kept yet.")
		return
	}
	p.choose("conversation", rows, func(id string) { p.apply(p.app.OpenSession(id, 0)) })
}

// usage says what was spent.
func (p *front) usage() {
	say := func(name string, u llm.Usage) {
		if u == (llm.Usage{}) {
			return
		}
		parts := []string{format.Plural(u.Input, "token") + " in", format.Plural(u.Output, "token") + " out"}
		if cost := money(u); cost != "" {
			parts = append(parts, cost)
		}
		p.say("%s: %s.", name, strings.Join(parts, ", "))
	}
	total, last := p.app.Session.Usage()
	say("Last answer", last)
	say("This conversation", total)
	spent, err := p.app.Library.DailyUsage(p.now().AddDate(0, 0, -30), time.Time{}, false)
	if err != nil {
		p.fail(err)
	}
	var today, month llm.Usage
	for _, r := range spent {
		month = month.Add(r.Usage)
		if r.Day == p.now().Format(time.DateOnly) {
			today = today.Add(r.Usage)
		}
	}
	say("Today", today)
	say("The last 30 days", month)
	if total == (llm.Usage{}) && month == (llm.Usage{}) {
		p.say("Nothing was used yet.")
	}
}

// permissions reads the rules, and takes away the one that is chosen.
func (p *front) permissions() {
	policy := p.app.Session.Policy()
	var rows []choice
	kept := policy.Rules()
	for i, r := range kept {
		rows = append(rows, choice{name: string(r.Effect) + " " + r.String(), detail: "by " + string(r.Source), value: strconv.Itoa(i)})
	}
	if len(rows) == 0 {
		p.say("There are no rules yet: p in a question makes one.")
		return
	}
	p.say("A number takes a rule away that an answer of yours made.")
	p.choose("rule", rows, func(value string) {
		i, _ := strconv.Atoi(value)
		if policy.Remove(kept[i]) {
			p.say("It asks again.")
			return
		}
		p.say("Rules of the configuration and of the command line stay.")
	})
}
