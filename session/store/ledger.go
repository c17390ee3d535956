package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"parley/providers/llm"
)

// ledgerTables holds the ledger: one row per paid request, of any purpose, and the sums of each
// day by provider. Triggers update the sums, so that checking a budget does not slow down as the
// ledger grows. Rows contain no text and stay when a conversation is removed. seq is that of a
// message, or the number of a video job, which has no session; 0: none.
//
// It is filled from the table usage, which had responses only, and from the stored summaries.
// Copies of summaries, in forks and imports, were not paid for.
const ledgerTables = `
CREATE TABLE ledger (
	num INTEGER PRIMARY KEY, at INTEGER, day TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, folder TEXT NOT NULL,
	provider TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL, input INTEGER NOT NULL, cache_read INTEGER NOT NULL,
	cache_write INTEGER NOT NULL, output INTEGER NOT NULL, thinking INTEGER NOT NULL, cost REAL NOT NULL, priced INTEGER NOT NULL,
	missed INTEGER NOT NULL, cause TEXT NOT NULL);
INSERT INTO ledger (at, day, session, seq, folder, provider, model, purpose, input, cache_read, cache_write, output, thinking, cost, priced, missed, cause)
	SELECT u.at, u.day, iif(u.session IN ('embed', 'image', 'video'), '', u.session), iif(u.session IN ('embed', 'image'), 0, u.seq), coalesce(s.folder, ''),
		iif(instr(u.model, '/') > 0, substr(u.model, 1, instr(u.model, '/') - 1), u.model), u.model,
		iif(u.session IN ('embed', 'image', 'video'), u.session, 'answer'),
		u.input, u.cache_read, u.cache_write, u.output, u.thinking, u.cost, u.priced, 0, ''
	FROM usage u LEFT JOIN sessions s ON s.id = u.session;
INSERT INTO ledger (at, day, session, seq, folder, provider, model, purpose, input, cache_read, cache_write, output, thinking, cost, priced, missed, cause)
	SELECT at, date(at / 1000000000, 'unixepoch', 'localtime'), id, seq, folder,
		iif(instr(model, '/') > 0, substr(model, 1, instr(model, '/') - 1), model), model, 'summary',
		coalesce(used ->> 'input', 0), coalesce(used ->> 'cache_read', 0), coalesce(used ->> 'cache_write', 0), coalesce(used ->> 'output', 0),
		coalesce(used ->> 'thinking', 0), coalesce(used ->> 'cost', 0.0), coalesce(used ->> 'priced', 0), 0, ''
	FROM (SELECT n.at, s.id, n.seq, s.folder, n.model, json_extract(n.rest, '$.usage') AS used FROM nodes n JOIN sessions s ON s.num = n.session
		WHERE n.role = 'user' AND s.origin = '' AND iif(n.rest <> '{}' AND json_valid(n.rest), json_extract(n.rest, '$.summary'), 0) AND n.at > 0)
	WHERE json_type(used) = 'object';
CREATE UNIQUE INDEX ledger_message ON ledger (session, seq) WHERE seq > 0;
CREATE INDEX ledger_at ON ledger (at);
CREATE TABLE ledger_days (
	day TEXT NOT NULL, provider TEXT NOT NULL, requests INTEGER, unpriced INTEGER, input INTEGER, cache_read INTEGER, cache_write INTEGER,
	output INTEGER, thinking INTEGER, cost REAL, missed INTEGER, PRIMARY KEY (day, provider)) WITHOUT ROWID;
INSERT INTO ledger_days SELECT day, provider, count(*), total(NOT priced), total(input), total(cache_read), total(cache_write),
	total(output), total(thinking), total(iif(priced, cost, 0.0)), 0 FROM ledger GROUP BY day, provider;
CREATE TRIGGER ledger_insert AFTER INSERT ON ledger BEGIN` + ledgerAdd + `END;
CREATE TRIGGER ledger_update AFTER UPDATE ON ledger
	WHEN (old.day, old.provider, old.input, old.cache_read, old.cache_write, old.output, old.thinking, old.cost, old.priced, old.missed) IS NOT
		(new.day, new.provider, new.input, new.cache_read, new.cache_write, new.output, new.thinking, new.cost, new.priced, new.missed) BEGIN
	UPDATE ledger_days SET requests = requests - 1, unpriced = unpriced - NOT old.priced, input = input - old.input,
		cache_read = cache_read - old.cache_read, cache_write = cache_write - old.cache_write, output = output - old.output,
		thinking = thinking - old.thinking, cost = cost - iif(old.priced, old.cost, 0.0), missed = missed - old.missed
		WHERE day = old.day AND provider = old.provider;` + ledgerAdd + `END;
CREATE TABLE reservations (
	num INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, provider TEXT NOT NULL, cost REAL NOT NULL, tokens INTEGER NOT NULL,
	pid INTEGER NOT NULL, start TEXT NOT NULL, boot TEXT NOT NULL, host TEXT NOT NULL);
DROP TABLE usage;
`

