// Package config reads TOML configuration strictly and within bounds. It reports
// mistakes by line, and an unknown key together with the known one that was
// probably meant.
//
//	text ──► bounds ──► decoder ──► keys nobody knows ──► Validate ──► Settings
//
// The package has no settings of its own: each package owns its part of the
// struct, with toml tags, and rejects invalid values in Validate. Errors never
// quote a value unless the owning package does so, because it may be a key.
package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"parley/providers/similar"
	"parley/tools/lazy"
)

// Validator is implemented by a pointer to a struct of settings. If an error of Validate begins
// with a key, as in `ui.theme = "pink": …`, the key's line is added.
type Validator interface{ Validate() error }

// A ConflictError is an error of Validate about two keys. There is "" if the other key is
// not in the configuration.
type ConflictError interface {
	error
	Keys() (here, there string)
}

// An ItemError is an error of Validate about one of a list of tables, such as [[hooks]].
type ItemError interface {
	error
	Item() (list string, n int, key string) // n from 1; key, in the table, is "" for all of it
}

// Limits of a configuration: the decoder's time grows with the square of the
// nesting depth.
const (
	maxConfig = 1 << 20 // bytes
	maxDepth  = 500     // nesting of tables
)

// checkBounds refuses text made only to keep the program busy.
func checkBounds(text string) error {
	if len(text) > maxConfig {
		return fmt.Errorf(" it has more than %d MiB", maxConfig>>20)
	}
	braces, dots, number := 0, 0, 1
	for _, c := range text {
		switch c {
		case '{':
			braces++
		case '}':
			braces--
		case '.':
			dots++
		case '\n':
			number++
			dots = 0
		case '=', ' ': // the key has ended, or this is not a key
			dots = 0
		}
		if max(braces, dots) > maxDepth {
			return fmt.Errorf("%d: tables in one another, more than %d", number, maxDepth)
		}
	}
	return nil
}

// Decode decodes TOML into cfg, strictly, and validates it. Errors begin with
// the line, or a space if there is none, to follow "file:"; an unknown key is
// reported with the nearest known one.
func Decode(text string, cfg Validator) error {
	text = strings.TrimPrefix(text, "\ufeff")
	if err := checkBounds(text); err != nil {
		return err
	}
	meta, err := toml.Decode(text, cfg)
	var parse toml.ParseError
	if errors.As(err, &parse) {
		message := parse.Message
		if _, err := toml.Decode(text, &map[string]any{}); err != nil { // not valid TOML
			message = withoutValues(message)
		}
		return fmt.Errorf("%d:%d: %s", parse.Position.Line, parse.Position.Col, message)
	}
	if err != nil {
		return mismatch(err)
	}
	for _, key := range meta.Keys() { // the decoder skips values that should be tables
		if isUserTable(reflect.TypeOf(cfg), key) && meta.Type(key...) != "Hash" {
			return fmt.Errorf("%d: %s has to be a table", line(text, key), key)
		}
	}
	for _, key := range meta.Undecoded() {
		known := keysAt(reflect.TypeOf(cfg), key[:len(key)-1])
		for known == nil && len(key) > 1 { // inside an unknown table
			key = key[:len(key)-1]
			known = keysAt(reflect.TypeOf(cfg), key[:len(key)-1])
		}
		name := key[len(key)-1]
		if slices.Contains(known, name) {
			continue // its content is reported
		}
		problem := fmt.Sprintf("%d: unknown key %q", line(text, key), key.String())
		switch tables := tablesWith(reflect.TypeOf(cfg), name); {
		case len(tables) == 1 && tables[0] == "":
			return fmt.Errorf("%s: %s goes above the first [table]", problem, name)
		case len(tables) == 1:
			return fmt.Errorf("%s: %s goes into [%s]", problem, name, tables[0])
		}
		if near := similar.Name(name, known); near != "" {
			return fmt.Errorf("%s: did you mean %q?", problem, near)
		}
		return fmt.Errorf("%s: there are %s", problem, strings.Join(known, ", "))
	}
	return withLine(text, cfg.Validate())
}

// mismatches matches the decoder's errors about values of the wrong type.
var mismatches = lazy.NewRegexp(`^toml: (?:line (\d+) )?\(last key "(.+)"\): (?:incompatible types: TOML value has type (.+); destination has type (.+)|type mismatch for .+: expected (table) but found (.+))$`)

// typeWord returns the user's word for a type in the decoder's errors.
func typeWord(name string) string {
	switch name {
	case "string", "primitive (string-like)":
		return "text"
	case "integer":
		return "a whole number"
	case "int64", "float":
		return "a number"
	case "float64":
		return "a decimal number"
	case "boolean":
		return "true or false"
	case "bool":
		return "a boolean"
	case "slice", "[]any":
		return "a list"
	case "[]map[string]any":
		return "a list of tables"
	case "map", "table", "map[string]any":
		return "a table"
	case "time.Time":
		return "a date"
	}
	return name
}

