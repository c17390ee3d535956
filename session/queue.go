package session

import (
	"slices"
	"sync"

	"parley/providers/llm"
)

// A promptQueue holds messages of the user's until the running turn has nothing
// more to do; the turn then goes on with the first. The zero value is empty.
type promptQueue struct {
	lock   sync.Mutex
	queued []llm.Message
}

// Queue adds a message of the user's.
func (q *promptQueue) Queue(parts ...llm.Part) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.queued = append(q.queued, llm.Message{Role: llm.RoleUser, Parts: parts})
}

// Queued returns the messages that wait, the next one first.
func (q *promptQueue) Queued() []llm.Message {
	q.lock.Lock()
	defer q.lock.Unlock()
	return slices.Clone(q.queued)
}

// QueueLen returns how many messages wait.
func (q *promptQueue) QueueLen() int { return len(q.Queued()) }

// UnqueueAt takes the nth message that waits back, if it still says text.
func (q *promptQueue) UnqueueAt(n int, text string) (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if n < 0 || n >= len(q.queued) || q.queued[n].Text() != text {
		return llm.Message{}, false
	}
	return q.remove(n), true
}

// Unqueue takes every waiting message back.
func (q *promptQueue) Unqueue() []llm.Message {
	q.lock.Lock()
	defer q.lock.Unlock()
	queued := q.queued
	q.queued = nil
	return queued
}

// dequeue takes the next message; false if none waits.
func (q *promptQueue) dequeue() (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.queued) == 0 {
		return llm.Message{}, false
	}
	return q.remove(0), true
}

func (q *promptQueue) remove(n int) llm.Message {
	m := q.queued[n]
	q.queued = slices.Delete(q.queued, n, n+1)
	return m
}