// ledgerAdd adds a new row of the ledger to the sums of its day.
const ledgerAdd = `
	INSERT INTO ledger_days VALUES (new.day, new.provider, 1, NOT new.priced, new.input, new.cache_read, new.cache_write,
		new.output, new.thinking, iif(new.priced, new.cost, 0.0), new.missed)
	ON CONFLICT (day, provider) DO UPDATE SET requests = requests + 1, unpriced = unpriced + excluded.unpriced, input = input + excluded.input,
		cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, output = output + excluded.output,
		thinking = thinking + excluded.thinking, cost = cost + excluded.cost, missed = missed + excluded.missed;
`

// missedCost adds the cost of missed tokens above the price of cached ones.
const missedCost = `ALTER TABLE ledger ADD COLUMN missed_cost REAL NOT NULL DEFAULT 0`

// Purposes of requests.
const (
	PurposeAnswer  = "answer"
	PurposeCompare = "compare" // one response of a comparison
	PurposeJudge   = "judge"   // verdict on the responses of a comparison
	PurposeTitle   = "title"
	PurposeSummary = "summary"
	PurposeEmbed   = "embed"
	PurposeImage   = "image"
	PurposeVideo   = "video"

	PurposeSampling = "sampling" // a request of an MCP server
	PurposeAside    = "aside"    // a question of the user beside the conversation
	PurposeConsult  = "consult"  // a question to another model
	PurposeExplore  = "explore"  // a request of a model that looks around for another
)

// A Ledger records the requests that used tokens or money. See [DB.Ledger].
type Ledger struct{ db *DB }

// Ledger returns the ledger, of all conversations and of requests outside of them.
func (db *DB) Ledger() Ledger { return Ledger{db} }

// Ledger returns the ledger of the store.
func (l *Log) Ledger() Ledger { return l.db.Ledger() }

// Add adds requests outside of conversations. [Log.Put] and [Log.Spend] add those of a
// conversation.
func (l Ledger) Add(entries ...LedgerEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return l.db.write(func(w *writer) error { return l.enter(w, entries) })
}

// Spend adds a request of the conversation without a message to the ledger, such as one for
// its title. If it cannot be written, it is kept and written later, as with [Log.Put].
func (l *Log) Spend(purpose, model string, u llm.Usage) error {
	return l.change(func() error {
		l.spent = append(l.spent, LedgerEntry{At: l.db.now(), Folder: l.session.Dir, Model: model, Purpose: purpose, Usage: u})
		l.side, l.session.Usage = l.side.Add(u), l.session.Usage.Add(u)
		return nil
	})
}

// usageOf returns the total usage of nodes.
func usageOf(nodes []nodeEntry) (sum llm.Usage) {
	for i := range nodes {
		if u := nodes[i].Usage; u != nil {
			sum = sum.Add(*u)
		}
	}
	return sum
}

// plus returns the sum of two usages. A zero usage counts as no request, not as an unpriced one.
func plus(u, v llm.Usage) llm.Usage {
	if v == (llm.Usage{}) {
		return u
	}
	return u.Add(v)
}

// besides returns the part of all that exceeds part; zero if nothing does.
func besides(all, part llm.Usage) llm.Usage {
	rest := llm.Usage{
		Input: max(all.Input-part.Input, 0), CacheRead: max(all.CacheRead-part.CacheRead, 0), CacheWrite: max(all.CacheWrite-part.CacheWrite, 0),
		Output: max(all.Output-part.Output, 0), Thinking: max(all.Thinking-part.Thinking, 0), Discarded: max(all.Discarded-part.Discarded, 0),
		Searches: max(all.Searches-part.Searches, 0), Cost: max(all.Cost-part.Cost, 0),
	}
	if rest.Cost < 1e-9 { // rounding depends on the order of a sum
		rest.Cost = 0
	}
	if rest == (llm.Usage{}) {
		return rest
	}
	rest.Priced, rest.Estimated = all.Priced, all.Estimated && !part.Estimated
	return rest
}

