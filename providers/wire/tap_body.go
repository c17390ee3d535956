package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// kept is the beginning and the end of a body.
type kept struct {
	half  int    // bytes that are kept of each
	head  []byte //
	tail  []byte // a ring once it is full
	at    int    // where the ring begins
	total int64  // bytes there were
}

// Write takes the next piece.
func (k *kept) Write(p []byte) (int, error) {
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

// end is the tail in order.
func (k *kept) end() []byte {
	end := make([]byte, 0, len(k.tail))
	return append(append(end, k.tail[k.at:]...), k.tail[:k.at]...)
}

// shrink keeps less.
func (k *kept) shrink(half int) {
	if k.half <= half {
		return
	}
	small := kept{half: half}
	if k.total == int64(len(k.head)+len(k.tail)) { // nothing is missing in between
		small.Write(k.head)
		small.Write(k.end())
	} else {
		small.Write(k.head[:min(half, len(k.head))])
		end := k.end()
		small.Write(end[max(len(end)-half, 0):])
	}
	small.total = k.total
	*k = small
}

// A part is a copy of what is kept.
type part struct {
	head, tail string
	cut        int64 // bytes between the two that are not
}

func (k *kept) part() part {
	cut := k.total - int64(len(k.head)+len(k.tail))
	if cut == 0 {
		var whole strings.Builder
		whole.Grow(len(k.head) + len(k.tail))
		whole.Write(k.head)
		whole.Write(k.tail[k.at:])
		whole.Write(k.tail[:k.at])
		return part{head: whole.String()}
	}
	return part{string(k.head), string(k.end()), cut}
}

// part is p without secrets. A secret of which only a piece is there, for it was
// cut or did not come to its end, goes as well.
func (m mask) part(p part, open bool) (head, tail string, cut int64) {
	head = m.text(p.head)
	if p.cut > 0 {
		tail = m.tornStart(m.text(p.tail))
	}
	switch {
	case p.cut > 0:
		head = m.tornEnd(head)
		if open {
			tail = m.tornEnd(tail)
		}
	case open:
		head = m.tornEnd(head)
	}
	return head, tail, p.cut
}

// tornLeast is how much of a secret there must be to be taken for one.
const tornLeast = 4

// tornEnd is s without the beginning of a secret at its end.
func (m mask) tornEnd(s string) string {
	longest := 0
	for _, form := range m.forms {
		for n := min(len(form)-1, len(s)); n >= tornLeast && n > longest; n-- {
			if strings.HasSuffix(s, form[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return s
	}
	return s[:len(s)-longest] + redacted
}

// tornStart is s without the end of a secret at its beginning.
func (m mask) tornStart(s string) string {
	longest := 0
	for _, form := range m.forms {
		for n := min(len(form)-1, len(s)); n >= tornLeast && n > longest; n-- {
			if strings.HasPrefix(s, form[len(form)-n:]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return s
	}
	return redacted + s[longest:]
}

// secretNames are in the names of headers that hold keys and what is as good as
// a key.
var secretNames = []string{"authorization", "cookie", "key", "token", "secret", "password", "credential", "signature"}

// secretHeader is h without secrets. Headers that hold keys are [redacted]
// whatever is in them; a scheme before the key, such as Bearer, stays.
func (m mask) secretHeader(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	h = m.header(h)
	for name, values := range h {
		if !holdsKey(name) {
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

// holdsKey reports whether a header of this name is secret. Limits are counted
// in tokens.
func holdsKey(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "ratelimit") {
		return false
	}
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// harmless are the parameters of addresses that are shown; any other might be a
// key.
var harmless = map[string]bool{"alt": true, "api-version": true, "limit": true, "pageSize": true, "beta": true}

// address is u without what may be secret.
func address(u *url.URL) string {
	shown := Public(u.String())
	query := url.Values{}
	for name, values := range u.Query() {
		if harmless[name] {
			query[name] = values
		}
	}
	if len(query) > 0 {
		shown += "?" + query.Encode()
	}
	return shown
}
