package adapter

import "slices"

// cloneItem returns a deep copy of maps and slices; other values are shared.
func cloneItem(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = cloneItem(value)
		}
		return c
	case []any:
		return CloneItems(v)
	}
	return v
}

// CloneItems returns a copy of a list, with items copied by cloneItem; nil for nil.
func CloneItems(list []any) []any {
	c := slices.Clone(list)
	for i, v := range c {
		c[i] = cloneItem(v)
	}
	return c
}

// CutLast splits a list before its last item; last is a new list.
func CutLast[T any](list []T) (front, last []T) {
	n := max(len(list)-1, 0)
	return list[:n], slices.Clone(list[n:])
}

// A List is a list in a body, some of whose items are cached as JSON.
type List struct {
	First   []any
	Encoded []byte // after First, with commas between the items
	Rest    []any
}

// ListOf returns the value of a list in a body: a []any or, if some items are cached, a [List].
func ListOf(first []any, encoded []byte, rest []any) any {
	if len(encoded) > 0 {
		return List{first, encoded, rest}
	}
	return append(append([]any{}, first...), rest...) // not null
}

// holdsList reports whether body contains a [List].
func holdsList(body map[string]any) bool {
	for _, value := range body {
		if _, ok := value.(List); ok {
			return true
		}
	}
	return false
}
