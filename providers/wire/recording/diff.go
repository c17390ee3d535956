package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/tools/lazy"
	"parley/tools/sanitize"
)

// diffBodies returns the first difference between a recorded body and another; "" if they are
// equivalent. JSON is compared by value: the order of keys, white space and the spelling of numbers
// do not count. Nor do generated ids and cache keys of the conversation. Masked parts of the
// recording match anything.
func diffBodies(was, is []byte) string {
	was, is = normalizeIDs(was), normalizeIDs(is)
	a, errA := parseJSON(was)
	b, errB := parseJSON(is)
	if errA != nil || errB != nil {
		if matchesMasked(string(was), string(is)) {
			return ""
		}
		return diffMessage("the body", string(was), string(is))
	}
	for _, body := range []any{a, b} {
		if object, ok := body.(map[string]any); ok {
			for _, name := range volatileFields {
				delete(object, name)
			}
		}
	}
	return diffValues("", a, b)
}

// volatileFields lists fields that differ in each conversation.
var volatileFields = []string{"prompt_cache_key"}

func parseJSON(body []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one value")
	}
	return v, nil
}

// generatedID matches the ids that parley generates for calls without one.
var generatedID = lazy.NewRegexp(`\b(?:call|toolu|unnamed)_(?:[A-Z2-7]{26}|[A-Z2-7]{20}|[0-9a-f]{24})\b`)

// normalizeIDs replaces each generated id in body with a name numbered by its first appearance.
func normalizeIDs(body []byte) []byte {
	names := map[string]string{}
	return generatedID.ReplaceAllFunc(body, func(id []byte) []byte {
		name, ok := names[string(id)]
		if !ok {
			name = "made-up-id-" + strconv.Itoa(len(names)+1)
			names[string(id)] = name
		}
		return []byte(name)
	})
}

// diffValues returns the first difference between two values at path; "" if they are equal.
func diffValues(path string, was, is any) string {
	switch a := was.(type) {
	case map[string]any:
		b, ok := is.(map[string]any)
		if !ok {
			return diffMessage(path, was, is)
		}
		keys := slices.Collect(maps.Keys(a))
		for name := range b {
			if _, ok := a[name]; !ok {
				keys = append(keys, name)
			}
		}
		slices.Sort(keys)
		for _, name := range keys {
			at := strings.TrimPrefix(path+"."+name, ".")
			x, before := a[name]
			y, now := b[name]
			switch {
			case !now:
				return at + " is missing, and was " + showValue(x, 0)
			case !before:
				return at + " is " + showValue(y, 0) + ", and was not there"
			}
			if d := diffValues(at, x, y); d != "" {
				return d
			}
		}
		return ""
	case []any:
		b, ok := is.([]any)
		if !ok {
			return diffMessage(path, was, is)
		}
		for i := range min(len(a), len(b)) {
			if d := diffValues(path+"["+strconv.Itoa(i)+"]", a[i], b[i]); d != "" {
				return d
			}
		}
		if len(a) != len(b) {
			return fmt.Sprintf("%s has %d elements, and had %d", orBody(path), len(b), len(a))
		}
		return ""
	case string:
		if b, ok := is.(string); ok && matchesMasked(a, b) {
			return ""
		}
	case json.Number:
		if b, ok := is.(json.Number); ok && sameNumber(a, b) {
			return ""
		}
	default: // true, false, null
		if was == is {
			return ""
		}
	}
	return diffMessage(path, was, is)
}

// sameNumber reports whether two numbers are equal, in any spelling.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// matchesMasked reports whether is matches was, in which parts may be masked.
func matchesMasked(was, is string) bool {
	pieces := strings.Split(was, sanitize.Redacted)
	if len(pieces) == 1 {
		return was == is
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(is) < len(first)+len(last) || !strings.HasPrefix(is, first) || !strings.HasSuffix(is, last) {
		return false
	}
	is = is[len(first) : len(is)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(is, piece)
		if at < 0 {
			return false
		}
		is = is[at+len(piece):]
	}
	return true
}

// showValue returns a value as JSON; of a string, an excerpt around byte at.
func showValue(v any, at int) string {
	if s, ok := v.(string); ok {
		return excerptAt(s, at)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return sanitize.Truncate(string(b), 60)
}

// toAny converts strings to JSON values.
func toAny(list []string) any {
	values := make([]any, len(list))
	for i, s := range list {
		values[i] = s
	}
	return values
}

func orBody(path string) string {
	if path == "" {
		return "the body"
	}
	return path
}

// diffMessage describes how two values differ; of strings, it quotes the first difference.
func diffMessage(path string, was, is any) string {
	a, b, at := fmt.Sprint(was), fmt.Sprint(is), 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return orBody(path) + " is " + showValue(is, at) + ", and was " + showValue(was, at)
}

// excerptAt quotes the text around byte at.
func excerptAt(s string, at int) string {
	const before, most = 20, 60
	start := max(min(at, len(s))-before, 0)
	for start > 0 && !utf8.RuneStart(s[start]) {
		start--
	}
	shown := sanitize.Truncate(s[start:], most)
	if start > 0 {
		shown = "…" + shown
	}
	return strconv.Quote(shown)
}
