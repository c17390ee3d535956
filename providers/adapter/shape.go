package adapter

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// A Shape decodes the events of one stream. Nearly all events differ from the previous one only in
// the text of a delta, and in values that the decoder ignores, such as padding and counters. The
// Shape finds these values by trial. It then recognizes such events by the bytes between them, and
// decodes only the delta.
//
// The zero Shape has not studied an event. It is not safe for concurrent use.
type Shape[T any] struct {
	parts    [][]byte // bytes common to all events of this shape, around and between the gaps
	gaps     []gap    // one less than parts
	event    *T       // the studied event, with the delta of the last one
	delta    json.Unmarshaler
	scratch  T   // last event that was decoded completely; its memory is reused
	unknown  int // number of consecutive events with a delta that were decoded completely
	attempts int
}

// A gap is a place in an event whose value does not affect its meaning.
type gap struct {
	kind  byte // '"' for a string, '0' for a natural number
	delta bool
}

// Limits of studying: it costs as much as decoding a few dozen events, so it must be worthwhile,
// and must stop if all events differ.
const (
	studyAfter    = 8
	maxStudies    = 4
	maxGaps       = 32
	maxStudyBytes = 4 << 10
)

// Decode returns the event in data, valid until the next call. Decode decodes an event into a T,
// replacing its content; deltas returns the delta fields of an event, nil if there are none.
func (s *Shape[T]) Decode(data []byte, decode func([]byte, *T) error, deltas func(*T) []json.Unmarshaler) (*T, error) {
	if s.matches(data) {
		s.unknown = 0
		return s.event, nil
	}
	if err := decode(data, &s.scratch); err != nil {
		return nil, err
	}
	if s.unknown++; s.unknown >= studyAfter && s.attempts < maxStudies && len(data) <= maxStudyBytes {
		s.unknown = 0
		s.attempts++
		s.study(data, decode, deltas)
	}
	return &s.scratch, nil
}

// matches reports whether data has the known shape. If so, it decodes the delta.
func (s *Shape[T]) matches(data []byte) bool {
	if s.event == nil {
		return false
	}
	var text []byte
	for i, g := range s.gaps {
		rest, ok := bytes.CutPrefix(data, s.parts[i])
		if !ok {
			return false
		}
		n := scalar(rest)
		switch {
		case n == 0 || (rest[0] == '"') != (g.kind == '"'):
			return false
		case g.delta:
			text = rest[:n]
		}
		data = rest[n:]
	}
	return bytes.Equal(data, s.parts[len(s.gaps)]) && s.delta.UnmarshalJSON(text) == nil
}

// study finds the strings and numbers of an event that may change.
func (s *Shape[T]) study(data []byte, decode func([]byte, *T) error, deltas func(*T) []json.Unmarshaler) {
	s.event = nil
	event := new(T)
	if decode(data, event) != nil {
		return
	}
	field := -1
	var parts [][]byte
	var gaps []gap
	start := 0
	for _, at := range scalars(data) {
		value := data[at[0]:at[1]]
		g, changes := s.try(data, at, event, decode, deltas)
		if !changes || g.delta && field >= 0 {
			continue
		}
		if g.delta {
			field = g.field
		}
		parts = append(parts, bytes.Clone(data[start:at[0]]))
		gaps = append(gaps, gap{kind: kindOf(value), delta: g.delta})
		start = at[1]
	}
	if field < 0 || len(gaps) > maxGaps {
		return
	}
	s.parts, s.gaps = append(parts, bytes.Clone(data[start:])), gaps
	s.event, s.delta = event, deltas(event)[field]
}

// A trial is the effect of changing a value in an event.
type trial struct {
	delta bool // only a delta changed
	field int  // index of the delta
}

// try decodes the event with another value in one place. It returns false if more than a delta
// changed.
func (s *Shape[T]) try(data []byte, at [2]int, event *T, decode func([]byte, *T) error, deltas func(*T) []json.Unmarshaler) (trial, bool) {
	value, other := data[at[0]:at[1]], []byte(`"~"`)
	switch {
	case value[0] != '"' && string(value) == "7":
		other = []byte("8")
	case value[0] != '"':
		other = []byte("7")
	case bytes.Equal(value, other):
		return trial{}, false
	}
	edited := bytes.Join([][]byte{data[:at[0]], other, data[at[1]:]}, nil)
	changed := new(T)
	if decode(edited, changed) != nil {
		return trial{}, false
	}
	if reflect.DeepEqual(changed, event) {
		return trial{}, true
	}
	for i := range deltas(changed) {
		*changed = *new(T)
		if value[0] != '"' || decode(edited, changed) != nil {
			break
		}
		if deltas(changed)[i].UnmarshalJSON(value) == nil && reflect.DeepEqual(changed, event) {
			return trial{delta: true, field: i}, true
		}
	}
	return trial{}, false
}

func kindOf(value []byte) byte {
	if value[0] == '"' {
		return '"'
	}
	return '0'
}

// scalars returns the positions of strings and natural numbers in JSON, except field names.
func scalars(data []byte) [][2]int {
	var found [][2]int
	for i := 0; i < len(data); {
		n := scalar(data[i:])
		switch {
		case n == 0:
			i++
			continue
		case data[i] != '"' && i > 0 && bytes.IndexByte([]byte(":,[ \t\r\n"), data[i-1]) < 0: // part of another number
		case !bytes.HasPrefix(bytes.TrimLeft(data[i+n:], " \t\r\n"), []byte{':'}):
			found = append(found, [2]int{i, i + n})
		}
		i += n
	}
	return found
}

// scalar returns the length of the JSON string or natural number at the start of data; 0 if there
// is none.
func scalar(data []byte) int {
	if len(data) > 0 && data[0] == '"' {
		return quotedLen(data)
	}
	n := 0
	for n < len(data) && data[n] >= '0' && data[n] <= '9' {
		n++
	}
	if n > 18 || n > 1 && data[0] == '0' || n < len(data) && (data[n] == '.' || data[n]|0x20 == 'e') {
		return 0
	}
	return n
}

// quotedLen returns the length of the JSON string at the start of data; 0 if there is none.
func quotedLen(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return 0
		case c == '\\':
			n := escapeLen(data[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		}
	}
	return 0
}

// escapeLen returns the length of the escape at the start of data; 0 if there is none.
func escapeLen(data []byte) int {
	switch {
	case len(data) < 2:
		return 0
	case data[1] == 'u':
		for i := 2; i < 6; i++ {
			if i >= len(data) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), data[i]) < 0 {
				return 0
			}
		}
		return 6
	case bytes.IndexByte([]byte(`"\/bfnrt`), data[1]) < 0:
		return 0
	}
	return 2
}
