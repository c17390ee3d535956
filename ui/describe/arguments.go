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

// Editable returns what a user edits of the arguments: the command, if one argument
// is that, by its name, else all of them as JSON, by the name "". See Arguments.
func Editable(a *act.Action) (name, text string) {
	if a.Proposal != "" {
		return "text", a.Proposal
	}
	if name, ok := commandName(a); ok {
		return name, a.Command
	}
	return "", Indented(a.Input)
}

// commandName returns the name of the argument that is the command.
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

// Arguments returns the arguments of a as compact JSON, with what was written in the
// place of the one called name, or of all of them if name is "".
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

// Indented returns input for editing, its members in their order. What is no JSON
// stays as it is.
func Indented(input json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, input, "", "  ") != nil {
		return string(input)
	}
	return out.String()
}

const maxOneLine = 60 // bytes of an array or object that is shown on one line

// listed returns arguments for reading, sorted by their names: name: value, in JSON, so
// that no value can pass for another argument.
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

// plainName matches names of arguments that need no quotes.
var plainName = lazy.NewRegexp(`^[\w.-]+$`)

// pretty returns JSON for reading: Indented, and with < > & as they are.
func pretty(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// asWritten returns v as JSON in which && stays &&: a model reads it.
func asWritten(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
