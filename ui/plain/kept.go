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
		p.post(func() {
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
	p.choose("conversation", rows, p.open)
}

// open goes on with a stored conversation.
func (p *front) open(id string) {
	if id == p.app.Session.ID() {
		p.say("It is this one.")
		return
	}
	if p.app.Start.TakeFork() {
		p.copyOf(id)
		return
	}
	p.enterBy(id, func() (*session.Session, string, error) { return p.app.Resume(id) })
}

// fork goes on in a copy of this conversation.
func (p *front) fork(string) {
	if len(p.app.Session.History()) == 0 {
		p.say("There is nothing to copy yet.")
		return
	}
	p.copyOf(p.app.Session.ID())
}

func (p *front) copyOf(id string) {
	p.enterBy(id, func() (*session.Session, string, error) {
		s, note, err := p.app.Fork(id, 0)
		if note == "" {
			note = "This is a copy: the other conversation stays as it is."
		}
		return s, note, err
	})
}

// enterBy opens a conversation in the place of this one.
func (p *front) enterBy(id string, open func() (*session.Session, string, error)) {
	if !p.idle() {
		return
	}
	s, note, err := open()
	var held *session.LockedError
	switch {
	case errors.As(err, &held):
		p.later(p.confirm("This conversation is open in "+held.By+". Go on with a copy of it?", "go on with a copy", "leave it", false, func(yes bool) {
			if yes {
				p.copyOf(id)
			}
		}))
	case err != nil:
		p.fail(err)
	default:
		p.replace(s)
		if note != "" {
			p.say("Note: %s", sentence(oneLine(note)))
		}
	}
}

// fresh starts a new conversation with the model and settings of this one.
func (p *front) fresh(string) {
	if !p.idle() {
		return
	}
	s, err := p.app.New()
	if err != nil {
		p.fail(err)
		return
	}
	s.SetModel(p.app.Session.Model())
	s.SetEffort(p.app.Session.Effort())
	p.replace(s)
	p.say("A new conversation.")
}

// replace goes on with another conversation.
func (p *front) replace(s *session.Session) {
	old := p.app.Session
	_ = p.keepDraft()
	p.running.Go(func() { old.Close() })
	s.Policy().SetMode(old.Policy().Mode())
	p.app.Session, p.unsaved, p.failed, p.app.Attached, p.draft = s, nil, false, nil, ""
	p.hear()
	p.resumed()
}

func (p *front) rename(arg string) {
	if arg == "" || len(p.app.Session.History()) == 0 {
		p.say("/rename and a title, once something was said.")
		return
	}
	if err := p.app.Library.Rename(p.app.Session.ID(), arg); err != nil {
		p.fail(err)
		return
	}
	p.say("Called %s.", arg)
}

// export writes the conversation to a file.
func (p *front) export(arg string) {
	if len(p.app.Session.History()) == 0 {
		p.say("There is nothing to write yet.")
		return
	}
	format, path, _ := strings.Cut(arg, " ")
	rows := []choice{
		{name: "md", detail: "Markdown, the current branch", value: "md"},
		{name: "html", detail: "one file for any browser", value: "html"},
		{name: "jsonl", detail: "everything, every branch; parley sessions import takes it", value: "jsonl"},
	}
	p.pick("format", format, rows, func(format string) {
		s := p.app.Session
		p.soon(func() func() { // a command that prints a key takes its time
			path, note, err := p.app.Export(s, format, strings.TrimSpace(path))
			return func() {
				if err != nil {
					p.fail(err)
					return
				}
				p.say("Wrote %s%s", p.app.Short(path), note)
			}
		})
	})
}

func (p *front) compact(string) {
	if p.idle() {
		p.play(true, p.app.Session.Compact)
	}
}

// history sets what of the conversation requests hold.
func (p *front) history(arg string) {
	rows := []choice{
		{name: "full", detail: "everything that was said", value: string(session.HistoryFull)},
		{name: "dynamic", detail: "the newest turns that fit the window of the model", value: string(session.HistoryDynamic)},
		{name: "stateless", detail: "each prompt alone", value: string(session.HistoryStateless)},
	}
	p.pick("way", arg, rows, func(value string) {
		p.app.Session.SetHistoryMode(session.History(value))
		for _, r := range rows {
			if r.value == value {
				p.say("Requests hold %s.", r.detail)
			}
		}
	})
}

// usage says what was spent.
func (p *front) usage(string) {
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
func (p *front) permissions(string) {
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
