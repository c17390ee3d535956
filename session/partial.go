package session

import (
	"slices"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// partialSaveInterval sets how often a response that is still arriving is written. A
// crash costs at most what came since.
const partialSaveInterval = 700 * time.Millisecond

// A partialResponse is a response that is written every so often until it is complete.
type partialResponse struct {
	*conversation
	node store.Node // without its parts

	mu      sync.Mutex
	draft   llm.Draft
	blocks  []blockTimes
	changed bool
	onDisk  bool // a part of it, or its place

	quit     chan struct{}
	quitOnce sync.Once
	done     sync.WaitGroup
}

// blockTimes holds when a block began, and when the next one did.
type blockTimes struct {
	name       string
	began, end time.Time
}

// PartialResponse holds a response that is arriving, or has arrived, as the session
// holds it: a front end needs no copy. It is safe for concurrent use. The zero value
// has no parts.
type PartialResponse struct{ of *partialResponse }

// Part returns the present state of the block that was opened under this name. It may
// be ahead of the events. Its memory is shared with the conversation.
func (d PartialResponse) Part(block string) (llm.Part, bool) {
	if d.of == nil {
		return llm.Part{}, false
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	return d.of.draft.Part(block)
}

// newPartial begins to store a response where the session is locked. A placed one, which is
// compared with others, has its place in the conversation from now on, whatever comes of it.
func (c *conversation) newPartial(m llm.Message, placed bool) *partialResponse {
	m.Interrupted = true // until it is known to be whole
	p := &partialResponse{conversation: c, node: c.tree.newNode(m), onDisk: placed, quit: make(chan struct{})}
	p.node.At, p.node.Partial = c.now(), true
	if placed {
		p.node.Purpose = store.PurposeCompare
		c.tree.Put(p.node)
	}
	if c.log != nil {
		p.done.Go(p.saveLoop)
	}
	return p
}

// Add adds a delta of the response, and returns the kind of its block.
func (p *partialResponse) Add(d llm.Delta) llm.Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draft.Add(d)
	p.changed = true
	if !slices.ContainsFunc(p.blocks, func(b blockTimes) bool { return b.name == d.Block }) {
		now := p.now()
		if n := len(p.blocks); n > 0 {
			p.blocks[n-1].end = now
		}
		p.blocks = append(p.blocks, blockTimes{name: d.Block, began: now})
	}
	return p.draft.Kind(d.Block)
}

// Discard removes blocks that are no part of the response: see llm.Retry.
func (p *partialResponse) Discard(blocks []string) {
	if len(blocks) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draft.Discard(blocks)
	p.blocks = slices.DeleteFunc(p.blocks, func(b blockTimes) bool { return slices.Contains(blocks, b.name) })
	p.changed = true
}

// call returns the call of a block, as far as it has arrived.
func (p *partialResponse) call(block string) llm.Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	part, _ := p.draft.Part(block)
	return part
}

// thinkingDurations returns how long each part of thinking took that stays of a
// response; nil if it has none.
func (p *partialResponse) thinkingDurations(interrupted bool) []time.Duration {
	var durations []time.Duration
	for _, b := range p.blocks {
		part, _ := p.draft.Part(b.name)
		if part.Kind != llm.Thinking || part.Text == "" && (interrupted || part.State == nil) {
			continue
		}
		if b.end.IsZero() {
			b.end = p.now()
		}
		durations = append(durations, b.end.Sub(b.began))
	}
	return durations
}

// visibleParts returns how many parts of the response there are to be seen; 0 if none
// arrives.
func (p *partialResponse) visibleParts() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.draft.Visible())
}

// parts returns what stays of the response, by how it ended.
func (p *partialResponse) parts(f llm.Finish, err error) []llm.Part {
	switch {
	case err != nil:
		return p.draft.Interrupted()
	case f.Limit != "":
		return uniqueCallIDs(p.draft.Limited())
	}
	return uniqueCallIDs(p.draft.Complete())
}

func (p *partialResponse) saveLoop() {
	timer := time.NewTimer(partialSaveInterval)
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-timer.C:
			began := time.Now()
			p.save()
			timer.Reset(nextSaveDelay(time.Since(began)))
		}
	}
}

// nextSaveDelay returns how long after a write that took so long the next one begins:
// writing takes a twentieth of the time at most, however long a response becomes.
func nextSaveDelay(took time.Duration) time.Duration { return max(partialSaveInterval, 20*took) }

// save writes what has arrived, as it would stay if nothing more did.
func (p *partialResponse) save() {
	p.mu.Lock()
	n, changed := p.node, p.changed
	p.changed = false
	if changed {
		n.Parts = p.draft.Interrupted()
	}
	p.mu.Unlock()
	if changed && (len(n.Parts) > 0 || p.onDisk) {
		p.onDisk = true
		p.persist(n)
	}
}

// stop ends the writing, also where it has ended already. The caller puts the response itself in
// place.
func (p *partialResponse) stop() {
	p.quitOnce.Do(func() { close(p.quit) })
	p.done.Wait()
}
