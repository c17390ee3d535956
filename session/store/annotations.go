package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/providers/llm"
)

// An Annotation is something that was shown between the messages of a conversation
// and is never sent to a model: a notice, an error, a command of the user's.
type Annotation struct {
	N     int             `json:"n"`              // counts the annotations of the session from 1
	After int             `json:"after"`          // Seq of the message it stands behind; 0: it begins the conversation
	Next  int             `json:"next"`           // Seq of the message that was to come: if that follows After, other branches do not show this
	Part  int             `json:"part,omitempty"` // how many parts of that message stood in front of it
	Idle  bool            `json:"idle,omitempty"` // no turn was running
	At    time.Time       `json:"at"`
	Kind  string          `json:"kind"` // of Data; "": the annotation is deleted
	Data  json.RawMessage `json:"data"`
}

// KindAbandoned holds the kind of an annotation that names, by its Seq, a message of another
// branch. Forks do not keep those.
const KindAbandoned = "left"

// KindSettings holds the kind of annotations of which the last one holds for the whole
// conversation: a fork keeps it, whatever branch it came with.
const KindSettings = "settings"

// KindPersona is the kind of an annotation that says which system prompt holds from there on.
const KindPersona = "persona"

// KindDirectories is the kind of an annotation that says which further folders tools reach from there
// on.
const KindDirectories = "folders"

// Bounds for what is kept of a conversation beside its messages.
const (
	MaxAnnotationsPerPlace = 100     // annotations in one place
	maxData                = 1 << 20 // bytes of one that is brought in
)

// LimitAnnotations returns those of annotations from elsewhere that can be kept: of one
// place the last ones.
func LimitAnnotations(all []Annotation) []Annotation {
	here := map[[2]int]int{}
	var kept []Annotation
	for _, a := range slices.Backward(all) {
		place := [2]int{a.After, a.Next}
		if here[place]++; here[place] <= MaxAnnotationsPerPlace && a.Kind != "" && len(a.Data) <= maxData {
			kept = append(kept, a)
		}
	}
	slices.Reverse(kept)
	return kept
}

const annotationsTable = `CREATE TABLE annotations (
	session INTEGER NOT NULL, n INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, n)) WITHOUT ROWID;`

// AnnotationsAlong returns the annotations of a branch: at i those in front of path[i], or
// between its parts, and last those behind its end. parent returns the Parent of
// a message, and whether there is one. Of a path that begins in the middle, only
// its own annotations stand in front of the first message.
func AnnotationsAlong(path []Node, all []Annotation, parent func(seq int) (int, bool)) [][]Annotation {
	along := make([][]Annotation, len(path)+1)
	at := map[int]int{}
	if len(path) == 0 {
		at[0] = 0
	}
	for i, n := range path {
		at[n.Parent], at[n.Seq] = i, i+1
	}
	for _, a := range all {
		i, ok := at[a.After]
		if !ok {
			continue
		}
		if p, ok := parent(a.Next); !ok || p != a.After {
			if i == 0 && a.After != 0 {
				continue
			}
			a.Part = 0
		} else if i == len(path) || path[i].Seq != a.Next {
			continue
		}
		along[i] = append(along[i], a)
	}
	for _, list := range along {
		slices.SortStableFunc(list, func(a, b Annotation) int { return cmp.Compare(a.Part, b.Part) })
	}
	return along
}

// An annotationEntry is an annotation and what of it is on disk, as in entry.
type annotationEntry struct {
	Annotation
	gen, saved uint64
}

// A logContent holds all that was said and shown in a conversation.
type logContent struct {
	nodes       []entry           // in the order of Seq
	annotations []annotationEntry // in the order of N
	spent       []LedgerEntry     // requests that are no messages; not on disk yet
	written     int               // how many of the first nodes are on disk as they are, at least

	older      int       // messages 1 to older are on disk, as they are, and not among nodes
	olderUsage llm.Usage // theirs
}

func byN(e annotationEntry, n int) int { return cmp.Compare(e.N, n) }

// Annotate adds a, or replaces the annotation with the same N. It is on disk after
// the next Flush, Put or Close, if any message is. A closed Log takes none.
func (l *Log) Annotate(a Annotation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	i, found := slices.BinarySearchFunc(l.annotations, a.N, byN)
	if !found {
		l.annotations = slices.Insert(l.annotations, i, annotationEntry{})
	}
	e := &l.annotations[i]
	e.Annotation = a
	e.gen++
}