// findSideUsage computes side: the session's usage not covered by its messages. All messages are
// in memory.
func (l *Log) findSideUsage() {
	sum := usageOf(l.nodes)
	l.side = besides(l.session.Usage, sum)
	if besides(sum, l.session.Usage) != (llm.Usage{}) { // the stored usage was damaged
		l.recount()
	}
}

// ledgerEntryOf returns the entry of a response.
func ledgerEntryOf(s Session, n Node) LedgerEntry {
	e := LedgerEntry{At: n.At, Session: s.ID, Seq: n.Seq, Folder: s.Dir, Model: n.Model, Purpose: n.Purpose, Missed: n.Missed}
	if e.Purpose == "" {
		e.Purpose = PurposeAnswer
		if n.Origin == llm.OriginImages {
			e.Purpose = PurposeImage
		}
	}
	if n.Usage != nil {
		e.Usage = *n.Usage
	}
	return e
}

const enterSQL = `INSERT INTO ledger (at, day, session, seq, folder, provider, model, purpose, input, cache_read, cache_write, output,
	thinking, cost, priced, missed, cause, missed_cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (session, seq) WHERE seq > 0 DO UPDATE SET at = excluded.at, day = excluded.day, folder = excluded.folder,
	provider = excluded.provider, model = excluded.model, purpose = excluded.purpose, input = excluded.input, cache_read = excluded.cache_read,
	cache_write = excluded.cache_write, output = excluded.output, thinking = excluded.thinking, cost = excluded.cost, priced = excluded.priced,
	missed = excluded.missed, cause = excluded.cause, missed_cost = excluded.missed_cost`

// enter adds entries to the ledger. Counts are clamped, and a cost that is negative or
// not a number is treated as unknown, so that sums stay valid.
func (l Ledger) enter(w *writer, entries []LedgerEntry) error {
	for _, e := range entries {
		if e.At.IsZero() {
			e.At = l.db.now()
		}
		u := e.Usage
		if !(u.Cost >= 0) || math.IsInf(u.Cost, 0) {
			u.Cost, u.Priced = 0, false
		}
		err := w.Exec(enterSQL, nanos(e.At), e.At.Local().Format(time.DateOnly), e.Session, e.Seq, e.Folder, ProviderOf(e.Model), e.Model,
			e.Purpose, tokens64(u.Input), tokens64(u.CacheRead), tokens64(u.CacheWrite), tokens64(u.Output), tokens64(u.Thinking),
			u.Cost, u.Priced, tokens64(e.Missed.Tokens), string(e.Missed.Cause), min(max(e.Missed.Cost, 0), 1e9))
		if err != nil {
			return err
		}
	}
	return nil
}

// tokens64 returns n between 0 and 2^40, so that sums cannot overflow.
func tokens64(n int) int64 { return int64(min(max(n, 0), 1<<40)) }

// ProviderOf returns the provider of a model that is named provider/model.
func ProviderOf(model string) string {
	provider, _, _ := strings.Cut(model, "/")
	return provider
}

// Sums returns the sums of the requests from since to until (zero: unbounded), grouped and
// sorted by keys, which are from UsageKeys. Without keys it returns one sum.
func (l Ledger) Sums(since, until time.Time, keys ...string) (sums []UsageSum, err error) {
	columns := make([]string, len(keys))
	for i, key := range keys {
		if _, columns[i] = new(UsageSum).key(key); columns[i] == "" {
			return nil, fmt.Errorf("%q: usage is summed up by %s", key, strings.Join(UsageKeys, ", "))
		}
	}
	where, args := `WHERE 1`, []any(nil)
	if !since.IsZero() {
		where, args = where+` AND at >= ?`, append(args, nanos(since))
	}
	if !until.IsZero() {
		where, args = where+` AND at < ?`, append(args, nanos(until))
	}
	by := strings.Join(columns, ", ")
	query := `SELECT ` + strings.Join(append(columns, sumColumns), ", ") + ` FROM ledger ` + where
	if by != "" {
		query += ` GROUP BY ` + by + ` ORDER BY ` + by
	}
	err = l.read(func(q Tx) error {
		return EachRow(q, func(rows *sql.Rows) error {
			var s UsageSum
			var row sumRow
			var to []any
			for _, key := range keys {
				field, _ := s.key(key)
				to = append(to, field)
			}
			err := rows.Scan(append(to, row.columns()...)...)
			row.applyTo(&s)
			sums = append(sums, s)
			return err
		}, query, args...)
	})
	return sums, err
}

