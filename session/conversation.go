package session

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
	"parley/session/store"
)

// A conversation is the tree of messages, in memory and in its log. The log keeps
// messages that cannot be written, retries them and reports that to OnSave; a turn
// continues.
type conversation struct {
	mu   sync.Mutex // guards the session's state as well
	tree tree
	log  *store.Log // nil: nothing is stored
	id   string     // ID in requests
	now  func() time.Time

	turnSeq int              // Seq of the message the running turn began with; 0: none runs; guarded by mu
	partial *partialResponse // the response being received; nil: none; guarded by mu

	caches    cachewatch.Tracker // of providers' prompt caches
	histories historyCache       // messages as sent in requests
}

// locked returns the result of f, called with mu held.
func locked[T any](mu *sync.Mutex, f func() T) T {
	mu.Lock()
	defer mu.Unlock()
	return f()
}

// get returns the value of a field, read with mu held.
func get[T any](mu *sync.Mutex, field *T) T { return locked(mu, func() T { return *field }) }

// set sets a field with mu held.
func set[T any](mu *sync.Mutex, field *T, value T) {
	mu.Lock()
	defer mu.Unlock()
	*field = value
}

// recentMessages is how many of the last messages of a long conversation are checked for
// providers' prompt caches.
const recentMessages = 64

// restore fills the tree from the log, and returns the usage of the conversation.
func (c *conversation) restore() llm.Usage {
	info := c.log.Session()
	c.id = info.ID
	from := 1
	if n := c.log.Older(); n > 0 {
		c.tree = storedTree(n, info.Head, c.log.Read)
		c.tree.turnsUpTo = c.log.Turns
		from = max(n-recentMessages, 1)
	} else {
		c.tree = newTree(c.log.Nodes(), info.Head)
	}
	for seq := from; seq <= c.tree.count; seq++ {
		if n := c.tree.at(seq); n.Usage != nil {
			c.restoreCache(*n)
		}
	}
	c.tree.annotations = c.log.Annotations()
	return info.Usage
}

// ID returns the ID of the conversation. It changes if another process has taken
// the conversation over.
func (c *conversation) ID() string {
	if c.log != nil {
		return c.log.Session().ID
	}
	return c.id
}

// History returns the messages of the current branch.
func (c *conversation) History() []llm.Message { return locked(&c.mu, c.tree.messages) }

// Empty reports whether the current branch has no visible messages, that is, whether
// History would be empty. It reads only the end of the branch.
func (c *conversation) Empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.tree.back(c.tree.head) {
		if len(n.Parts) > 0 && !n.Summary {
			return false
		}
	}
	return true
}

// HasPrompt reports whether the current branch has a user message.
func (c *conversation) HasPrompt() bool {
	return locked(&c.mu, func() bool { return c.tree.lastPrompt(0) > 0 })
}

// Unanswered reports whether the conversation does not end with a complete, nonempty answer, so
// that a turn without parts continues it after Branch.DropEmptyAnswer.
func (c *conversation) Unanswered() bool {
	return locked(&c.mu, func() bool {
		last, ok := c.tree.Last()
		switch {
		case !ok || last.Summary:
			return false
		case last.Role != llm.RoleAssistant || last.Interrupted:
			return true
		}
		return last.Message.Empty() || len(last.Calls()) > 0
	})
}

// CanSummarize reports whether more than a summary precedes the waiting prompt.
func (c *conversation) CanSummarize() bool {
	before, _ := c.summarizable()
	return len(before) > 1 && !(len(before) == 2 && before[0].Summary)
}

// ImageModelOf returns the image model to which the message seq, or the prompt it answers, was
// sent; "" if that was the session's model.
func (c *conversation) ImageModelOf(seq int) string {
	n, err := c.At(seq)
	for err == nil && (n.Role != llm.RoleUser || n.Summary) {
		n, err = c.At(n.Parent)
	}
	if err != nil {
		return ""
	}
	return n.Model
}

// Path returns the messages of the current branch with all metadata.
func (c *conversation) Path() []Node { return locked(&c.mu, c.tree.Path) }

// PathBack returns the last n messages of the branch ending with the message seq, oldest
// first, or fewer if the branch is shorter.
func (c *conversation) PathBack(seq, n int) []Node {
	return locked(&c.mu, func() []Node { return c.tree.pathBack(seq, n) })
}

// Summarized returns how many messages the summary seq replaces: those before it on
// its branch, back to the previous summary inclusive.
func (c *conversation) Summarized(seq int) int {
	return locked(&c.mu, func() int { return c.tree.summarized(seq) })
}

// Nodes returns every message on every branch.
func (c *conversation) Nodes() []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var nodes []Node
	c.tree.each(func(n *store.Node) bool {
		if !isLost(*n) {
			nodes = append(nodes, *n)
		}
		return true
	})
	return nodes
}

// At returns the message seq.
func (c *conversation) At(seq int) (Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tree.At(seq)
}

// Head returns the Seq of the last message of the current branch; 0 if there is none.
func (c *conversation) Head() int { return locked(&c.mu, func() int { return c.tree.head }) }

// Branches lists the branches of the conversation; see tree.Branches.
func (c *conversation) Branches() []Branch { return locked(&c.mu, c.tree.Branches) }

// HasBranches reports whether the conversation has more than one branch.
func (c *conversation) HasBranches() bool {
	c.Linear()
	return locked(&c.mu, c.tree.branched)
}

// Linear returns the number of first messages that are known to have no branch between them.
func (c *conversation) Linear() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree.straight == 0 && c.tree.stored > 0 {
		c.tree.straight = c.log.LinearCount()
	}
	return c.tree.straight
}

