package store

import (
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// A Session describes a stored conversation, without its messages.
type Session struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`             // one line; "" until the first prompt
	Named   bool        `json:"named,omitempty"`   // the user chose the title
	Dir     string      `json:"folder,omitempty"`  // working directory it began in, absolute
	Model   string      `json:"model,omitempty"`   // provider/model that answers next
	Effort  llm.Effort  `json:"effort,omitempty"`  // of its requests
	History HistoryMode `json:"history,omitempty"` // which messages a request has
	Pinned  bool        `json:"pinned,omitempty"`
	Origin  string      `json:"origin,omitempty"` // "fork ID", "fork ID from FORMAT", or the FORMAT it was imported from
	Created time.Time   `json:"created"`
	Updated time.Time   `json:"updated"` // of its last message; lists are ordered by sequence, not by this
	Head    int         `json:"head"`    // Seq of the last message of the current branch; 0: none

	Messages int       `json:"messages"`       // number on all branches
	Usage    llm.Usage `json:"usage"`          // of all responses on all branches, and of other requests
	Preview  string    `json:"preview"`        // one line: the beginning of the last prompt
	LockedBy string    `json:"held,omitempty"` // description of the other process that has it open; "": none
	Deleted  time.Time `json:"deleted,omitzero"`
}

// ImportedFrom returns the format that the conversation, or the one it is a fork of, was imported from; "" for none.
func (s Session) ImportedFrom() string {
	if fork, ok := strings.CutPrefix(s.Origin, "fork "); ok {
		_, from, _ := strings.Cut(fork, " from ")
		return from
	}
	return s.Origin
}

// forkOrigin returns the Origin of a fork.
func (s Session) forkOrigin() string {
	if from := s.ImportedFrom(); from != "" {
		return "fork " + s.ID + " from " + from
	}
	return "fork " + s.ID
}

// HistoryMode says which messages of a conversation a request has.
type HistoryMode string

// The history modes.
const (
	HistoryFull      HistoryMode = ""          // everything
	HistoryDynamic   HistoryMode = "dynamic"   // the oldest whole turns are left out once the window is full
	HistoryStateless HistoryMode = "stateless" // the last prompt and what follows it
)

// A Node is one message in the tree of a conversation.
type Node struct {
	Seq     int       `json:"seq"`    // number of the message in its session, from 1
	Parent  int       `json:"parent"` // Seq of the message it follows; 0: it begins a conversation
	At      time.Time `json:"at"`
	Partial bool      `json:"open,omitempty"`    // it was incomplete when last written
	Summary bool      `json:"summary,omitempty"` // replaces everything before it in requests
	Steers  bool      `json:"steers,omitempty"`  // a prompt sent with tool results, within a turn
	llm.Message

	// Of responses.
	Usage    *llm.Usage    `json:"usage,omitempty"` // nil: not reported
	Reason   llm.Reason    `json:"reason,omitempty"`
	Trimmed  bool          `json:"trimmed,omitempty"` // the request left out the beginning of the branch
	Purpose  string        `json:"purpose,omitempty"` // of the request, such as PurposeCompare; "": PurposeAnswer
	Missed   CacheMiss     `json:"missed,omitzero"`
	TTFT     time.Duration `json:"first,omitempty"` // from the request to the first delta, in ns
	Duration time.Duration `json:"took,omitempty"`  // from the request to the end, in ns

	ThinkingDurations []time.Duration   `json:"thought,omitempty"` // of each thinking part, in ns; nil: unknown
	Cache             *cachewatch.Entry `json:"cache,omitempty"`   // the prompt cache of the request; nil: unknown
	InterruptedBy     string            `json:"broke,omitempty"`   // the error that interrupted it, or the text for the end of parley; "" if the user stopped it

	// Of results, by the id of their call.
	Results map[string]Outcome `json:"results,omitempty"`
}

// An Outcome holds facts about a call besides its result.
type Outcome struct {
	Input    string        `json:"input,omitempty"` // the arguments used, if the user or a hook changed them
	Diff     string        `json:"diff,omitempty"`  // unified diff of the changes
	Duration time.Duration `json:"took,omitempty"`  // in ns

	Started bool `json:"started,omitempty"` // it started; without a result, its effect is unknown
	Denied  bool `json:"denied,omitempty"`  // the user or a permission rule denied it
	Stopped bool `json:"stopped,omitempty"` // the user stopped it

	By string `json:"by,omitempty"` // see act.Outcome
}

// A Query selects sessions. The zero value matches all that are not deleted.
type Query struct {
	Words   string    // all must occur, in any order; "quoted words" must be consecutive; word* is a prefix
	Model   string    // part of provider/model
	Dir     string    // absolute path; includes its subdirectories
	Since   time.Time // updated at this time or later
	Until   time.Time // and before
	Deleted bool      // only deleted ones
	Limit   int       // 0: all for List, 1000 for Search; negative: all
	Skip    int       // number of first hits that Search skips
	Recent  bool      // Search examines only the last 2000 messages and titles, and counts no others
}

// A Hit is a message, or with Seq 0 a title, that a search found.
type Hit struct {
	Session Session   `json:"session"`
	Seq     int       `json:"seq"`
	Role    llm.Role  `json:"role"`
	Model   string    `json:"model,omitempty"`
	At      time.Time `json:"at"`
	Snippet string    `json:"snippet"` // one line, untrusted
	Marks   [][2]int  `json:"marks"`   // byte ranges of matches in Snippet, in order
}

// A Draft is an unsent prompt in the composer.
type Draft struct {
	Text   string     `json:"text"`
	Cursor int        `json:"cursor"`          // in bytes
	Parts  []llm.Part `json:"parts,omitempty"` // attachments
	Model  string     `json:"model,omitempty"` // chosen for it; "" for that of the conversation
	At     time.Time  `json:"at"`

	// Left makes Drafts.Save store a draft that other processes may take, because its conversation was left.
	Left bool `json:"-"`
}

// A SentPrompt is an entry of the prompt history.
type SentPrompt struct {
	Text string    `json:"text"`
	Dir  string    `json:"folder"`
	At   time.Time `json:"at"`
}

// A LedgerEntry is one request that used tokens or money.
type LedgerEntry struct {
	At      time.Time // zero: now
	Session string    // "": none
	Seq     int       // of the message, or number of the video job; 0: none. It replaces an entry with the same Session and Seq, unless 0
	Folder  string    // absolute; "": unknown
	Model   string    // provider/model
	Purpose string
	Usage   llm.Usage
	Missed  CacheMiss
}

// A CacheMiss is a part of a prompt that was in a provider's cache but not read from it.
type CacheMiss = cachewatch.Miss

// A CacheSum is the sum of the cache misses with one cause.
type CacheSum struct {
	CacheMiss
	Requests int `json:"requests"`
}

// A UsageSum is the sum of the usage of requests. Only the fields of the grouping keys are
// set.
type UsageSum struct {
	Day      string `json:"day,omitempty"`   // 2026-11-20, local time
	Month    string `json:"month,omitempty"` // 2026-11
	Session  string `json:"session,omitempty"`
	Folder   string `json:"folder,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"` // provider/model
	Purpose  string `json:"purpose,omitempty"`

	Requests int       `json:"requests"`
	Unpriced int       `json:"unpriced"`         // requests whose price is unknown; they are not in Usage.Cost
	Missed   int       `json:"missed,omitempty"` // tokens that were in a cache but not read from it
	Usage    llm.Usage `json:"usage"`
}

// Add returns the sum of s and t, with the keys of s.
func (s UsageSum) Add(t UsageSum) UsageSum {
	s.Usage, s.Requests, s.Unpriced, s.Missed = s.Usage.Add(t.Usage), s.Requests+t.Requests, s.Unpriced+t.Unpriced, s.Missed+t.Missed
	s.Usage.Priced = s.Unpriced == 0
	return s
}

// UsageKeys are the keys by which requests can be grouped.
var UsageKeys = []string{"day", "month", "model", "provider", "folder", "session", "purpose"}

// key returns the field of s for a key, and its SQL; nil and "" if there is no such key.
func (s *UsageSum) key(name string) (field *string, column string) {
	switch name {
	case "day":
		return &s.Day, "day"
	case "month":
		return &s.Month, "substr(day, 1, 7)"
	case "model":
		return &s.Model, "model"
	case "provider":
		return &s.Provider, "provider"
	case "folder":
		return &s.Folder, "folder"
	case "session":
		return &s.Session, "session"
	case "purpose":
		return &s.Purpose, "purpose"
	}
	return nil, ""
}

// Key returns the value of a key of UsageKeys; "" if s is not grouped by it.
func (s UsageSum) Key(name string) string {
	field, _ := s.key(name)
	if field == nil {
		return ""
	}
	return *field
}

// With returns s with the value of a key.
func (s UsageSum) With(name, value string) UsageSum {
	if field, _ := s.key(name); field != nil {
		*field = value
	}
	return s
}

// An importMerge adds the messages of an imported tree that the stored tree lacks.
type importMerge struct {
	nodes    []Node        // of the stored tree, by rising Seq
	stored   int           // number of nodes stored before
	at       map[int]int   // by Seq: index in nodes
	children map[int][]int // by Seq: Seq of its children
	seqs     map[int]int   // by Seq in the imported tree: Seq in nodes
	matched  map[int]bool  // by Seq: in the imported tree too
	changed  []nodeEntry
	added    int
	side     llm.Usage // usage of the stored session without a message
}

func newMerge(have []Node) *importMerge {
	m := &importMerge{nodes: have, stored: len(have), at: map[int]int{}, children: map[int][]int{}, seqs: map[int]int{0: 0}, matched: map[int]bool{}}
	for i, n := range have {
		m.at[n.Seq] = i
		m.children[n.Parent] = append(m.children[n.Parent], n.Seq)
	}
	return m
}

// add finds the stored message equal to n, or replaces one that n continues, or adds n.
func (m *importMerge) add(n Node) {
	from := n.Seq
	n.Parent = m.seqs[n.Parent]
	for _, grown := range []bool{false, true} {
		for _, seq := range m.children[n.Parent] {
			old := &m.nodes[m.at[seq]]
			if m.matched[seq] || !grown && !sameMessage(*old, n) || grown && !m.continues(*old, n) {
				continue
			}
			m.seqs[from], m.matched[seq] = seq, true
			if n.Seq = seq; grown || !sameUsage(old.Usage, n.Usage) {
				*old = n
				m.changed = append(m.changed, nodeEntry{Node: n, saved: 1, copied: true})
			}
			if grown {
				m.added++
			}
			return
		}
	}
	n.Seq = 1
	if last := len(m.nodes); last > 0 {
		n.Seq = m.nodes[last-1].Seq + 1
	}
	m.seqs[from], m.matched[n.Seq] = n.Seq, true
	m.at[n.Seq] = len(m.nodes)
	m.nodes = append(m.nodes, n)
	m.children[n.Parent] = append(m.children[n.Parent], n.Seq)
	m.changed = append(m.changed, nodeEntry{Node: n, copied: true})
	m.added++
}

// continues reports whether old is an incomplete version of n from an earlier import,
// without children except results that were missing then.
func (m *importMerge) continues(old, n Node) bool {
	if old.Role != n.Role || old.Role == llm.RoleUser || len(old.Parts) > len(n.Parts) {
		return false
	}
	followers := m.children[old.Seq]
	if len(followers) > 1 || len(followers) == 1 && (m.nodes[m.at[followers[0]]].Role != llm.RoleTool || len(m.children[followers[0]]) > 0) {
		return false
	}
	for i, p := range old.Parts {
		q := n.Parts[i]
		last := i == len(old.Parts)-1
		switch {
		case samePart(p, q):
		case p.Kind == llm.Result && q.Kind == llm.Result && p.ID == q.ID && p.Text == llm.NoResult:
		case last && p.Kind == q.Kind && p.Kind != llm.Result && p.ID == q.ID && p.Name == q.Name && strings.HasPrefix(q.Text, p.Text):
		default:
			return false
		}
	}
	return true
}

// hasOwn reports whether there are messages that the imported tree lacks.
func (m *importMerge) hasOwn() bool { return len(m.matched) < len(m.nodes) }

// hasBeginning reports whether the imported tree has a first message of the stored tree, or that tree is empty.
func (m *importMerge) hasBeginning() bool {
	begins := true
	for _, seq := range m.children[0] {
		switch {
		case m.at[seq] >= m.stored: // only in the imported tree
		case m.matched[seq]:
			return true
		default:
			begins = false
		}
	}
	return begins
}

// leadsTo reports whether from is to or an ancestor of it.
func (m *importMerge) leadsTo(from, to int) bool {
	for seq := to; ; seq = m.nodes[m.at[seq]].Parent {
		if seq == from || seq == 0 {
			return seq == from
		}
	}
}

func sameUsage(a, b *llm.Usage) bool { return a == b || a != nil && b != nil && *a == *b }
