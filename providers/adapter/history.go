package adapter

import (
	"hash/maphash"
	"slices"
	"sync"

	"parley/providers/llm"
)

// A Writer encodes a conversation as list items, message by message. The items of a message may
// depend on earlier messages, and may extend or change the last item.
type Writer[W any] interface {
	// Write adds the items of messages[i]. It may use its Role, Origin and Parts. Late means that
	// the message is at a position where the format has another form for some messages. Varies
	// reports whether it is such a message, late or not.
	Write(messages []llm.Message, i int, late bool) (varies bool)
	// Settle returns the items before the last one, which are final.
	Settle() []any
	// Clone returns a copy that shares no mutable data, without the items that Settle returned.
	Clone() W
}

// Bounds of Histories.
const (
	minEncoded   = 32       // messages; shorter histories are encoded again
	openRounds   = 4        // messages after the cached ones that are not the model's: cache marks move among them
	maxEncoded   = 32 << 20 // bytes of JSON
	maxHistories = 3        // histories: models alternate between branches, titles and summaries
)

// A Histories caches the encoded beginnings of conversations, so that the next request only encodes
// new messages. It looks them up by the content of the messages, not by address: a changed message
// is encoded again, with all later ones. The zero value is empty. It is safe for concurrent use.
type Histories[W Writer[W]] struct {
	EscapeHTML bool // see AppendJSON

	mu     sync.Mutex
	cached []*cachedHistory[W] // the most recently used first
}

// A cachedHistory is the beginning of a conversation.
type cachedHistory[W Writer[W]] struct {
	key     string
	sums    []uint64 // checksums of the messages
	json    []byte   // their items; existing bytes never change
	writer  W        // state after the messages
	varying int      // number of messages up to the last one with another form when late
}

// Write encodes messages: kept is the cached JSON of the first items, with commas between them, nil
// if nothing is cached, and w has the other items. Whole encodes everything again, without the
// cache. Key identifies everything else that the items depend on, and late is the index of the
// first late message. Fresh returns a writer at the beginning.
func (h *Histories[W]) Write(key string, messages []llm.Message, late int, whole bool, fresh func() W) (kept []byte, w W) {
	if end := lastEnd(messages); !whole && end >= minEncoded {
		kept, from, w, ok := h.extend(key, messages, end, late, fresh)
		for i := from; ok && i < len(messages); i++ {
			w.Write(messages, i, i >= late)
		}
		if ok {
			return kept, w
		}
	}
	w = fresh()
	for i := range messages {
		w.Write(messages, i, i >= late)
	}
	return nil, w
}

// extend returns the cached JSON of messages, extended to end if possible, and a writer for the
// messages from index from.
func (h *Histories[W]) extend(key string, messages []llm.Message, end, late int, fresh func() W) (json []byte, from int, w W, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.remove(key, messages, end, late)
	if k == nil {
		k = &cachedHistory[W]{key: key, writer: fresh()}
	}
	for _, to := range []int{min(end, late), end} { // late messages may not be cacheable
		if !k.extend(messages, to, late, h.EscapeHTML) {
			break
		}
	}
	if len(k.sums) == 0 {
		return nil, 0, w, false
	}
	h.cached = slices.Insert(h.cached, 0, k)
	size := 0
	for i, k := range h.cached {
		if size += len(k.json); i > 0 && (size > maxEncoded || i >= maxHistories) {
			clear(h.cached[i:])
			h.cached = h.cached[:i]
			break
		}
	}
	return slices.Clip(k.json), len(k.sums), k.writer.Clone(), true
}

// remove removes the cached history that is a prefix of messages, not beyond end, from the list and
// returns it; nil if there is none.
func (h *Histories[W]) remove(key string, messages []llm.Message, end, late int) *cachedHistory[W] {
	i := slices.IndexFunc(h.cached, func(k *cachedHistory[W]) bool {
		if k.key != key || len(k.sums) > end || k.varying > late {
			return false
		}
		for i, sum := range k.sums {
			if sumOf(&messages[i]) != sum {
				return false
			}
		}
		return true
	})
	if i < 0 {
		return nil
	}
	k := h.cached[i]
	h.cached = slices.Delete(h.cached, i, i+1)
	return k
}

// extend adds the messages before index to, or as many as fit. It returns false and leaves k
// unchanged if they cannot be cached.
func (k *cachedHistory[W]) extend(messages []llm.Message, to, late int, escapeHTML bool) bool {
	if to <= len(k.sums) || len(k.json) > maxEncoded {
		return true
	}
	w, json, varying := k.writer.Clone(), k.json, k.varying
	i := len(k.sums)
	if i == 0 {
		json = make([]byte, 0, roomFor(messages[:to]))
	}
	for i < to && len(json) <= maxEncoded {
		varies := w.Write(messages, i, i >= late)
		if i++; varies {
			varying = i
		}
		items := w.Settle()
		if len(items) == 0 {
			continue
		}
		list, err := encode(items, escapeHTML)
		if err != nil {
			return false
		}
		if len(json) > 0 {
			json = append(json, ',')
		}
		json = append(json, list[1:len(list)-1]...) // without brackets
	}
	if varying > late {
		return false
	}
	for n := len(k.sums); n < i; n++ {
		k.sums = append(k.sums, sumOf(&messages[n]))
	}
	k.writer, k.json, k.varying = w, json, varying
	return true
}

// roomFor estimates the encoded size of messages in bytes, with room for a few more.
func roomFor(messages []llm.Message) int {
	n := 0
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			n += len(p.Text) + len(p.Input) + len(p.State) + len(p.Data)*4/3 + 80
		}
	}
	return min(n+n/8, maxEncoded)
}

// lastEnd returns the end of the messages that can be cached; 0 for none.
func lastEnd(messages []llm.Message) int {
	end := len(messages)
	for rounds := 0; end > 0 && rounds < openRounds; {
		if end--; messages[end].Role != llm.RoleAssistant {
			rounds++
		}
	}
	return end
}

var sumSeed = sync.OnceValue(maphash.MakeSeed)

// sumOf returns a checksum of the parts of a message that a Writer uses.
func sumOf(m *llm.Message) uint64 {
	seed := sumSeed()
	type sums struct {
		before, data, state                          uint64
		text, id, name, input, mime, url, made, kind string
		failed, remote, repeated, hasData, hasState  bool
		width, height                                int
	}
	sum := maphash.Comparable(seed, [2]string{m.Origin, string(m.Role)})
	for i := range m.Parts {
		p := &m.Parts[i]
		sum = maphash.Comparable(seed, sums{
			sum, maphash.Bytes(seed, p.Data), maphash.Bytes(seed, p.State), p.Text, p.ID, p.Name, p.Input, p.MIME, p.URL, p.Made, string(p.Kind),
			p.Failed, p.Remote, p.Repeated, p.Data != nil, p.State != nil, p.Width, p.Height,
		})
	}
	return sum
}
