package session

import (
	"slices"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// partialSaveInterval is how often a response in progress is written. A crash loses
// at most the text received since the last write.
const partialSaveInterval = 700 * time.Millisecond

// A partialResponse is a response that is written periodically until it is complete.
type partialResponse struct {
	*conversation
	node store.Node // without its parts

	mu      sync.Mutex
	draft   llm.Draft
	blocks  []blockTimes
	changed bool
	onDisk  bool // part of it, or its reserved place, is written

	quit     chan struct{}
	quitOnce sync.Once
	done     sync.WaitGroup
}

// blockTimes holds when a block began, and when the next one began.
type blockTimes struct {
	name       string
	began, end time.Time
}

// PartialResponse gives access to a response in progress, or a complete one, without
// a copy in the front end. It is safe for concurrent use.
type PartialResponse interface {
	// Part returns the current state of the block opened under this name. It may be ahead
	// of the events. Its memory is shared with the conversation.
	Part(block string) (llm.Part, bool)
}

// Part implements PartialResponse.
func (p *partialResponse) Part(block string) (llm.Part, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draft.Part(block)
}

// newPartial begins to store a response. With placed, for a compared response, it reserves
// the next Seq in the conversation in any case. The caller locks the session.
func (c *conversation) newPartial(m llm.Message, placed bool) *partialResponse {
	m.Interrupted = true // until it is complete
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

// Discard removes blocks that do not belong to the response: see llm.Retry.
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

// thinkingDurations returns how long each kept thinking part of a response
// took; nil if it has none.
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

// visibleParts returns the number of visible parts of the response; 0 if p is nil.
func (p *partialResponse) visibleParts() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.draft.Visible())
}

// parts returns the parts to keep, depending on how the response ended.
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

// nextSaveDelay returns the delay after a write that took so long: writing takes at
// most a twentieth of the time, however long a response becomes.
func nextSaveDelay(took time.Duration) time.Duration { return max(partialSaveInterval, 20*took) }

// save writes the parts received so far, as they would be kept if the response
// ended now.
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

// stop ends the periodic writes; it may be called again. The caller stores the response itself.
func (p *partialResponse) stop() {
	p.quitOnce.Do(func() { close(p.quit) })
	p.done.Wait()
}
