package wire

import (
	"bytes"
	"compress/flate"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/tools/sanitize"
)

// boundedBody keeps the beginning and the end of a body.
type boundedBody struct {
	half  int    // bytes kept of each
	head  []byte //
	tail  []byte // its last half bytes; those before them are dropped from time to time
	total int64  // size of the whole body in bytes

	packed packedBody // replaces head and tail, which are then nil; zero if not compressed
	tried  bool       // compression was tried: a body that does not shrink stays uncompressed
}

// A packedBody is a body compressed with flate.
type packedBody struct{ head, tail []byte }

// minPacked is the smallest size worth compressing, in bytes.
const minPacked = 16 << 10

// size returns the memory used, in bytes.
func (k *boundedBody) size() int { return cap(k.head) + cap(k.tail) + k.packed.bytes() }

// bytes returns the memory used by p, in bytes.
func (p packedBody) bytes() int { return cap(p.head) + cap(p.tail) }

// looseSize returns the number of bytes that pack could compress.
func (k *boundedBody) looseSize() int {
	if k.tried || len(k.head)+len(k.tail) < minPacked || k.half > tapBody/2 { // a recording shrinks it first
		return 0
	}
	return cap(k.head) + cap(k.tail)
}

// pack starts compressing finished exchanges, the oldest first, until few bytes are uncompressed: bodies
// are JSON, and the bodies of a day would otherwise fill the memory. The tap must be locked.
func (t *Tap) pack() {
	if t.packing {
		return
	}
	sum := 0
	var old []*exchange
	for _, x := range slices.Backward(t.all) {
		size := x.looseSize()
		if sum += size; size > 0 && sum > tapLoose && x.isDone() {
			old = append(old, x)
		}
	}
	if t.packing = len(old) > 0; !t.packing {
		return
	}
	go func() {
		for _, x := range slices.Backward(old) {
			x.pack()
		}
		t.mu.Lock()
		t.packing = false
		t.mu.Unlock()
	}()
}

// pack compresses the bodies of a finished exchange, which does not change any more.
func (x *exchange) pack() {
	x.mu.Lock()
	request, response := x.request, x.response
	x.mu.Unlock()
	request.pack()
	response.pack()
	x.mu.Lock()
	x.request, x.response = request, response
	x.mu.Unlock()
}

// pack compresses a finished body.
func (k *boundedBody) pack() {
	if k.looseSize() == 0 {
		return
	}
	k.tried = true
	if p := (packedBody{deflate(k.head), deflate(k.tailBytes())}); p.bytes() < (len(k.head)+len(k.tail))*3/4 {
		k.packed = p
		k.head, k.tail = nil, nil
	}
}

func deflate(p []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // fails only for an invalid level
	_, _ = w.Write(p)                            // into memory
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// unpacked returns k uncompressed.
func (k *boundedBody) unpacked() *boundedBody {
	if k.packed.bytes() == 0 {
		return k
	}
	inflate := func(p []byte) []byte {
		all, _ := io.ReadAll(flate.NewReader(bytes.NewReader(p))) // written by deflate
		return all
	}
	return &boundedBody{half: k.half, total: k.total, head: inflate(k.packed.head), tail: inflate(k.packed.tail)}
}

// Write adds the next piece.
func (k *boundedBody) Write(p []byte) (int, error) {
	n := len(p)
	k.total += int64(n)
	fits := min(k.half-len(k.head), n)
	k.head = append(k.head, p[:fits]...)
	if k.tail = append(k.tail, p[fits:]...); len(k.tail) >= 2*k.half {
		k.tail = slices.Clone(k.tailBytes())
	}
	return n, nil
}

// tailBytes returns the kept end.
func (k *boundedBody) tailBytes() []byte { return k.tail[max(len(k.tail)-k.half, 0):] }

// shrink reduces the number of bytes kept to half at each end.
func (k *boundedBody) shrink(half int) {
	if k.half <= half {
		return
	}
	small := boundedBody{half: half}
	if end := k.tailBytes(); k.total == int64(len(k.head)+len(end)) { // no bytes are missing in between
		small.Write(k.head)
		small.Write(end)
	} else {
		small.Write(k.head[:min(half, len(k.head))])
		small.Write(end[max(len(end)-half, 0):])
	}
	small.total = k.total
	*k = small
}

// A bodyCopy is a copy of the kept parts of a body.
type bodyCopy struct {
	head, tail string
	omitted    int64 // bytes missing between head and tail
}

func (k *boundedBody) copy() bodyCopy {
	k = k.unpacked()
	end := k.tailBytes()
	cut := k.total - int64(len(k.head)+len(end))
	if cut == 0 {
		return bodyCopy{head: string(slices.Concat(k.head, end))}
	}
	return bodyCopy{string(k.head), string(end), cut}
}

// body returns p with its secrets masked. If open, it also removes the incomplete secret at an end
// of a piece.
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

// secretHeaders returns h with its secrets masked. Headers that hold keys are always [redacted]; a
// scheme before the key, such as Bearer, stays.
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

// IsSecretHeader reports whether a header or URL parameter is secret by its name. Names about token counts are not
// secret.
func IsSecretHeader(name string) bool {
	lower := strings.ToLower(name)
	return !strings.Contains(lower, "ratelimit") && (sanitize.IsSecretVariable(name) || strings.Contains(lower, "signature"))
}

// publicParams holds the URL parameters that are shown; any other might be a key.
var publicParams = map[string]bool{"alt": true, "api-version": true, "limit": true, "pageSize": true, "beta": true}

// publicURL returns u without parts that may be secret.
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
