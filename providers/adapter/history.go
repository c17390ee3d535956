package adapter

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"

	"parley/providers/llm"
)

// A Writer writes a conversation as the items of a list, one message after the other. What it
// writes of a message may depend on those before it, and join or change the last item.
type Writer[W any] interface {
	// Write adds the items of message i of messages. It reads its Role, Origin and Parts.
	// Late says that it stands where the format has another form for some messages. Varies: it
	// is such a message, late or not.
	Write(messages []llm.Message, i int, late bool) (varies bool)
	// Settle returns the items before the last one, which go as they are. They may be used
	// until the next call, which may use their memory again.
	Settle() []any
	// Clone returns a copy that shares nothing which changes, without what Settle returned.
	Clone() W
}

// Bounds of Histories.
const (
	minEncoded   = 32       // messages; shorter histories are encoded anew
	openRounds   = 4        // messages that are not the model's after the kept ones: marks for caches move among them
	maxEncoded   = 32 << 20 // bytes of JSON
	maxHistories = 3        // histories: models take turns with branches, titles and summaries
)

// A Histories keeps the beginnings of conversations as they are sent, so that a further request
// encodes only what is new. They are found by the content of the messages, and not by
// their addresses: one that changed is written anew, with all after it. The zero value keeps
// nothing yet. It is safe for concurrent use.
type Histories[W Writer[W]] struct {
	EscapeHTML bool // see AppendJSON

	mu     sync.Mutex
	cached []*cachedHistory[W] // used last, first
}

// A cachedHistory is the beginning of a conversation.
type cachedHistory[W Writer[W]] struct {
	key     string
	sums    []uint64 // of the messages
	json    []byte   // their items; bytes that are there never change
	writer  W        // after them
	varying int      // messages up to the last one that has another form where it is late
}

// Write writes messages: kept is the JSON of the first items, with commas between them, nil if
// nothing is kept, and w has the others. Whole writes all of them anew, with nothing kept. Key
// holds what the items depend on beside the messages, and late is the number of the first message
// that is late. Fresh returns a writer at the beginning.
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

// extend returns what is kept of messages once it reaches up to end, as far as it can, and a
// writer for those from on.
func (h *Histories[W]) extend(key string, messages []llm.Message, end, late int, fresh func() W) (json []byte, from int, w W, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.remove(key, messages, end, late)
	if k == nil {
		k = &cachedHistory[W]{key: key, writer: fresh()}
	}
	for _, to := range []int{min(end, late), end} { // what is late may not be kept
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

// remove returns the history that is kept of messages, none of them after end, and removes it from
// the list; nil if there is none.
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

// extend adds the messages up to to, or as many as there is room for. It is false, and k as it
// was, if they cannot be kept.
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
		var err error
		if json, err = appendItems(json, w.Settle(), len(json) > 0, escapeHTML); err != nil {
			return false
		}
	}
	if varying > late {
		return false
	}
	for n := len(k.sums); n < i; n++ {
		k.sums = append(k.sums, sumOf(&messages[n]))
	}
	k.writer, k.json, k.varying = w.Clone(), json, varying // without what it would use again
	return true
}

// roomFor returns about how many bytes messages come to, with room for a few more.
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

// lastEnd returns up to where messages can be kept; 0 for nowhere.
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

// sumOf returns a sum of what a Writer reads of a message.
func sumOf(m *llm.Message) uint64 {
	seed := sumSeed()
	sum := mixSum(maphash.String(seed, m.Origin), wordSum(string(m.Role))<<32|uint64(len(m.Parts)))
	for i := range m.Parts {
		p := &m.Parts[i]
		sum = mixSum(sum, wordSum(string(p.Kind)))
		sum = mixSum(sum, maphash.String(seed, p.Text))
		if p.OnlyText() {
			continue
		}
		for bit, set := range [...]bool{p.Failed, p.Remote, p.Repeated, p.Data != nil, p.State != nil} {
			if set {
				sum = mixSum(sum, 1<<bit)
			}
		}
		for at, text := range [...]string{p.ID, p.Name, p.Input, p.MIME, p.URL, p.Made} {
			if text != "" {
				sum = mixSum(sum+uint64(at), maphash.String(seed, text))
			}
		}
		sum = mixSum(mixSum(sum, maphash.Bytes(seed, p.Data)), maphash.Bytes(seed, p.State))
		sum = mixSum(sum, uint64(p.Width)<<32|uint64(p.Height))
	}
	return sum
}

// wordSum tells the few words apart that a Role or a Kind can be.
func wordSum(word string) uint64 {
	if word == "" {
		return 0
	}
	return uint64(len(word))<<16 | uint64(word[0])<<8 | uint64(word[len(word)-1])
}

// mixSum returns a sum that depends on both, and on their order.
func mixSum(sum, next uint64) uint64 {
	hi, lo := bits.Mul64(sum^0x9e3779b97f4a7c15, next^0xd6e8feb86659fd93)
	return hi ^ bits.RotateLeft64(lo, 29) ^ next
}
