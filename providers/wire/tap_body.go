package wire

import (
	"bytes"
	"compress/flate"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/tools/sanitize"
)

// boundedBody is the beginning and the end of a body.
type boundedBody struct {
	half  int    // bytes that are kept of each
	head  []byte //
	tail  []byte // a ring once it is full
	at    int    // where the ring begins
	total int64  // bytes there were

	packed packedBody // head and tail, which are nil then; the zero value if they are not compressed
	tried  bool       // it was tried: what does not get smaller stays
}

// A packedBody is a compressed body. One whose head is that of another shares it: requests of a
// conversation begin alike.
type packedBody struct {
	head, tail []byte // of flate; never changed
	sum        uint64 // of the head as it was
	size       int    // bytes of the head as it was
}

var headSeed = maphash.MakeSeed()

// minPacked is the size below which compressing is not worth it.
const minPacked = 16 << 10

// size returns how many bytes of memory are used.
func (k *boundedBody) size() int { return cap(k.head) + cap(k.tail) + k.packed.bytes() }

// bytes returns how many bytes of memory p uses. What is shared counts for each.
func (p packedBody) bytes() int { return cap(p.head) + cap(p.tail) }

// looseSize returns how many of them pack may save.
func (k *boundedBody) looseSize() int {
	if k.tried || len(k.head)+len(k.tail) < minPacked || k.half > tapBody/2 { // a recording shrinks it first
		return 0
	}
	return cap(k.head) + cap(k.tail)
}

// pack begins to compress finished exchanges, the oldest first, until few bytes are uncompressed: bodies
// are JSON, and those of a day would otherwise fill the memory. The tap is locked.
func (t *Tap) pack() {
	if old := t.loose(tapLoose); len(old) > 0 {
		go t.compress(old)
	}
}

// loose returns the exchanges that are over and to be compressed, so that at most most bytes of
// bodies are not, the newest first. The caller passes them to compress; until that returns, loose
// returns none. The tap is locked.
func (t *Tap) loose(most int) []*exchange {
	if t.packing {
		return nil
	}
	sum := 0
	var old []*exchange
	for _, x := range slices.Backward(t.all) {
		size := x.looseSize()
		if sum += size; size > 0 && sum > most && x.isDone() {
			old = append(old, x)
		}
	}
	t.packing = len(old) > 0
	return old
}

// compress compresses the bodies of what loose returned, the oldest first.
func (t *Tap) compress(old []*exchange) {
	for _, x := range slices.Backward(old) {
		t.before = x.pack(t.before)
	}
	t.mu.Lock()
	t.packing = false
	t.mu.Unlock()
}

// pack compresses the bodies of an exchange that is over and does not change any more. The request
// may share memory with before, the last one compressed. It returns the one for the next.
func (x *exchange) pack(before packedBody) packedBody {
	x.mu.Lock()
	request, response := x.request, x.response
	x.mu.Unlock()
	request.pack(before)
	response.pack(packedBody{})
	x.mu.Lock()
	x.request, x.response = request, response
	x.mu.Unlock()
	if request.packed.bytes() == 0 {
		return before
	}
	return request.packed
}

// pack compresses a body to which nothing will be added. It shares the compressed head of before
// if theirs are the same.
func (k *boundedBody) pack(before packedBody) {
	if k.looseSize() == 0 {
		return
	}
	size := len(k.head) + len(k.tail)
	k.tried = true
	p := packedBody{sum: maphash.Bytes(headSeed, k.head), size: len(k.head), tail: deflate(k.tail[k.at:], k.tail[:k.at])}
	if p.sum == before.sum && p.size == before.size {
		p.head = before.head
	} else {
		p.head = deflate(k.head)
	}
	if p.bytes() < size*3/4 {
		k.packed = p
		k.head, k.tail, k.at = nil, nil, 0
	}
}

