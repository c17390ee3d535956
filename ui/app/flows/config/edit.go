package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlValue returns text as a TOML value of type t. It accepts TOML, words without quotes, on and off for booleans, and
// lists separated by commas.
func tomlValue(t reflect.Type, text string) (string, error) {
	text = strings.TrimSpace(text)
	isTOML := !strings.ContainsAny(text, "\n#") && decodes("v = "+text)
	switch t.Kind() {
	case reflect.Bool:
		on, ok := map[string]bool{"on": true, "true": true, "yes": true, "off": false, "false": false, "no": false}[text]
		if !ok {
			return "", errors.New("use true or false")
		}
		return strconv.FormatBool(on), nil
	case reflect.String:
		if isTOML && strings.ContainsAny(text[:1], `"'`) {
			return text, nil
		}
	case reflect.Slice:
		if isTOML && text[0] != '[' {
			isTOML = t.Elem().Kind() != reflect.String
		} else if !isTOML && t.Elem().Kind() == reflect.String {
			return marshal(strings.FieldsFunc(text, func(r rune) bool { return r == ',' }))
		}
		if !isTOML {
			return marshal([]string{text})
		}
		return text, nil
	default:
		if isTOML && (t.Kind() != reflect.Struct || strings.ContainsAny(text[:1], `"'[{`)) {
			return text, nil
		}
		switch t.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
			if t.PkgPath() == "" {
				return "", errors.New("use a number")
			}
		}
	}
	return marshal(text)
}

// marshal returns a string or a list of strings in TOML.
func marshal(v any) (string, error) {
	if list, ok := v.([]string); ok {
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	}
	text, err := toml.Marshal(map[string]any{"v": v})
	return strings.TrimSpace(strings.TrimPrefix(string(text), "v = ")), err
}

// decode returns the values of a configuration.
func decode(text string) (values map[string]any, err error) {
	values = map[string]any{}
	_, err = toml.Decode(strings.TrimPrefix(text, bom), &values)
	return values, err
}

// bom is the mark with which some editors begin files.
const bom = "\ufeff"

// decodes reports whether text is valid TOML.
func decodes(text string) bool {
	_, err := decode(text)
	return err == nil
}

// parseKey splits a key written in TOML.
func parseKey(key string) ([]string, error) {
	meta, err := toml.Decode(key+" = 0", &map[string]any{})
	if keys := meta.Keys(); err == nil && len(keys) > 0 && !strings.Contains(key, "\n") {
		return keys[len(keys)-1], nil
	}
	return nil, fmt.Errorf("%q is not the name of a setting", key)
}

// A statement is a table header or a pair of a configuration.
type statement struct {
	path             []string
	header, list     bool // a header; of a list of tables
	start, end       int  // offsets of its lines
	key, value, stop int  // offsets of the end of the key, of the value, and of its end
}

// statements splits valid TOML.
func statements(text string) (all []statement) {
	var table []string
	for at := 0; at < len(text); {
		s := statement{start: at, end: lineEnd(text, at)}
		line := strings.TrimSpace(text[at:s.end])
		switch at = s.end; {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			meta, _ := toml.Decode(line, &map[string]any{})
			keys := meta.Keys()
			if len(keys) == 0 {
				return all
			}
			table = keys[len(keys)-1]
			s.path, s.header, s.list = table, true, strings.HasPrefix(line, "[[")
			all = append(all, s)
			continue
		}
		for s.key = s.start; ; s.key++ {
			equals := strings.IndexByte(text[s.key:s.end], '=')
			if equals < 0 {
				return all
			}
			s.key += equals
			if key, err := parseKey(strings.TrimSpace(text[s.start:s.key])); err == nil {
				s.path = slices.Concat(table, key)
				break
			}
		}
		for !decodes(text[s.start:s.end]) {
			if s.end == len(text) {
				return all
			}
			s.end = lineEnd(text, s.end)
		}
		s.stop = s.end
		for i := s.key; i < s.end; i++ { // a comment follows the first # before which the value is complete
			if text[i] == '#' && decodes(text[s.start:i]) {
				s.stop = i
				break
			}
		}
		s.value = s.key + 1 + len(text[s.key+1:s.stop]) - len(strings.TrimLeft(text[s.key+1:s.stop], " \t"))
		s.stop = s.start + len(strings.TrimRight(text[s.start:s.stop], " \t\r\n"))
		all, at = append(all, s), s.end
	}
	return all
}

// lineEnd returns the offset after the line at an offset.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// edited returns a valid configuration with another value, in TOML, for a setting; "" removes the setting. Everything
// else stays as it is: comments, order and spaces.
func edited(text string, path []string, value string) (string, error) {
	if value == "" {
		return changed(text, path, nil, func(text string) string { return edit(text, path, "") })
	}
	wanted, err := decode("v = " + value)
	if err != nil {
		return "", err
	}
	return changed(text, path, wanted["v"], func(text string) string { return edit(text, path, value) })
}

