// Package config reads configuration as people write it: TOML, strictly, and
// within bounds. What it finds wrong it names by line, and an unknown key with the
// known one that it was probably meant to be.
//
//	text ──► bounds ──► decoder ──► keys nobody knows ──► Validate ──► Settings
//
// It knows no setting itself: each package owns its part of the struct, with toml
// tags, and says in Validate what cannot be meant. No error repeats a value that
// the package did not choose to show, for a value may be a key.
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

// Validator is implemented by a pointer to a struct of settings. An error of Validate that begins
// with a key, as in `ui.theme = "pink": …`, is told with the key's line.
type Validator interface{ Validate() error }

// A ConflictError is an error of Validate about two keys. There is "" if the other one is
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

// Limits of a configuration: the decoder takes time with the square of how
// deep it goes.
const (
	maxConfig = 1 << 20 // bytes
	maxDepth  = 500     // tables in one another
)

// checkBounds refuses text that only somebody who wants to keep the program busy
// writes.
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
		case '=', ' ': // a key has ended, or it is no key
			dots = 0
		}
		if max(braces, dots) > maxDepth {
			return fmt.Errorf("%d: tables in one another, more than %d", number, maxDepth)
		}
	}
	return nil
}

// Decode reads TOML into cfg, strictly, and has it validate itself. Errors begin
// with the line, or a space if there is none, to follow "file:"; an
// unknown key comes with the nearest known one.
func Decode(text string, cfg Validator) error {
	text = strings.TrimPrefix(text, "\ufeff")
	if err := checkBounds(text); err != nil {
		return err
	}
	meta, err := toml.Decode(text, cfg)
	var parse toml.ParseError
	if errors.As(err, &parse) {
		message := parse.Message
		if _, err := toml.Decode(text, &map[string]any{}); err != nil { // it is no TOML at all
			message = withoutValues(message)
		}
		return fmt.Errorf("%d:%d: %s", parse.Position.Line, parse.Position.Col, message)
	}
	if err != nil {
		return mismatch(err)
	}
	for _, key := range meta.Keys() { // the decoder leaves out what is no table and should be one
		if isUserTable(reflect.TypeOf(cfg), key) && meta.Type(key...) != "Hash" {
			return fmt.Errorf("%d: %s has to be a table", line(text, key), key)
		}
	}
	for _, key := range meta.Undecoded() {
		known := keysAt(reflect.TypeOf(cfg), key[:len(key)-1])
		for known == nil && len(key) > 1 { // inside a table that is itself unknown
			key = key[:len(key)-1]
			known = keysAt(reflect.TypeOf(cfg), key[:len(key)-1])
		}
		name := key[len(key)-1]
		if known == nil || slices.Contains(known, name) {
			continue // what is in it is told
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

// mismatches matches what the decoder says of a value of another type than its key has.
var mismatches = lazy.NewRegexp(`^toml: (?:line (\d+) )?\(last key "(.+)"\): (?:incompatible types: TOML value has type (.+); destination has type (.+)|type mismatch for .+: expected (table) but found (.+))$`)

// typeWord returns what users call a type of values in the decoder's errors.
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

// mismatch returns an error of the decoder that is about no line of TOML, in words for the user.
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

// quotedValues holds what the decoder quotes of a text.
var quotedValues = lazy.NewRegexp(`(?s)(Key )?("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|^\S+ is out of)`)

// withoutValues returns what the decoder has to say about a text that is no TOML, without
// what it quotes of it: a key whose own quotes were forgotten is no secret any more
// once it stands in an error. Names, characters and escapes stay.
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

// withLine returns err with the line of the key that it begins with.
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
		name = name[:at] // what is not on a line of its own is on that of its table
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

// lineOfItem returns the line of a key in one of a list of tables; that of the table if the key is
// not on one of its own, and that of the list if its tables are not.
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

// leadingKey holds the key that an error begins with, as in `ui.theme = "pink": …`.
var leadingKey = lazy.NewRegexp(`^[A-Za-z0-9_.-]+`)

// typeAt returns what stands at path in t; nil if there is nothing of that name.
func typeAt(t reflect.Type, path []string) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(path) == 0:
		return t
	case t.Kind() == reflect.Map:
		return typeAt(t.Elem(), path[1:])
	case t.Kind() == reflect.Slice: // of tables, which have no names
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

// isUserTable reports whether what stands at path is a table with names of the user's
// own.
func isUserTable(t reflect.Type, path []string) bool {
	t = typeAt(t, path)
	return t != nil && t.Kind() == reflect.Map
}

// keysAt lists the keys that the table at path may hold; nil if there is no
// such table.
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

// lineOf finds the first line of key, or of what is in it, which the decoder does
// not tell.
func lineOf(text, key string) (line int, ok bool) {
	if key == "" {
		return 0, false
	}
	holds := func(name string) bool { return name == key || strings.HasPrefix(name, key+".") }
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[] ")
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

// line returns where key is, or the first line.
func line(text string, key toml.Key) int {
	n, _ := lineOf(text, key.String())
	return max(n, 1)
}