// mismatch converts a decoder error without a line of TOML into words for the user.
func mismatch(err error) error {
	m := mismatches.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf(" %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	found, wanted := m[3]+m[6], m[4]+m[5]
	line := " "
	if m[1] != "" {
		line = m[1] + ": "
	}
	return fmt.Errorf("%s%s has to be %s, and is %s", line, m[2], typeWord(wanted), typeWord(found))
}

// quotedValues matches the decoder's quotations of a text.
var quotedValues = lazy.NewRegexp(`(?s)(Key )?("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|^\S+ is out of)`)

// withoutValues returns the decoder's message about invalid TOML without its quotations:
// a key whose quotes were forgotten must not appear in an error. Names, characters and
// escapes stay.
func withoutValues(message string) string {
	if strings.HasPrefix(message, "expected value but found ") {
		return "expected a value; text stands in quotes"
	}
	return quotedValues.ReplaceAllStringFunc(message, func(quoted string) string {
		const character = len("'\\x'")
		switch {
		case strings.HasPrefix(quoted, "Key "), len(quoted) <= character:
			return quoted
		case strings.HasSuffix(quoted, " is out of"):
			return "a number is out of"
		}
		return "…"
	})
}

// withLine returns err with the line of the key at its beginning.
func withLine(text string, err error) error {
	if err == nil {
		return nil
	}
	var item ItemError
	if errors.As(err, &item) {
		if line, known := lineOfItem(text, item); known {
			return fmt.Errorf("%d: %w", line, err)
		}
		return fmt.Errorf(" %w", err)
	}
	name := leadingKey.FindString(err.Error())
	var clash ConflictError
	there := ""
	if errors.As(err, &clash) {
		name, there = clash.Keys()
	}
	line, known := lineOf(text, name)
	for at := strings.LastIndexByte(name, '.'); !known && at > 0; at = strings.LastIndexByte(name, '.') {
		name = name[:at] // a key without a line of its own is on that of its table
		line, known = lineOf(text, name)
	}
	switch other, also := lineOf(text, there); {
	case !known:
		return fmt.Errorf(" %w", err)
	case also:
		return fmt.Errorf("%d: %w, in line %d", line, err, other)
	}
	return fmt.Errorf("%d: %w", line, err)
}

// lineOfItem returns the line of a key in one of a list of tables; that of the table if the key
// has no line of its own, and that of the list if its tables do not.
func lineOfItem(text string, err ItemError) (line int, ok bool) {
	list, n, key := err.Item()
	table := 0 // its line
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		head, isHead := strings.CutPrefix(line, "[")
		name, _, pair := strings.Cut(line, "=")
		switch {
		case isHead && table > 0:
			return table, true
		case isHead && strings.HasPrefix(head, "["):
			if head, _, _ = strings.Cut(head[1:], "]"); strings.TrimSpace(head) != list {
				continue
			}
			if n--; n == 0 {
				table = i + 1
			}
		case pair && table > 0 && key != "" && strings.TrimSpace(name) == key:
			return i + 1, true
		}
	}
	if table > 0 {
		return table, true
	}
	return lineOf(text, list)
}

// leadingKey matches the key at the beginning of an error, as in `ui.theme = "pink": …`.
var leadingKey = lazy.NewRegexp(`^[A-Za-z0-9_.-]+`)

// typeAt returns the type at path in t; nil if there is none.
func typeAt(t reflect.Type, path []string) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(path) == 0:
		return t
	case t.Kind() == reflect.Map:
		return typeAt(t.Elem(), path[1:])
	case t.Kind() == reflect.Slice: // a list of tables, which have no names
		return typeAt(t.Elem(), path)
	case t.Kind() != reflect.Struct:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("toml") == path[0] {
			return typeAt(f.Type, path[1:])
		}
	}
	return nil
}

// isUserTable reports whether path is a table with names chosen by the user.
func isUserTable(t reflect.Type, path []string) bool {
	t = typeAt(t, path)
	return t != nil && t.Kind() == reflect.Map
}

// keysAt lists the keys allowed in the table at path; nil if there is no such
// table.
func keysAt(t reflect.Type, path []string) (keys []string) {
	if t = typeAt(t, path); t != nil && t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag := f.Tag.Get("toml"); tag != "" && tag != "-" {
			keys = append(keys, tag)
		}
	}
	return keys
}

// tablesWith returns the tables of t that have a key, without those in tables; "" for t itself.
func tablesWith(t reflect.Type, key string) (tables []string) {
	for _, table := range append([]string{""}, keysAt(t, nil)...) {
		var path []string
		if table != "" {
			path = append(path, table)
		}
		if in := typeAt(t, path); in != nil && in.Kind() == reflect.Struct && slices.Contains(keysAt(t, path), key) {
			tables = append(tables, table)
		}
	}
	return tables
}

// lineOf finds the first line of key, or of a key in it, which the decoder does
// not report.
func lineOf(text, key string) (line int, ok bool) {
	if key == "" {
		return 0, false
	}
	holds := func(name string) bool { return name == key || strings.HasPrefix(name, key+".") }
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table, _, _ = strings.Cut(strings.TrimLeft(line, "[ "), "]")
			table = strings.TrimSpace(table)
			if holds(table) {
				return i + 1, true
			}
			continue
		}
		name, _, pair := strings.Cut(line, "=")
		if pair && holds(strings.Trim(table+"."+strings.TrimSpace(name), ".")) {
			return i + 1, true
		}
	}
	return 0, false
}

// line returns the line of key, or the first line.
func line(text string, key toml.Key) int {
	n, _ := lineOf(text, key.String())
	return max(n, 1)
}