// Missed returns, by cause, the tokens that requests from since to until (zero:
// unbounded) did not read from caches, the most expensive cause first.
func (l Ledger) Missed(since, until time.Time) (sums []CacheSum, err error) {
	err = l.read(func(q Tx) error {
		return EachRow(q, func(rows *sql.Rows) error {
			var s CacheSum
			var tokens, cost sql.NullFloat64
			err := rows.Scan(&s.Cause, &s.Requests, &tokens, &cost)
			s.Tokens, s.Cost = tokenCount(tokens.Float64), cost.Float64
			sums = append(sums, s)
			return err
		}, `SELECT cause, count(*), total(missed), total(missed_cost) FROM ledger
			WHERE missed > 0 AND cause <> '' AND (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2)
			GROUP BY cause ORDER BY 4 DESC, 3 DESC, 1`, nanos(since), nanos(until))
	})
	return sums, err
}

// read runs f unless the file has no ledger, because it is read-only and of an older schema.
func (l Ledger) read(f func(Tx) error) error {
	return l.db.View(func(q Tx) error {
		if known, err := hasTable(q, "ledger"); err != nil || !known {
			return err
		}
		return f(q)
	})
}

// sumColumns sum rows of the ledger, daySums those of ledger_days.
const (
	sumColumns = `count(*), total(NOT priced), total(input), total(cache_read), total(cache_write), total(output), total(thinking),
		total(iif(priced, cost, 0.0)), total(missed)`
	daySums = `total(requests), total(unpriced), total(input), total(cache_read), total(cache_write), total(output), total(thinking),
		total(cost), total(missed)`
)

// A sumRow scans these columns, which are numbers even if rows are damaged.
type sumRow [9]sql.NullFloat64

func (r *sumRow) columns() []any {
	to := make([]any, len(r))
	for i := range r {
		to[i] = &r[i]
	}
	return to
}

func (r *sumRow) applyTo(s *UsageSum) {
	n := func(i int) int { return tokenCount(r[i].Float64) }
	*s = UsageSum{s.Day, s.Month, s.Session, s.Folder, s.Provider, s.Model, s.Purpose, n(0), n(1), n(8), llm.Usage{
		Input: n(2), CacheRead: n(3), CacheWrite: n(4), Output: n(5), Thinking: n(6), Cost: r[7].Float64, Priced: n(1) == 0}}
}

// tokenCount returns a sum of tokens as an int; in a damaged file it may be any number.
func tokenCount(sum float64) int { return int(min(max(sum, 0), 1<<53)) }

// Spent returns the usage from since to until (zero: unbounded) at a provider; "" means all.
// Whole days are read from their sums, so that a month takes no longer than an hour. Days are
// those of the local time when a request was made.
func (l Ledger) Spent(since, until time.Time, provider string) (sum UsageSum, err error) {
	err = l.read(func(q Tx) error {
		sum, err = spent(q, since, until, provider)
		return err
	})
	return sum, err
}

func spent(q Tx, since, until time.Time, provider string) (UsageSum, error) {
	day := func(t time.Time) string { return t.Local().Format(time.DateOnly) }
	midnight := func(t time.Time) time.Time {
		y, m, d := t.Local().Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	}
	var sum UsageSum
	add := func(query string, args ...any) error {
		var row sumRow
		var s UsageSum
		err := q.QueryRow(query, args...).Scan(row.columns()...)
		row.applyTo(&s)
		sum = sum.Add(s)
		return err
	}
	part := func(from, to time.Time) error { // within one day, that of from
		next := midnight(from).AddDate(0, 0, 2) // a day may be longer than 24 hours; the query compares dates
		if to.IsZero() || to.After(next) {
			to = next
		}
		return add(`SELECT `+sumColumns+` FROM ledger WHERE at >= ?1 AND at < ?2 AND day = ?3 AND (?4 = '' OR provider = ?4)`,
			nanos(from), nanos(to), day(from), provider)
	}
	first, end := "", "9999"
	var err error
	if !since.IsZero() {
		if first = day(since); !since.Equal(midnight(since)) {
			if !until.IsZero() && day(until) == first {
				err = part(since, until)
				return sum, err
			}
			err = part(since, time.Time{})
			first = day(midnight(since).AddDate(0, 0, 1))
		}
	}
	if !until.IsZero() {
		end = day(until)
		err = cmp.Or(err, part(midnight(until), until))
	}
	err = cmp.Or(err, add(`SELECT `+daySums+` FROM ledger_days WHERE day >= ?1 AND day < ?2 AND (?3 = '' OR provider = ?3)`, first, end, provider))
	return sum, err
}
