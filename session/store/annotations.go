package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"parley/providers/llm"
)

// An Annotation is something that was shown between the messages of a conversation
// and is never sent to a model: a notice, an error, a command of the user.
type Annotation struct {
	N     int             `json:"n"`              // number in the session, from 1
	After int             `json:"after"`          // Seq of the message it follows; 0: it begins the conversation
	Next  int             `json:"next"`           // Seq that the next message was going to have: if that one follows After, other branches do not show this, but see KindDone
	Part  int             `json:"part,omitempty"` // number of parts of message Next shown before it
	Idle  bool            `json:"idle,omitempty"` // no turn was running
	At    time.Time       `json:"at"`
	Kind  string          `json:"kind"` // of Data; "": the annotation is deleted
	Data  json.RawMessage `json:"data"`
}

// KindDone is the kind of annotations that say how a turn ended early. The end of an answer is shown
// after it on all branches.
const KindDone = "done"

// KindAbandoned is the kind of annotations that name, by its Seq, a message of another
// branch. Forks do not keep them.
const KindAbandoned = "left"

// KindSettings is the kind of annotations whose last one is valid for the whole
// conversation: a fork keeps it, whatever branch it is on.
const KindSettings = "settings"

// KindPersona is the kind of annotations that name the system prompt used from there on.
const KindPersona = "persona"

// KindDirectories is the kind of annotations that list the added directories of tools from there on.
const KindDirectories = "folders"

// Limits on imported annotations.
const (
	MaxAnnotationsPerPlace = 100     // annotations between the same two messages
	maxData                = 1 << 20 // bytes of one annotation
)

// LimitAnnotations returns the imported annotations within the limits: the last
// MaxAnnotationsPerPlace between two messages.
func LimitAnnotations(all []Annotation) []Annotation {
	here := map[[2]int]int{}
	var kept []Annotation
	for _, a := range slices.Backward(all) {
		position := [2]int{a.After, a.Next}
		if here[position]++; here[position] <= MaxAnnotationsPerPlace && a.Kind != "" && len(a.Data) <= maxData {
			kept = append(kept, a)
		}
	}
	slices.Reverse(kept)
	return kept
}

const annotationsTable = `CREATE TABLE annotations (
	session INTEGER NOT NULL, n INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, n)) WITHOUT ROWID;`

// AnnotationsAlong returns the annotations of the branch path: at index i those before
// path[i], or between its parts, and at len(path) those after its end. parent returns the
// Parent of a message, and whether that message exists. If path begins in the middle of a
// branch, only annotations of this branch precede its first message.
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
		} else if endsAnswer := a.Kind == KindDone && i > 0 && path[i-1].Role == llm.RoleAssistant; !endsAnswer && (i == len(path) || path[i].Seq != a.Next) {
			continue
		}
		along[i] = append(along[i], a)
	}
	for _, list := range along {
		sort.SliceStable(list, func(i, j int) bool { return list[i].Part < list[j].Part })
	}
	return along
}

// An annotationEntry is an annotation with the version that is on disk, see nodeEntry.
type annotationEntry struct {
	Annotation
	gen, saved uint64
}

// A logContent holds the content of a conversation.
type logContent struct {
	nodes       []nodeEntry       // in the order of Seq
	annotations []annotationEntry // in the order of N
	spent       []LedgerEntry     // requests without a message, not on disk yet
	side        llm.Usage         // usage of all requests without a message
	written     int               // at least this many of the first nodes are unchanged since they were written

	older      int       // messages 1 to older are on disk and not in nodes
	olderUsage llm.Usage // usage of messages 1 to older, plus side when the conversation was opened
}

func byN(e annotationEntry, n int) int { return cmp.Compare(e.N, n) }

// Annotate adds a, or replaces the annotation with the same N. It is on disk after
// the next Flush, Put or Close, provided that a message is. A closed Log ignores
// it.
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

// Annotations returns the annotations in the order of N.
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

// Flush writes pending changes. An error is returned, reported and retried as with Put.
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
		return w.Exec(`DELETE FROM annotations WHERE session = ? AND n = ?`, num, a.N)
	}
	data, err := encode(a)
	if err != nil {
		return err
	}
	return w.Exec(`INSERT OR REPLACE INTO annotations (session, n, data) VALUES (?, ?, ?)`, num, a.N, string(data))
}

// annotations reads the annotations of the session num. Unreadable ones are
// counted and left out.
func annotations(q Tx, num int64, damage *damageReport) (all []Annotation) {
	if known, err := hasTable(q, "annotations"); err != nil || !known {
		return nil
	}
	var c columns
	var n int
	var data string
	err := EachRow(q, func(rows *sql.Rows) error {
		var a Annotation
		err := rows.Scan(c.places("n data", &n, &data)...)
		if err == nil {
			err = errors.Join(c.err(), json.Unmarshal([]byte(data), &a))
		}
		if err == nil && (n < 1 || a.Kind == "" || len(all) > 0 && n <= all[len(all)-1].N) {
			err = errors.New("it has no number or no kind")
		}
		if err != nil {
			damage.add(fmt.Errorf("annotation %d: %w", n, err))
			return nil
		}
		a.N = n
		all = append(all, a)
		return nil
	}, `SELECT n, data FROM annotations WHERE session = ? ORDER BY n`, num)
	if err != nil {
		damage.add(err)
	}
	return all
}

// Annotations returns the annotations of a session by N, without opening it. A *DamagedError
// comes with the readable ones.
func (db *DB) Annotations(id string) (all []Annotation, err error) {
	err = db.View(func(q Tx) error {
		row, err := sessionReader{db, q}.row(id)
		if err != nil && !isPartial(err) {
			return err
		}
		var damage damageReport
		all = annotations(q, row.num, &damage)
		return damage.err(db, nil)
	})
	return all, err
}

// A storedContent is the content of a conversation as read from the file.
type storedContent struct {
	nodes       []Node
	older       int // messages 1 to older are in the file and not in nodes
	annotations []Annotation
}

// branch returns the messages and annotations of the branch that ends in head, numbered from
// 1, for another session, and the numbers of the messages here.
func (s storedContent) branch(head int) (branch []Node, seqs []int, shown []Annotation) {
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
		seqs = append(seqs, branch[i].Seq)
		branch[i].Seq, branch[i].Parent = i+1, i
	}
	return branch, seqs, withSettings(shown, s.annotations, len(branch))
}

// withSettings returns shown, the annotations of a fork that ends with the message last, with
// the conversation's settings from all.
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
