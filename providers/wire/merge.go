package wire

import (
	"maps"
	"reflect"
	"slices"
)

// replacedLists names the lists that extra fields replace: a user who sets them means
// all of them.
var replacedLists = []string{"input", "contents"}

// Merge puts extra fields of the user's into the body of a request: objects are
// merged, lists added to, whatever type they were decoded into, and everything
// else replaced. Objects and lists of either side stay as they are.
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

// listOf returns the elements of a list of any type; TOML decodes some into
// []map[string]any.
func listOf(value any) (list []any, ok bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() == reflect.Uint8 { // which is data
		return nil, false
	}
	for i := range v.Len() {
		list = append(list, v.Index(i).Interface())
	}
	return list, true
}
