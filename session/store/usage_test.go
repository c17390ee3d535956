package store

import (
	"time"

	"parley/providers/llm"
)

// dayUsage holds what a model used on one day, in one session if that was asked for.
type dayUsage struct {
	Day      string // 2026-11-20, local time
	Model    string // provider/model
	Session  string // set where spending is asked for by session
	Answers  int
	Unpriced int // answers whose price is unknown; they are not in Usage.Cost
	Usage    llm.Usage
}

// dailyUsage returns the ledger's sums from since to until by day, model and, with bySession,
// session, or the purpose of requests without one.
func dailyUsage(db *DB, since, until time.Time, bySession bool) ([]dayUsage, error) {
	keys := []string{"day", "model"}
	if bySession {
		keys = append(keys, "session", "purpose")
	}
	sums, err := db.Ledger().Sums(since, until, keys...)
	var spent []dayUsage
	for _, s := range sums {
		d := dayUsage{Day: s.Day, Model: s.Model, Session: s.Session, Answers: s.Requests, Unpriced: s.Unpriced, Usage: s.Usage}
		if bySession && s.Session == "" {
			d.Session = s.Purpose
		}
		if n := len(spent); n > 0 && bySession && spent[n-1].Day == d.Day && spent[n-1].Model == d.Model && spent[n-1].Session == d.Session {
			last := &spent[n-1]
			last.Answers, last.Unpriced, last.Usage = last.Answers+d.Answers, last.Unpriced+d.Unpriced, last.Usage.Add(d.Usage)
			continue
		}
		spent = append(spent, d)
	}
	return spent, err
}
