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

// A conversation is the tree of messages, in memory and in its log. What cannot be
// written is kept by the log, tried again by it, and told to OnSave: it does not
// stop a turn.
type conversation struct {
	mu   sync.Mutex // guards the session's state as well
	tree tree
	log  *store.Log // nil: nothing is stored
	id   string     // as requests name it
	now  func() time.Time

	turnSeq int              // Seq of the message the running turn began with; 0: none runs; guarded by mu
	partial *partialResponse // the response that arrives; nil: none does; guarded by mu

	caches    cachewatch.Tracker // of providers' prompt caches
	histories historyCache       // messages as requests hold them
}

// locked returns what f does while mu is held.
func locked[T any](mu *sync.Mutex, f func() T) T {
	mu.Lock()
	defer mu.Unlock()
	return f()
}

// get returns a field while mu is held.
func get[T any](mu *sync.Mutex, field *T) T { return locked(mu, func() T { return *field }) }

// set sets a field while mu is held.
func set[T any](mu *sync.Mutex, field *T, value T) {
	mu.Lock()
	defer mu.Unlock()
	*field = value
}

// recentMessages is how many of the last messages of a long conversation are looked at for what
// providers may still have in their caches of it.
const recentMessages = 64

// restore fills the tree with what the log holds, and returns what the conversation used.
func (c *conversation) restore() llm.Usage {
	info := c.log.Session()
	c.id = info.ID
	from := 1
	if n := c.log.Older(); n > 0 {
		c.tree = storedTree(n, info.Head, c.log.Read)
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

// ID returns the name of the conversation. It changes if another process took the
// conversation over.
func (c *conversation) ID() string {
	if c.log != nil {
		return c.log.Session().ID
	}
	return c.id
}

// History returns the messages of the current branch.
func (c *conversation) History() []llm.Message { return locked(&c.mu, c.tree.messages) }

// Empty reports whether nothing was said on the current branch: History would be empty. It
// looks at the end of the branch only.
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

// HasPrompt reports whether the current branch has a message of the user's.
func (c *conversation) HasPrompt() bool {
	return locked(&c.mu, func() bool { return c.tree.lastPrompt(0) > 0 })
}

// Unanswered reports whether the conversation ends without a whole answer that says something, so
// that a turn without parts goes on from there, once CurrentBranch.DropEmptyAnswer was called.
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
	path := c.Path()
	before := sinceSummary(path[:firstWaiting(path)])
	return len(before) > 1 && !(len(before) == 2 && before[0].Summary)
}

// ImageModelOf returns the image model that the message seq, or the prompt it answers, was sent
// to; "" if that was the session's model.
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

// Path returns the current branch with everything that is known of each message.
func (c *conversation) Path() []Node { return locked(&c.mu, c.tree.Path) }

// PathBack returns the last n messages of the branch that ends with the message seq, the
// oldest first: fewer if it begins with one of them.
func (c *conversation) PathBack(seq, n int) []Node {
	return locked(&c.mu, func() []Node { return c.tree.pathBack(seq, n) })
}

// Summarized returns how many messages the summary seq stands for: those before it on
// its branch, from the summary before it on.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree.straight == 0 && c.tree.stored > 0 {
		c.tree.straight = c.log.LinearCount()
	}
	return c.tree.branched()
}

// Annotations returns what was shown between the messages of a path: at i before
// of path[i] or between its parts, and last after its end; see
// store.AnnotationsAlong.
func (c *conversation) Annotations(path []Node) [][]Annotation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.AnnotationsAlong(path, c.tree.annotations, func(seq int) (int, bool) {
		n, err := c.tree.At(seq)
		return n.Parent, err == nil
	})
}

