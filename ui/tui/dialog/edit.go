package dialog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/tools/sanitize"
)

// startEdit puts the command into the editor if the arguments have it under one
// name, else all arguments as JSON.
func (a *Approval) startEdit() {
	a.sizeEditor()
	a.fault, a.edited = "", ""
	value := ""
	if name, ok := commandName(a.action); ok {
		a.edited, value = name, a.action.Command
		a.Editor.SetValue(value)
	}
	if a.edited == "" || a.Editor.Value() != value {
		a.edited, value = "", indented(a.action.Input)
		a.Editor.SetValue(value)
	}
	if a.Editor.Value() == value {
		a.state = editing
	}
}

// commandName returns the name of the argument that is the command.
func commandName(a *tools.Action) (name string, ok bool) {
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

// indented returns input for editing, its members in their order. What is no JSON
// stays as it is.
func indented(input json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, input, "", "  ") != nil {
		return string(input)
	}
	return out.String()
}

// edit returns keys to the editor; enter answers with what it holds, if it is good.
// That is another action, which the session asks about anew.
func (a *Approval) edit(msg tea.Msg) tea.Cmd {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		if matchesKey(key, a.Keys.Accept) {
			input, err := Arguments(a.action, a.edited, a.Editor.Value())
			if err != nil {
				a.fault = sanitize.Line(err.Error())
				return nil
			}
			return a.reply(tools.Approval{Verdict: tools.Allow, Input: input})
		}
		if matchesKey(key, a.Keys.Close) {
			a.state = reviewing
			return nil
		}
	}
	a.fault = ""
	return a.Editor.Update(msg)
}

// Arguments returns the arguments of a as compact JSON, with what was written in the
// place of the one called name, or of all of them if name is "".
func Arguments(a *tools.Action, name, written string) (string, error) {
	if name == "" {
		args, err := object(json.RawMessage(written))
		if err != nil {
			return "", fmt.Errorf("the arguments are no JSON object: %w", err)
		}
		if args == nil {
			return "", errors.New("the arguments are no JSON object: null")
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

// asWritten returns v as JSON in which && stays &&: a model reads it.
func asWritten(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

func (a *Approval) viewEdit() string {
	foot := a.keyHint(a.theme.Dim, firstKey(a.Keys.Accept), "use this", firstKey(a.Keys.Close), "back")
	if a.fault != "" {
		foot = a.keyHint(a.theme.Bad, a.fault, "")
	}
	title := "Edit the arguments"
	if a.edited != "" {
		title = "Edit the " + sanitize.Line(a.edited)
	}
	rows := strings.Split(a.Editor.View(), "\n")
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, a.width, "") // an editor may need a cell more than there is
	}
	return frame(a.Height(), a.titleLine(title, a.Workspace), rows, foot)
}