// changed returns text as edit changes it, unless another value than the one at path differs then.
func changed(text string, path []string, value any, edit func(text string) string) (string, error) {
	text, marked := strings.CutPrefix(text, bom)
	after := edit(text)
	was, err := decode(text)
	if err != nil {
		return "", err
	}
	is, err := decode(after)
	if err != nil || !put(was, path, value) || !reflect.DeepEqual(prune(was), prune(is)) {
		return "", fmt.Errorf("%s is set in a way that cannot be changed here: edit the file", toml.Key(path))
	}
	if marked {
		after = bom + after
	}
	return after, nil
}

// newlineOf returns the line break that text uses.
func newlineOf(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func edit(text string, path []string, value string) string {
	table, name, newline := path[:len(path)-1], path[len(path)-1], newlineOf(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += newline
	}
	place, first, prefix := -1, len(text), "" // where a new pair goes: an offset, that of the first header; the pair's prefix
	for _, s := range statements(text) {
		if s.header {
			first = min(first, s.start)
		}
		switch {
		case slices.Equal(s.path, path) && !s.header && value == "":
			return text[:s.start] + text[s.end:]
		case slices.Equal(s.path, path) && !s.header:
			return text[:s.value] + value + text[s.stop:]
		case slices.Equal(s.path, table) && s.header && !s.list:
			place, prefix = s.end, ""
		case len(s.path) == len(path) && slices.Equal(s.path[:len(table)], table) && !s.header:
			key := strings.TrimSpace(text[s.start:s.key])
			place, prefix = s.end, key[:strings.LastIndexByte(key, '.')+1]
		}
	}
	if value == "" {
		return text
	}
	pair := toml.Key{name}.String() + " = " + value + newline
	if example := "# " + name + " = "; place >= 0 || len(table) == 0 { // beside the commented example
		from, to := max(place, 0), len(text)
		if len(table) == 0 {
			from, to = 0, first
		} else if n := strings.Index(text[from:], "\n["); n >= 0 {
			to = from + n + 1
		}
		if n := strings.Index("\n"+text[from:to], "\n"+example); n >= 0 {
			place, prefix = lineEnd(text, from+n), ""
		}
	}
	switch {
	case place >= 0:
		return text[:place] + prefix + pair + text[place:]
	case len(table) > 0:
		return text + strings.Repeat(newline, min(len(text), 1)) + "[" + toml.Key(table).String() + "]" + newline + pair
	}
	if first = aboveComment(text, first); first < len(text) {
		pair += newline
	}
	return text[:first] + pair + text[first:]
}

// aboveComment returns the offset of the comment above a line, or that of the line.
func aboveComment(text string, at int) int {
	for at > 0 && at < len(text) {
		line := strings.LastIndexByte(text[:at-1], '\n') + 1
		if !strings.HasPrefix(text[line:at], "#") {
			break
		}
		at = line
	}
	return at
}

// withTable returns a valid configuration with another table, in TOML with its header, at path; "" removes it. A new
// table follows those of the same parent.
func withTable(text string, path []string, table string) (string, error) {
	wanted, err := decode(table)
	if err != nil {
		return "", err
	}
	return changed(text, path, lookup(wanted, path), func(text string) string { return putTable(text, path, table) })
}

func putTable(text string, path []string, table string) string {
	after, place, at, newline := "", -1, 0, newlineOf(text)
	for _, s := range statements(text) {
		if len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path) {
			after += text[at:s.start]
			if blank := newline + newline; s.header && strings.HasSuffix(after, blank) {
				after = strings.TrimSuffix(after, newline)
			}
			at = s.end
		} else if len(s.path) > 0 && s.path[0] == path[0] {
			place = len(after) + s.end - at
		}
	}
	if after += text[at:]; table != "" {
		if n := strings.Index(after[max(place, 0):], "\n["); place >= 0 && n >= 0 {
			place = aboveComment(after, place+n+1)
		} else {
			place = len(after)
		}
		before, rest := strings.TrimRight(after[:place], "\r\n"), after[place:]
		if before != "" {
			before += newline + newline
		}
		if rest != "" {
			rest = newline + rest
		}
		after = before + strings.ReplaceAll(table, "\n", newline) + rest
	}
	return after
}

// put sets the value at path in nested tables, or removes it if v is nil. It reports whether that is possible.
func put(m map[string]any, path []string, v any) bool {
	for _, name := range path[:len(path)-1] {
		below, ok := m[name].(map[string]any)
		if !ok && m[name] != nil {
			return false
		}
		if !ok {
			below = map[string]any{}
			m[name] = below
		}
		m = below
	}
	if m[path[len(path)-1]] = v; v == nil {
		delete(m, path[len(path)-1])
	}
	return true
}

// prune removes empty tables.
func prune(m map[string]any) map[string]any {
	for name, v := range m {
		if below, ok := v.(map[string]any); ok && len(prune(below)) == 0 {
			delete(m, name)
		}
	}
	return m
}

// lookup returns the value at path in nested tables; nil if there is none.
func lookup(m map[string]any, path []string) any {
	for i, name := range path {
		if i == len(path)-1 {
			return m[name]
		}
		if m, _ = m[name].(map[string]any); m == nil {
			return nil
		}
	}
	return nil
}
