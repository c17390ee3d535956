package session

import (
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
	tree Tree
	log  *store.Log // nil: nothing is stored
	id   string     // as requests name it
	now  func() time.Time

	caches    cachewatch.Tracker // of providers' prompt caches
	histories historyCache       // messages as requests hold them
}

// locked returns what f does while mu is held.
func locked[T any](mu *sync.Mutex, f func() T) T {
	mu.Lock()
	defer mu.Unlock()
	return f()
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
	for i := c.tree.head; i > 0; i = c.tree.at(i).Parent {
		if n := c.tree.at(i); len(n.Parts) > 0 && !n.Summary {
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
// that a turn without parts goes on from there, once DropEmptyAnswer was called.
func Unanswered(s *Session) bool {
	return locked(&s.mu, func() bool {
		last, ok := s.tree.Last()
		switch {
		case !ok || last.Summary:
			return false
		case last.Role != llm.RoleAssistant || last.Interrupted:
			return true
		}
		return last.Message.Empty() || len(last.Calls()) > 0
	})
}

// Path returns the current branch with everything that is known of each message.
func (c *conversation) Path() []Node { return locked(&c.mu, c.tree.Path) }

// PathBack returns the last n messages of the branch that ends with the message seq, the
// oldest first: fewer if it begins with one of them.
func (c *conversation) PathBack(seq, n int) []Node {
	return locked(&c.mu, func() []Node { return c.tree.pathBack(seq, n) })
}

// Summarized returns how many messages the summary seq stands for: those in front of it on
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

// Branches lists the branches of the conversation; see Tree.Branches.
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

// Annotations returns what was shown between the messages of a path: at i in front
// of path[i] or between its parts, and last behind its end; see
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

// isAlong reports whether an annotation is shown along the current branch where there is no
// other one: in front of Next, if that follows After.
func (t *Tree) isAlong(a Annotation) bool {
	return a.After < t.head || a.After == t.head && (a.Next != a.After+1 || a.Next > t.count)
}

// isOnBranch reports whether an annotation is shown along the current branch, among others.
func (t *Tree) isOnBranch(a Annotation) bool {
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

// append adds m behind the current branch and returns once it is on disk, or once it
// is known that it cannot be for now.
func (c *conversation) append(m llm.Message) store.Node {
	return c.appendAt(m, func(*store.Node) {})
}

// appendAt adds a node that prepare has filled in, as append does.
func (c *conversation) appendAt(m llm.Message, prepare func(*store.Node)) store.Node {
	c.mu.Lock()
	n := c.tree.NewNode(m)
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

// restoreCache adds a stored response to c.caches.
func (c *conversation) restoreCache(n store.Node) {
	if r, ok := cacheRequest(n, *n.Usage); ok && !n.Partial && !n.Interrupted {
		var e cachewatch.Entry
		if n.Cache != nil {
			e = *n.Cache
		}
		c.caches.Restore(r, e, n.Missed)
	}
}

// cacheRequest returns the request that n answers; false if n is no answer of a chat model, or
// its usage is unknown, shared, estimated or of several requests.
func cacheRequest(n store.Node, u llm.Usage) (cachewatch.Request, bool) {
	ok := n.Role == llm.RoleAssistant && n.Origin != llm.OriginImages && !u.Shared && !u.Estimated && u.Discarded == 0 && u.Input > 0
	return cachewatch.Request{Model: n.Model, At: n.At, LastSeq: n.Parent, Usage: u}, ok
}

// observeCache adds a response that ended to c.caches, and sets n.Cache and n.Missed. It returns
// a notice for the user; "" for none. Interrupted responses are left out: their figures cannot
// be relied on. The session is locked.
func (c *conversation) observeCache(r *responseStream, n *store.Node) (notice string) {
	request, ok := cacheRequest(*n, r.event.Usage)
	if !ok || !r.event.UsageKnown || r.err != nil {
		return ""
	}
	prefix, first := cachewatch.PrefixOf(r.req)
	request.First, request.Compared = first, n.Purpose == store.PurposeCompare
	facts := cachewatch.Facts{Cache: r.model.Cache, Cost: r.model.Cost}
	var e cachewatch.Entry
	e, n.Missed, notice = c.caches.Observe(request, prefix, facts, func(before cachewatch.Request) (cachewatch.Cause, string) {
		return c.tree.divergence(before, request)
	})
	n.Cache = &e
	return notice
}

// A promptQueue holds messages of the user's until the running turn can take them: those that
// steer go along with the next results of tools, in front of the others, which wait until the
// turn has nothing more to do. The zero value is empty.
type promptQueue struct {
	lock   sync.Mutex
	queued []llm.Message
	steers int // how many of the first ones steer

	unsaid    []llm.Part // notes for the model that went with a message which was given back; the turn's that runs
	givenBack bool       // a message was, which is not stored yet; under conversation.mu
	edited    edit       // the last one, until the turn that sends it ended; under conversation.mu
	settling  sync.Mutex // see StoreGivenBack
}

// Queue adds a message of the user's that waits until there is an answer.
func (q *promptQueue) Queue(parts ...llm.Part) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.queued = append(q.queued, llm.Message{Role: llm.RoleUser, Parts: parts})
}

// Steer adds a message of the user's that goes along with the next results of tools; if none
// come, it is sent once there is an answer.
func (q *promptQueue) Steer(parts ...llm.Part) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.queued = slices.Insert(q.queued, q.steers, llm.Message{Role: llm.RoleUser, Parts: parts})
	q.steers++
}

// Queued returns the messages that wait, the next one first, and how many of the first of them
// steer.
func (q *promptQueue) Queued() (waiting []llm.Message, steer int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	return slices.Clone(q.queued), q.steers
}

// QueueLen returns how many messages wait.
func (q *promptQueue) QueueLen() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return len(q.queued)
}

// UnqueueAt removes and returns the nth waiting message, from 0; false if it does not say text
// (any more).
func (q *promptQueue) UnqueueAt(n int, text string) (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if n < 0 || n >= len(q.queued) || q.queued[n].Text() != text {
		return llm.Message{}, false
	}
	return q.remove(n), true
}

// Unqueue removes and returns every waiting message.
func (q *promptQueue) Unqueue() []llm.Message {
	waiting, _ := q.drain()
	return waiting
}

// drain removes and returns the messages that wait, and how many of the first of them steer.
func (q *promptQueue) drain() (waiting []llm.Message, steer int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	waiting, steer = q.queued, q.steers
	q.queued, q.steers = nil, 0
	return waiting, steer
}

// Dequeue removes and returns the first waiting message of s, to begin a turn with; false if none
// waits. Those behind it stay queued: some may steer that turn.
func Dequeue(s *Session) (llm.Message, bool) { return s.dequeue(false) }

// MoveQueued moves the waiting messages of one session to another, those that steer first.
func MoveQueued(from, to *Session) {
	waiting, steer := from.drain()
	for i, m := range waiting {
		if i < steer {
			to.Steer(m.Parts...)
		} else {
			to.Queue(m.Parts...)
		}
	}
}

// dequeue removes and returns the next message, or the next that steers; false if none waits.
func (q *promptQueue) dequeue(steers bool) (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.queued) == 0 || steers && q.steers == 0 {
		return llm.Message{}, false
	}
	return q.remove(0), true
}

func (q *promptQueue) remove(n int) llm.Message {
	m := q.queued[n]
	q.queued = slices.Delete(q.queued, n, n+1)
	if n < q.steers {
		q.steers--
	}
	return m
}
