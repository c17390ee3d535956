package store

import (
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// A Session holds what is known of a conversation without reading it.
type Session struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`             // of one line; "" until something was said
	Named   bool        `json:"named,omitempty"`   // a user chose the title
	Dir     string      `json:"folder,omitempty"`  // working directory it began in, absolute
	Model   string      `json:"model,omitempty"`   // provider/model that answers next
	Effort  llm.Effort  `json:"effort,omitempty"`  // what is asked of it
	History HistoryMode `json:"history,omitempty"` // what of the conversation a request holds
	Pinned  bool        `json:"pinned,omitempty"`
	Origin  string      `json:"origin,omitempty"` // "fork ID", or the name of a foreign format it was imported from
	Created time.Time   `json:"created"`
	Updated time.Time   `json:"updated"` // of its last message; lists are ordered by sequence, not by this
	Head    int         `json:"head"`    // Seq of the last message of the current branch; 0: none

	Messages int       `json:"messages"`       // on all branches
	Usage    llm.Usage `json:"usage"`          // of all answers on all branches
	Preview  string    `json:"preview"`        // one line: the last thing the user said
	LockedBy string    `json:"held,omitempty"` // who else has it open, in words for a user
	Deleted  time.Time `json:"deleted,omitzero"`
}

// HistoryMode says which messages of a conversation a request holds.
type HistoryMode string

// The ways. The zero value is HistoryFull.
const (
	HistoryFull      HistoryMode = ""          // everything
	HistoryDynamic   HistoryMode = "dynamic"   // the oldest whole turns are left out once the window is full
	HistoryStateless HistoryMode = "stateless" // the last prompt and what follows it
)

// A Node is one message in the tree of a conversation.
type Node struct {
	Seq     int       `json:"seq"`    // counts the messages of the session from 1
	Parent  int       `json:"parent"` // Seq of the message it follows; 0: it begins a conversation
	At      time.Time `json:"at"`
	Partial bool      `json:"open,omitempty"`    // was still arriving when it was last written
	Summary bool      `json:"summary,omitempty"` // stands for everything in front of it in requests
	Steers  bool      `json:"steers,omitempty"`  // a prompt that was sent along with results of tools: it begins no turn
	llm.Message

	// Of answers.
	Usage    *llm.Usage    `json:"usage,omitempty"` // nil: not reported
	Reason   llm.Reason    `json:"reason,omitempty"`
	Trimmed  bool          `json:"trimmed,omitempty"` // the request left out a part of the branch
	Purpose  string        `json:"purpose,omitempty"` // what it was asked for, such as PurposeCompare; "": PurposeAnswer
	Missed   CacheMiss     `json:"missed,omitzero"`
	TTFT     time.Duration `json:"first,omitempty"` // from the request to the first delta, in ns
	Duration time.Duration `json:"took,omitempty"`  // from the request to the end, in ns

	ThinkingDurations []time.Duration   `json:"thought,omitempty"` // how long each part of thinking took to arrive, in ns; nil: not known
	Cache             *cachewatch.Entry `json:"cache,omitempty"`   // what the request read of its provider's cache; nil: not known
	InterruptedBy     string            `json:"broke,omitempty"`   // the error that cut the answer; "" if the user stopped it, or parley ended

	// Of results, by the id of their call.
	Results map[string]Outcome `json:"results,omitempty"`
}

// An Outcome holds what a user is shown of a call beside its result.
type Outcome struct {
	Diff     string        `json:"diff,omitempty"` // unified diff of what was changed
	Duration time.Duration `json:"took,omitempty"` // in ns

	Started bool `json:"started,omitempty"` // it began to run; without a result, what it did is not known
	Denied  bool `json:"denied,omitempty"`  // a user or a rule did not let it run
	Stopped bool `json:"stopped,omitempty"` // a user ended it
}

// A Query chooses sessions. The zero value chooses all that are not deleted.
type Query struct {
	Words   string    // all of them occur, in any order; "quoted words" as they stand; word* begins with
	Model   string    // part of provider/model
	Dir     string    // absolute; what lies below counts
	Since   time.Time // touched at this time or later
	Until   time.Time // and before
	Deleted bool      // those that were deleted instead
	Limit   int       // of sessions 0: all, of messages 0: 1000; below 0: all
}

// A Hit is a message that a search found.
type Hit struct {
	Session Session   `json:"session"`
	Seq     int       `json:"seq"`
	Role    llm.Role  `json:"role"`
	Model   string    `json:"model,omitempty"`
	At      time.Time `json:"at"`
	Snippet string    `json:"snippet"` // one line, untrusted
	Marks   [][2]int  `json:"marks"`   // byte ranges of Snippet that were found, in order
}

// A DailyUsage holds what was used on one day by one model.
type DailyUsage struct {
	Day      string    `json:"day"`               // 2026-11-20, local time
	Model    string    `json:"model"`             // provider/model
	Session  string    `json:"session,omitempty"` // set where spending is asked for by session
	Answers  int       `json:"answers"`
	Unpriced int       `json:"unpriced"` // answers whose price is unknown; they are not in Usage.Cost
	Usage    llm.Usage `json:"usage"`
}

// A Draft holds what stands in a composer and was not sent.
type Draft struct {
	Text   string     `json:"text"`
	Cursor int        `json:"cursor"`          // in bytes
	Parts  []llm.Part `json:"parts,omitempty"` // attachments
	At     time.Time  `json:"at"`
}

// A SentPrompt is something a user sent before.
type SentPrompt struct {
	Text string    `json:"text"`
	Dir  string    `json:"folder"`
	At   time.Time `json:"at"`
}

// A LedgerEntry is one request that used tokens or money.
type LedgerEntry struct {
	At      time.Time // zero: now
	Session string    // "": none
	Seq     int       // of the message, or the number of a video's job; 0: none. An entry with one replaces that of the same session and Seq
	Folder  string    // absolute; "": not known
	Model   string    // provider/model
	Purpose string
	Usage   llm.Usage
	Missed  CacheMiss
}

// A CacheMiss is a part of a prompt that was in a provider's cache, and was not read from it.
type CacheMiss = cachewatch.Miss

// A CacheSum holds what requests missed for one cause.
type CacheSum struct {
	CacheMiss
	Requests int `json:"requests"`
}

// A UsageSum holds what some requests used together. Of what they were summed up by, the
// fields are set.
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
	Missed   int       `json:"missed,omitempty"` // tokens that were in a cache and not read from it
	Usage    llm.Usage `json:"usage"`
}

// Add returns the sum of s and t, summed up by the same.
func (s UsageSum) Add(t UsageSum) UsageSum {
	s.Usage, s.Requests, s.Unpriced, s.Missed = s.Usage.Add(t.Usage), s.Requests+t.Requests, s.Unpriced+t.Unpriced, s.Missed+t.Missed
	s.Usage.Priced = s.Unpriced == 0
	return s
}

// UsageKeys lists what requests can be summed up by.
var UsageKeys = []string{"day", "month", "model", "provider", "folder", "session", "purpose"}

// key returns what of s is named so, and how SQL has it.
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

// Key returns what requests were summed up by: one of UsageKeys.
func (s UsageSum) Key(name string) string {
	field, _ := s.key(name)
	if field == nil {
		return ""
	}
	return *field
}

// With returns s, summed up by a key that has this value.
func (s UsageSum) With(name, value string) UsageSum {
	if field, _ := s.key(name); field != nil {
		*field = value
	}
	return s
}

// A importMerge puts the messages of a tree to those of another that are the same.
type importMerge struct {
	nodes    []Node        // by rising Seq, without gaps where there were none
	at       map[int]int   // by Seq: the place in nodes
	children map[int][]int // by Seq: those of followers
	seqs     map[int]int   // of the messages that were added, to theirs here
	matched  map[int]bool  // those here that the other tree has
	changed  []entry
	added    int
}

func newMerge(have []Node) *importMerge {
	m := &importMerge{nodes: have, at: map[int]int{}, children: map[int][]int{}, seqs: map[int]int{0: 0}, matched: map[int]bool{}}
	for i, n := range have {
		m.at[n.Seq] = i
		m.children[n.Parent] = append(m.children[n.Parent], n.Seq)
	}
	return m
}

// add finds the message that n is, or one that n has grown from, or puts n behind them.
func (m *importMerge) add(n Node) {
	from := n.Seq
	n.Parent = m.seqs[n.Parent]
	for _, grown := range []bool{false, true} {
		for _, seq := range m.children[n.Parent] {
			old := &m.nodes[m.at[seq]]
			if m.matched[seq] || !grown && !sameMessage(*old, n) || grown && !m.grew(*old, n) {
				continue
			}
			m.seqs[from], m.matched[seq] = seq, true
			if n.Seq = seq; grown || !sameUsage(old.Usage, n.Usage) {
				*old = n
				m.changed = append(m.changed, entry{Node: n, saved: 1, copied: true})
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
	m.changed = append(m.changed, entry{Node: n, copied: true})
	m.added++
}

// grew reports whether n is what old was the beginning of: it was still arriving when it was
// imported, and nothing here stands on it but results that had not come.
func (m *importMerge) grew(old, n Node) bool {
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

// own reports whether there are messages that only this tree has.
func (m *importMerge) own() bool { return len(m.matched) < len(m.nodes) }

// leadsTo reports whether a branch that ends in from can go on to one that ends in to.
func (m *importMerge) leadsTo(from, to int) bool {
	for seq := to; ; seq = m.nodes[m.at[seq]].Parent {
		if seq == from || seq == 0 {
			return seq == from
		}
	}
}

func sameUsage(a, b *llm.Usage) bool { return a == b || a != nil && b != nil && *a == *b }