// lastAnnotation returns the last annotation of a kind along the current branch. It looks at
// the branch no further back than that.
func (c *conversation) lastAnnotation(kind string) (last Annotation, ok bool) {
	isOfKind := func(a Annotation) bool { return a.Kind == kind }
	if !locked(&c.mu, func() bool { return slices.ContainsFunc(c.tree.annotations, isOfKind) }) {
		return last, false // whether there are branches may take a look at every message
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

// isAlong reports whether an annotation is shown along the current branch if there is no
// other one: before Next, if that follows After.
func (t *tree) isAlong(a Annotation) bool {
	return a.After < t.head || a.After == t.head && (a.Next != a.After+1 || a.Next > t.count)
}

// isOnBranch reports whether an annotation is shown along the current branch, among others.
func (t *tree) isOnBranch(a Annotation) bool {
	path := t.pathFrom(a.After) // all of it, for one that the conversation begins with
	along := store.AnnotationsAlong(path, []store.Annotation{a}, func(seq int) (int, bool) {
		n, err := t.At(seq)
		return n.Parent, err == nil
	})
	return slices.ContainsFunc(along, func(list []store.Annotation) bool { return len(list) > 0 })
}

// OnSave sets the function that is called, from any goroutine, with an error when messages
// can no longer be written to disk, and with nil once all of them are.
func (c *conversation) OnSave(f func(error)) {
	if c.log != nil {
		c.log.OnSave(f)
	}
}

// append adds m to the current branch and returns once it is on disk, or once it
// is known that it cannot be for now.
func (c *conversation) append(m llm.Message) store.Node {
	return c.appendAt(m, func(*store.Node) {})
}

// appendAt adds a node that prepare has filled in, as append does.
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

// spend enters a request that is no message in the ledger: one that failed before anything was
// used was not paid for.
func (c *conversation) spend(purpose, model string, u llm.Usage, err error) {
	if c.log != nil && (err == nil || u != llm.Usage{}) {
		_ = c.log.Spend(purpose, model, u)
	}
}

// persistHead writes where the conversation goes on.
func (c *conversation) persistHead(seq int) {
	if c.log != nil {
		_ = c.log.SetHead(seq) // like a message, it is written later if it cannot be now
	}
}

// ListOf returns what of makes of each conversation that lib's List returns, which is valid during the
// call alone.
func ListOf[T any](lib *Store, q Query, of func(*Info) T) ([]T, error) {
	return store.ListOf(lib, q, of)
}

// The store's vocabulary, under the session's name: front ends know the session
// only, and it has nothing to add to these.
type (
	Store   = store.DB      // everything that is kept
	Log     = store.Log     // a conversation open for writing
	Info    = store.Session // a conversation without its messages
	Node    = store.Node
	Query   = store.Query
	Hit     = store.Hit
	Draft   = store.Draft
	Outcome = store.Outcome

	LedgerEntry = store.LedgerEntry // one request of it
	UsageSum    = store.UsageSum    // what some requests used together
	CacheMiss   = store.CacheMiss
	CacheSum    = store.CacheSum // what requests missed for one cause
	Reservation = store.Reservation

	Annotation = store.Annotation // something shown that is no message; see DecodeAnnotation
	Video      = store.Video      // a job that makes a video
	Comparison = store.Comparison // which of several answers a user chose

	LockedError    = store.LockedError
	LeaseLostError = store.LeaseLostError
	SentPrompt     = store.SentPrompt // something a user sent before
	HistoryMode    = store.HistoryMode
)

// Purposes of requests.
const (
	PurposeAnswer = store.PurposeAnswer
	PurposeTitle  = store.PurposeTitle
	PurposeEmbed  = store.PurposeEmbed
	PurposeImage  = store.PurposeImage
)

// ErrNotFound marks the errors about a conversation that does not exist.
var ErrNotFound = store.ErrNotFound

// UsageKeys lists what requests can be summed up by.
var UsageKeys = store.UsageKeys

// Parts of a conversation that requests hold.
const (
	HistoryFull      = store.HistoryFull
	HistoryDynamic   = store.HistoryDynamic
	HistoryStateless = store.HistoryStateless
)

// OpenStore opens the store of this machine. With an error, which says why it cannot be opened, comes
// a store in memory.
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

// StorePath returns the file that OpenStore opens.
func StorePath(getenv func(string) string) (string, error) { return store.Path(getenv) }

// An ImportSource says where a conversation of another program comes from.
type ImportSource = store.ImportSource

// ImportFrom imports a conversation. One that was imported from there before gets the messages that
// are new; added counts them.
func ImportFrom(lib *Store, from ImportSource, s Info, nodes []store.Node, shown ...store.Annotation) (id string, added int, err error) {
	done, err := store.ImportFrom(lib, from, s, nodes, shown...)
	return done.ID, done.Added, err
}

// MemoryStore returns a store in memory.
func MemoryStore() *Store {
	lib, err := store.OpenMemory()
	if err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return lib
}
