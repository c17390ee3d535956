package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/tools/act"
	"parley/tools/lazy"
)

// Editable returns the part of the arguments that a user edits. If one argument is
// the command, it returns its name and value; else the name "" and all arguments as
// JSON. See Arguments.
func Editable(a *act.Action) (name, text string) {
	if a.Proposal != "" {
		return "text", a.Proposal
	}
	if name, ok := commandName(a); ok {
		return name, a.Command
	}
	return "", Indented(a.Input)
}

// commandName returns the name of the argument that holds the command.
func commandName(a *act.Action) (name string, ok bool) {
	args, err := object(a.Input)
	if err != nil || a.Command == "" {
		return "", false
	}
	for k, v := range args {
		var s string
		if json.Unmarshal(v, &s) != nil || s != a.Command {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = k, true
	}
	return name, ok
}

// Arguments returns the arguments of a as compact JSON. written replaces the
// argument called name, or all arguments if name is "".
func Arguments(a *act.Action, name, written string) (string, error) {
	if name == "" {
		args, err := object(json.RawMessage(written))
		if err != nil {
			return "", fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
		if args == nil {
			return "", errors.New("the arguments are not a JSON object: null")
		}
		var out bytes.Buffer
		err = json.Compact(&out, []byte(written))
		return out.String(), err
	}
	if strings.TrimSpace(written) == "" {
		return "", fmt.Errorf("the argument %q is empty", name)
	}
	args, err := object(a.Input)
	if err != nil {
		return "", err
	}
	if args[name], err = asWritten(written); err != nil {
		return "", err
	}
	out, err := asWritten(args)
	return string(out), err
}

func object(input json.RawMessage) (map[string]json.RawMessage, error) {
	var args map[string]json.RawMessage
	err := json.Unmarshal(input, &args)
	return args, err
}

// Indented returns input indented for editing, with its members in order. Invalid
// JSON is returned unchanged.
func Indented(input json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, input, "", "  ") != nil {
		return string(input)
	}
	return out.String()
}

const maxOneLine = 60 // maximum bytes of an array or object shown on one line

// listed returns arguments for display, sorted by name, as "name: value" lines. Values
// are in JSON, so that none can be mistaken for another argument.
func listed(args map[string]json.RawMessage) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value, err := asWritten(args[name])
		if long := len(value) > maxOneLine && (value[0] == '{' || value[0] == '['); err != nil || long {
			value = []byte(pretty(args[name]))
		}
		if !plainName.MatchString(name) {
			name = pretty(name)
		}
		lines = append(lines, name+": "+string(value))
	}
	return strings.Join(lines, "\n")
}

// plainName matches argument names that need no quotes.
var plainName = lazy.NewRegexp(`^[\w.-]+$`)

// pretty returns v as indented JSON for display, with < > & unescaped.
func pretty(v any) string {
	text, err := asWritten(v)
	if err != nil {
		return err.Error()
	}
	return Indented(text)
}

// asWritten returns v as JSON for a model, with < > & unescaped.
func asWritten(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
