package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"parley/session"
	"parley/tools/act"
	"parley/tools/diff"
	"parley/tools/sanitize"
	"parley/ui/app/blocks"
	"parley/ui/describe"
)

// livePart is how many bytes at the end of a running tool's output are sent again with each piece.
const livePart = 4 << 10

// tool sends an update for a call.
func (v *view) tool(c blocks.Change) {
	v.last = nil
	id, sent := sdk.ToolCallId(c.ID), v.calls[c.ID]
	if c.Tool == nil { // live output of a known call
		if sent == nil {
			return
		}
		sent.output = string(new(sanitize.Stream).Append([]byte(sent.output), c.Text))
		if over := len(sent.output) - livePart; over > 0 {
			sent.output = strings.ToValidUTF8(sent.output[over:], "")
		}
		v.send(sdk.UpdateToolCall(id, sdk.WithUpdateContent(textContent(sent.output))))
		return
	}
	t, status := c.Tool, statusOf(c.Tool.Status)
	if _, ok := c.Event.(session.Call); ok {
		status = sdk.ToolCallStatusPending // no decision yet
	}
	if _, ok := c.Event.(session.ApprovalRequest); ok {
		v.asked = id
	}
	started := sent == nil
	if !started && status == sent.status && (c.Event == nil || t.Status < blocks.CallDone && t.Input == sent.input) {
		return // more of its arguments, or nothing new for the client
	}
	name, kind, places, args := title(t), kindOf(t.Name), v.locations(t.Input), rawInput(t.Input)
	if started {
		sent = &sentCall{}
		v.calls[c.ID] = sent
		v.send(sdk.StartToolCall(id, name, sdk.WithStartKind(kind), sdk.WithStartStatus(status), sdk.WithStartLocations(places), sdk.WithStartRawInput(args)))
	}
	sent.status, sent.input = status, ""
	if c.Event != nil {
		sent.input = t.Input
	}
	update := sdk.SessionToolCallUpdate{ToolCallId: id, Status: &status, Title: &name, Kind: &kind, Locations: places, RawInput: args}
	if t.Status >= blocks.CallDone {
		if update.Content = v.diffs(t.Diff); len(update.Content) == 0 {
			update.Content = textContent(t.Output)
		}
	}
	if !started || t.Status >= blocks.CallDone {
		v.send(sdk.SessionUpdate{ToolCallUpdate: &update})
	}
	if t.Name == act.PlanTool && t.Status == blocks.CallDone {
		if plan := planOf(t.Input); len(plan) > 0 {
			v.send(sdk.UpdatePlan(plan...))
		}
	}
}

func statusOf(s blocks.CallStatus) sdk.ToolCallStatus {
	switch s {
	case blocks.CallArriving, blocks.CallAsking:
		return sdk.ToolCallStatusPending
	case blocks.CallRunning:
		return sdk.ToolCallStatusInProgress
	case blocks.CallDone:
		return sdk.ToolCallStatusCompleted
	}
	return sdk.ToolCallStatusFailed // ACP has no status for denied, canceled or lost calls; their text explains it
}

// kindOf returns the kind of a tool, for the client's icon.
func kindOf(tool string) sdk.ToolKind {
	return sdk.ToolKind(cmp.Or(act.FactsOf(tool).Kind, string(sdk.ToolKindOther)))
}

// title describes a call in one line.
func title(t *blocks.Tool) string {
	const most = 200 // characters
	var args map[string]any
	text := t.Name
	if json.Unmarshal([]byte(t.Input), &args) == nil {
		for _, name := range []string{"command", "path", "url", "pattern", "query", "question", "task"} {
			if value, ok := args[name].(string); ok && value != "" {
				if text = t.Name + " " + value; name == "command" {
					text = value
				}
				break
			}
		}
	}
	return sanitize.Truncate(sanitize.Line(strings.TrimSuffix(text+" · "+t.By, " · ")), most)
}

// locations returns the file that a call concerns. It ignores a name with invisible characters.
func (v *view) locations(input string) []sdk.ToolCallLocation {
	var args struct {
		Path   string
		Offset int
	}
	if json.Unmarshal([]byte(input), &args) != nil || args.Path == "" || sanitize.Line(args.Path) != args.Path {
		return nil
	}
	l := sdk.ToolCallLocation{Path: v.absolute(args.Path)}
	if args.Offset > 0 {
		l.Line = &args.Offset
	}
	return []sdk.ToolCallLocation{l}
}

func (v *view) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(v.folder, path)
}

// rawInput returns the arguments of a call for the client to show; nil while they are incomplete.
func rawInput(input string) any {
	d := json.NewDecoder(strings.NewReader(input))
	d.UseNumber()
	var args any
	if d.Decode(&args) != nil {
		return nil
	}
	return printable(args)
}

// printable sanitizes all strings of a JSON value.
func printable(value any) any {
	switch value := value.(type) {
	case string:
		return sanitize.Text(value)
	case []any:
		for i := range value {
			value[i] = printable(value[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(value))
		for name, v := range value {
			clean[sanitize.Line(name)] = printable(v)
		}
		return clean
	}
	return value
}

// textContent returns the output of a tool; nil if it is blank.
func textContent(text string) []sdk.ToolCallContent {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(codeBlock(sanitize.Text(text))))}
}

// codeBlock returns text as a code block. Clients render Markdown, which hides comments and link
// definitions and fetches images.
func codeBlock(text string) string {
	longest := 2
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	marks := strings.Repeat("`", longest+1)
	return marks + "\n" + strings.TrimSuffix(text, "\n") + "\n" + marks
}

// diffs converts a unified diff of one file to the client's form: old and new text for each changed
// piece with the lines around it. A new file has no old text. Line ends are included only if they
// change or differ from the others.
func (v *view) diffs(unified string) (list []sdk.ToolCallContent) {
	var file string
	var before, after bytes.Buffer
	created, crlf := false, hasCRLF(unified)
	shown := func(line diff.Line) string {
		text := line.Text()
		if crlf {
			text = strings.TrimSuffix(text, "\r")
		}
		return describe.Reveal(text) + "\n"
	}
	flush := func() {
		if before.Len() == 0 && after.Len() == 0 {
			return
		}
		d := sdk.ToolDiffContent(v.absolute(sanitize.Line(file)), after.String())
		if !created {
			d.Diff.OldText = sdk.Ptr(before.String())
		}
		list = append(list, d)
		before.Reset()
		after.Reset()
	}
	for line := range diff.Lines(unified) {
		switch line.Kind {
		case diff.OldName:
			flush()
			created = strings.HasPrefix(line.Raw, "--- /dev/null")
		case diff.NewName:
			file = line.File
		case diff.Hunk:
			flush()
		case diff.Removed:
			before.WriteString(shown(line))
		case diff.Added:
			after.WriteString(shown(line))
		case diff.Context:
			before.WriteString(shown(line))
			after.WriteString(shown(line))
		}
	}
	flush()
	return list
}

// hasCRLF reports whether all terminated lines of a diff end in CRLF.
func hasCRLF(unified string) bool {
	all, last := true, true
	for line := range diff.Lines(unified) {
		switch line.Kind {
		case diff.Added, diff.Removed, diff.Context:
			all, last = all && last, strings.HasSuffix(line.Raw, "\r")
		case diff.Note:
			last = true // the previous line has no newline
		}
	}
	return all && last
}
