package wire

import (
	"maps"
	"reflect"
	"slices"
)

// replacedLists names the lists that extra fields replace: a user who sets one of them means the
// whole list.
var replacedLists = []string{"input", "contents"}

// Merge merges the user's extra fields into a request body: objects are merged, lists of any
// element type appended, other values replaced. It does not modify the objects and lists of either
// side.
func Merge(body, extra map[string]any) {
	for field, value := range extra {
		old := body[field]
		object, isObject := value.(map[string]any)
		if inner, ok := old.(map[string]any); ok && isObject {
			inner = maps.Clone(inner)
			Merge(inner, object)
			body[field] = inner
			continue
		}
		ours, also := listOf(old)
		if list, ok := listOf(value); ok && also && !slices.Contains(replacedLists, field) {
			body[field] = slices.Concat(ours, list)
			continue
		}
		body[field] = value
	}
}

// listOf returns the elements of a list of any type; TOML decodes some lists into []map[string]any.
func listOf(value any) (list []any, ok bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() == reflect.Uint8 { // a []byte is data
		return nil, false
	}
	for i := range v.Len() {
		list = append(list, v.Index(i).Interface())
	}
	return list, true
}
