package tools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"parley/tools/act"
	"strings"
)

// editTool changes part of a file.
const editTool = "edit"

type editArgs struct {
	Path string `json:"path" jsonschema:"the file, relative to the workspace"`
	Old  string `json:"old" jsonschema:"text to replace, exactly as it is in the file, with enough lines around it to occur once"`
	New  string `json:"new" jsonschema:"text to put in its place"`
	All  bool   `json:"all,omitempty" jsonschema:"replace every occurrence"`
}

func init() {
	register(editTool, planEdit)
}

func planEdit(ctx context.Context, w *workspace, args editArgs) (*act.Action, error) {
	file, err := w.locate(args.Path)
	if err != nil {
		return nil, err
	}
	if w.isVacant(file) {
		return nil, refuse("%v; to create a file use write", w.explainAbsent(file, fs.ErrNotExist))
	}
	before, info, err := w.readChangeable(ctx, file)
	if err != nil {
		return nil, err
	}
	after, n, err := replaceText(string(before), args.Old, args.New, args.All)
	if err != nil {
		return nil, refuse("%s: %v", quotePath(file), err)
	}
	if len(after) > maxEdit {
		return nil, refuse("%s would be larger than %d MiB", quotePath(file), maxEdit>>20)
	}
	title := "edit " + quotePath(file)
	if n > 1 {
		title += fmt.Sprintf(" (%d places)", n)
	}
	c := fileChange{file: file, content: []byte(after), old: info, sum: sha256.Sum256(before)}
	return w.writeAction(c, before, title, ""), nil
}

// replaceText replaces old, which must occur exactly once in text unless all is
// set, by new and counts the replacements. All other bytes stay the same. Text
// with CRLF line ends is matched as if it had LF, as read shows it, and new gets
// the line ends of its place. A missing newline at the end and a byte order mark
// are handled the same way.
func replaceText(text, old, new string, all bool) (string, int, error) {
	old, new = strings.TrimPrefix(old, string(bom)), strings.TrimPrefix(new, string(bom))
	if old == "" {
		return "", 0, fmt.Errorf("old is empty; give the text to replace, or use write for the whole file")
	}
	if old == new {
		return "", 0, fmt.Errorf("old and new are the same; nothing would change")
	}
	if strings.Contains(old, "\r\n") && !strings.Contains(text, old) {
		old, new = toLF(old), toLF(new) // the file keeps its own line ends
	}
	t := editTarget{text: text}
	places := t.findSpans(old, all)
	if len(places) == 0 {
		if stem, ok := strings.CutSuffix(old, "\n"); ok && stem != "" && t.endsWith(stem) {
			new = strings.TrimSuffix(new, "\n")
			places = []span{{len(text) - t.rawLength(stem), len(text)}}
		}
	}
	switch {
	case len(places) == 0:
		return "", 0, t.notFoundError(old)
	case len(places) > 1 && !all, len(places) == maxSpans:
		return "", 0, t.ambiguousError(places)
	}
	var out strings.Builder
	done := 0
	for _, p := range places {
		out.WriteString(text[done:p.start])
		out.WriteString(t.withLineEnds(p, new))
		done = p.end
	}
	out.WriteString(text[done:])
	if out.String() == text {
		return "", 0, fmt.Errorf("nothing would change")
	}
	return out.String(), len(places), nil
}