// deflate compresses pieces that follow each other.
func deflate(pieces ...[]byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // fails for no level there is
	for _, p := range pieces {
		_, _ = w.Write(p) // into memory
	}
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// unpacked returns k as it was before pack.
func (k *boundedBody) unpacked() *boundedBody {
	if k.packed.bytes() == 0 {
		return k
	}
	inflate := func(p []byte) []byte {
		all, _ := io.ReadAll(flate.NewReader(bytes.NewReader(p))) // of what deflate wrote
		return all
	}
	return &boundedBody{half: k.half, total: k.total, head: inflate(k.packed.head), tail: inflate(k.packed.tail)}
}

// Write takes the next piece.
func (k *boundedBody) Write(p []byte) (int, error) {
	n := len(p)
	k.total += int64(n)
	if room := k.half - len(k.head); room > 0 {
		fits := min(room, len(p))
		k.head = append(k.head, p[:fits]...)
		p = p[fits:]
	}
	if over := len(p) - k.half; over > 0 { // all of the ring would be written over
		k.tail, k.at = k.tail[:0], 0
		p = p[over:]
	}
	for len(p) > 0 {
		if room := k.half - len(k.tail); room > 0 {
			fits := min(room, len(p))
			k.tail = append(k.tail, p[:fits]...)
			p = p[fits:]
			continue
		}
		fits := copy(k.tail[k.at:], p)
		k.at = (k.at + fits) % k.half
		p = p[fits:]
	}
	return n, nil
}

// tailBytes returns the tail in order.
func (k *boundedBody) tailBytes() []byte {
	end := make([]byte, 0, len(k.tail))
	return append(append(end, k.tail[k.at:]...), k.tail[:k.at]...)
}

// shrink keeps less.
func (k *boundedBody) shrink(half int) {
	if k.half <= half {
		return
	}
	small := boundedBody{half: half}
	if k.total == int64(len(k.head)+len(k.tail)) { // nothing is missing in between
		small.Write(k.head)
		small.Write(k.tailBytes())
	} else {
		small.Write(k.head[:min(half, len(k.head))])
		end := k.tailBytes()
		small.Write(end[max(len(end)-half, 0):])
	}
	small.total = k.total
	*k = small
}

// A bodyCopy is a copy of what is kept.
type bodyCopy struct {
	head, tail string
	omitted    int64 // bytes between the two that are not
}

func (k *boundedBody) copy() bodyCopy {
	k = k.unpacked()
	cut := k.total - int64(len(k.head)+len(k.tail))
	if cut == 0 {
		var whole strings.Builder
		whole.Grow(len(k.head) + len(k.tail))
		whole.Write(k.head)
		whole.Write(k.tail[k.at:])
		whole.Write(k.tail[:k.at])
		return bodyCopy{head: whole.String()}
	}
	return bodyCopy{string(k.head), string(k.tailBytes()), cut}
}

// body returns p without secrets. A piece of a secret that was
// cut, or whose end did not come, is removed as well.
func (m mask) body(p bodyCopy, open bool) (head, tail string, cut int64) {
	head = m.Text(p.head)
	if p.omitted > 0 {
		tail = m.DropTornStart(m.Text(p.tail))
	}
	switch {
	case p.omitted > 0:
		head = m.DropTornEnd(head)
		if open {
			tail = m.DropTornEnd(tail)
		}
	case open:
		head = m.DropTornEnd(head)
	}
	return head, tail, p.omitted
}

// secretHeaders returns h without secrets. Headers that hold keys are [redacted]
// whatever is in them; a scheme before the key, such as Bearer, stays.
func (m mask) secretHeaders(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	h = m.header(h)
	for name, values := range h {
		if !IsSecretHeader(name) {
			continue
		}
		for i, v := range values {
			scheme, _, two := strings.Cut(v, " ")
			values[i] = redacted
			if two && (scheme == "Bearer" || scheme == "Basic") {
				values[i] = scheme + " " + redacted
			}
		}
	}
	return h
}

// IsSecretHeader reports whether a header, or a parameter of an address, is secret by its name. Limits are counted
// in tokens.
func IsSecretHeader(name string) bool {
	lower := strings.ToLower(name)
	return !strings.Contains(lower, "ratelimit") && (sanitize.IsSecretVariable(name) || strings.Contains(lower, "signature"))
}

// publicParams holds the parameters of addresses that are shown; any other might be a
// key.
var publicParams = map[string]bool{"alt": true, "api-version": true, "limit": true, "pageSize": true, "beta": true}

// publicURL returns u without what may be secret.
func publicURL(u *url.URL) string {
	shown := Public(u.String())
	query := url.Values{}
	for name, values := range u.Query() {
		if publicParams[name] {
			query[name] = values
		}
	}
	if len(query) > 0 {
		shown += "?" + query.Encode()
	}
	return shown
}