// Annotations returns what was shown between the messages in the order of N.
func (l *Log) Annotations() []Annotation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Annotation
	for _, e := range l.annotations {
		if e.Kind != "" {
			all = append(all, e.Annotation)
		}
	}
	return all
}

// Flush writes what is not on disk yet. What fails is told and tried again as
// after Put.
func (l *Log) Flush() error {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed { // Close has written it
		return nil
	}
	return l.flush()
}

// annotate writes one annotation of the session num, or deletes it.
func (w *writer) annotate(num int64, a Annotation) error {
	if a.Kind == "" {
		return w.exec(`DELETE FROM annotations WHERE session = ? AND n = ?`, num, a.N)
	}
	data, err := encode(a)
	if err != nil {
		return err
	}
	return w.exec(`INSERT OR REPLACE INTO annotations (session, n, data) VALUES (?, ?, ?)`, num, a.N, string(data))
}

// annotations reads those of the session num. What cannot be read is counted and
// hides neither the others nor the messages.
func annotations(q querier, num int64, missed *damageReport) (all []Annotation) {
	var tables int // a file that cannot be written may be of an older schema
	if err := q.one(`SELECT count(*) FROM sqlite_schema WHERE name = 'annotations'`).Scan(&tables); err != nil || tables == 0 {
		return nil
	}
	var c columns
	var n int
	var data []byte
	err := each(q, func(rows *sql.Rows) error {
		var a Annotation
		err := rows.Scan(numberOf(&c, "n", &n), bytesOf(&c, "data", &data))
		if err == nil {
			err = errors.Join(c.err(), json.Unmarshal(data, &a))
		}
		if err == nil && (n < 1 || a.Kind == "" || len(all) > 0 && n <= all[len(all)-1].N) {
			err = errors.New("it has no number or no kind")
		}
		if err != nil {
			missed.add(fmt.Errorf("annotation %d: %w", n, err))
			return nil
		}
		a.N = n
		all = append(all, a)
		return nil
	}, `SELECT n, data FROM annotations WHERE session = ? ORDER BY n`, num)
	if err != nil {
		missed.add(err)
	}
	return all
}

// Annotations returns what was shown between the messages of a session.
func (db *DB) Annotations(id string) (all []Annotation, err error) {
	err = db.read(func(q querier) error {
		row, err := db.row(q, id)
		if err != nil && !isPartial(err) {
			return err
		}
		var missed damageReport
		all = annotations(q, row.num, &missed)
		return missed.err(db, nil)
	})
	return all, err
}

// A storedContent holds what a file holds of a conversation.
type storedContent struct {
	nodes       []Node
	older       int // messages 1 to older are there, and not among nodes
	annotations []Annotation
}

// branch returns the branch that ends in head, numbered from 1, as that of another
// session.
func (s storedContent) branch(head int) (branch []Node, shown []Annotation) {
	at := map[int]Node{}
	for _, n := range s.nodes {
		at[n.Seq] = n
	}
	for n, ok := at[head]; ok; n, ok = at[n.Parent] {
		branch = append(branch, n)
	}
	slices.Reverse(branch)
	along := AnnotationsAlong(branch, s.annotations, func(seq int) (int, bool) { n, ok := at[seq]; return n.Parent, ok })
	for i, list := range along {
		for _, a := range list {
			if a.Kind != KindAbandoned {
				a.N, a.After, a.Next = len(shown)+1, i, i+1
				shown = append(shown, a)
			}
		}
	}
	for i := range branch {
		branch[i].Seq, branch[i].Parent = i+1, i
	}
	return branch, withSettings(shown, s.annotations, len(branch))
}

// withSettings returns what a fork shows that ends with the message last, with the settings of
// all the conversation.
func withSettings(shown, all []Annotation, last int) []Annotation {
	at := func(list []Annotation) int {
		for i, a := range slices.Backward(list) {
			if a.Kind == KindSettings {
				return i
			}
		}
		return -1
	}
	own, kept := at(all), at(shown)
	if own < 0 || kept >= 0 && bytes.Equal(shown[kept].Data, all[own].Data) {
		return shown
	}
	a := all[own]
	a.N, a.After, a.Next, a.Part = len(shown)+1, last, last+1, 0
	return append(shown, a)
}