// Annotations returns the annotations along a path: at index i those before
// path[i] or between its parts, and last those after its end; see
// store.AnnotationsAlong.
func (c *conversation) Annotations(path []Node) [][]Annotation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.AnnotationsAlong(path, c.tree.annotations, func(seq int) (int, bool) {
		n, err := c.tree.At(seq)
		return n.Parent, err == nil
	})
}

// lastAnnotation returns the last annotation of a kind along the current branch. It reads
// the branch back only that far.
func (c *conversation) lastAnnotation(kind string) (last Annotation, ok bool) {
	isOfKind := func(a Annotation) bool { return a.Kind == kind }
	if !locked(&c.mu, func() bool { return slices.ContainsFunc(c.tree.annotations, isOfKind) }) {
		return last, false // finding branches may read every message
	}
	linear := !c.HasBranches()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range slices.Backward(c.tree.annotations) {
		if !isOfKind(a) || ok && a.After <= last.After {
			continue
		}
		if linear && c.tree.isAlong(a) || !linear && c.tree.isOnBranch(a) {
			last, ok = a, true
		}
	}
	return last, ok
}

// isAlong reports whether an annotation is shown on the current branch if that is the
// only one: before Next, if Next follows After.
func (t *tree) isAlong(a Annotation) bool {
	return a.After < t.head || a.After == t.head && (a.Next != a.After+1 || a.Next > t.count)
}

// isOnBranch reports whether an annotation is shown on the current branch if there are several.
func (t *tree) isOnBranch(a Annotation) bool {
	path := t.pathFrom(a.After) // the whole branch for an annotation at the beginning
	along := store.AnnotationsAlong(path, []store.Annotation{a}, func(seq int) (int, bool) {
		n, err := t.At(seq)
		return n.Parent, err == nil
	})
	return slices.ContainsFunc(along, func(list []store.Annotation) bool { return len(list) > 0 })
}

// OnSave sets the function that is called, from any goroutine, with an error when messages
// cannot be written to disk, and with nil once all are written.
func (c *conversation) OnSave(f func(error)) {
	if c.log != nil {
		c.log.OnSave(f)
	}
}

// append adds m to the current branch and returns once it is on disk, or once
// writing has failed for now.
func (c *conversation) append(m llm.Message) store.Node {
	return c.appendAt(m, func(*store.Node) {})
}

// appendAt is append for a node that prepare has filled in.
func (c *conversation) appendAt(m llm.Message, prepare func(*store.Node)) store.Node {
	c.mu.Lock()
	n := c.tree.newNode(m)
	n.At = c.now()
	prepare(&n)
	c.tree.Put(n)
	c.mu.Unlock()
	c.persist(n)
	return n
}

func (c *conversation) persist(n store.Node) {
	if c.log != nil {
		_ = c.log.Put(n)
	}
}

// spend records a request without a message in the ledger. A request that failed without usage
// costs nothing and is not recorded.
func (c *conversation) spend(purpose, model string, u llm.Usage, err error) {
	if c.log != nil && (err == nil || u != llm.Usage{}) {
		_ = c.log.Spend(purpose, model, u)
	}
}

// persistHead stores new messages and the end of the current branch: all of it or nothing.
func (c *conversation) persistHead(seq int, added ...store.Node) {
	if c.log != nil {
		_ = c.log.SetHead(seq, added...) // on failure it is written later, like a message
	}
}

// The store's types under the session's name: front ends import only the
// session, which has nothing to add to these.
type (
	Store = store.DB      // all stored conversations
	Log   = store.Log     // a conversation open for writing
	Info  = store.Session // a conversation without its messages
	Node  = store.Node
	Query = store.Query
	Hit   = store.Hit
	Draft = store.Draft

	LedgerEntry = store.LedgerEntry // one request of it
	UsageSum    = store.UsageSum    // total usage of some requests
	CacheMiss   = store.CacheMiss
	CacheSum    = store.CacheSum // prompt cache misses with one cause
	Reservation = store.Reservation

	Annotation = store.Annotation // something shown that is not a message; see DecodeAnnotation
	Video      = store.Video      // a video generation job
	Comparison = store.Comparison // the user's choice among several answers

	LockedError    = store.LockedError
	LeaseLostError = store.LeaseLostError
	SentPrompt     = store.SentPrompt // a prompt that a user sent before
	HistoryMode    = store.HistoryMode
)

// Purposes of requests that front ends send themselves.
const (
	PurposeEmbed = store.PurposeEmbed
	PurposeImage = store.PurposeImage
	PurposeAside = store.PurposeAside
)

// ErrNotFound matches errors about a conversation that does not exist.
var ErrNotFound = store.ErrNotFound

// UsageKeys lists the keys by which usage can be grouped.
var UsageKeys = store.UsageKeys

// Which messages of a conversation requests contain.
const (
	HistoryFull      = store.HistoryFull
	HistoryDynamic   = store.HistoryDynamic
	HistoryStateless = store.HistoryStateless
)

// OpenStore opens the store of this machine. If that fails, it returns the error and a store in
// memory.
func OpenStore(getenv func(string) string) (*Store, error) {
	path, err := store.Path(getenv)
	if err == nil {
		var lib *Store
		if lib, err = store.Open(path); err == nil {
			return lib, nil
		}
	}
	return MemoryStore(), fmt.Errorf("conversations are not saved: %w", err)
}

// StorePath returns the path of the file that OpenStore opens.
func StorePath(getenv func(string) string) (string, error) { return store.Path(getenv) }

// An ImportSource identifies a conversation of another program.
type ImportSource = store.ImportSource

// MemoryStore returns a store in memory.
func MemoryStore() *Store {
	lib, err := store.OpenMemory()
	if err != nil {
		panic(err) // cannot fail for an empty store
	}
	return lib
}
