package plain

import (
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/blocks"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/plain/console"
)

// readBack repeats the last prompts and their answers: arg is their number, "all", or "" for one.
func (t *transcript) readBack(arg string) {
	most, err := strconv.Atoi(arg)
	path := t.app.Session.Path()
	switch {
	case len(path) == 0:
		t.writeLine("The conversation is empty.")
		return
	case arg == "all":
		most = len(path)
	case arg == "":
		most = 1
	case err != nil || most < 1:
		t.writeLine("/read and a number, or all.")
		return
	}
	from := len(path)
	for i := len(path) - 1; i >= 0 && most > 0; i-- {
		if from = i; path[i].Role == llm.RoleUser {
			most--
		}
	}
	t.readPath(path[from:])
}

// readPath writes the messages of path and the events between them.
func (t *transcript) readPath(path []session.Node) {
	old := &turn{transcript: t}
	blocks.Replay(t.app.Session, path, 0, len(path), nil, func(c blocks.Change) {
		switch c.Kind {
		case blocks.ThinkingBlock:
		case blocks.SummaryBlock:
			t.writeLine("Summary of earlier messages:")
			t.writeText(c.Whole)
		case blocks.ToolBlock:
			t.storedCall(c)
		case blocks.EventBlock, blocks.RetryBlock:
			if c.Op != blocks.Dropped && !c.Implied {
				t.event(c.Event)
			}
		default:
			old.change(c)
		}
	})
}

// writeText writes a complete Markdown text.
func (t *transcript) writeText(text string) {
	var all console.Markdown
	t.out.Text(all.Add(text, t.now()) + all.End(t.now()))
	t.out.End()
}

// storedCall writes a tool call of an earlier turn, or its result.
func (t *transcript) storedCall(c blocks.Change) {
	switch e := c.Event.(type) {
	case nil:
		if c.Op == blocks.Opened {
			t.writeLine("Tool %s.", callText(c.Tool.Name, c.Tool.Input))
		}
	case session.Opinion:
		t.opinion(e)
	case session.Result:
		t.output = &result{e.Part.Name, e.Part.Text}
		if c.Tool.Status == blocks.CallLost {
			t.writeLine("%s: %s", c.Tool.Name, e.Part.Text)
			return
		}
		t.writeLine("%s answered %s.", c.Tool.Name, format.Plural(lines(e.Part.Text), "line"))
	}
}

// endedEarly reports whether path ends with a note that its last turn did not finish.
func endedEarly(s *session.Session, path []session.Node) bool {
	return slices.ContainsFunc(s.Annotations(path)[len(path)], func(a session.Annotation) bool {
		_, ok := session.DecodeAnnotation(a).(session.Done)
		return ok
	})
}

// allOutput writes the complete output of the last tool.
func (t *transcript) allOutput() {
	if t.output == nil {
		t.writeLine("No tool has run yet.")
		return
	}
	t.writeLine("Output of %s, %s:", t.output.name, format.Plural(lines(t.output.text), "line"))
	t.out.Block(t.output.text)
	t.writeLine("End of output.")
}

// copy copies the last answer to the clipboard, or its last code block if arg is "code".
func (t *transcript) copy(arg string) {
	text, what := "", "answer"
	back, _ := strconv.Atoi(arg)
	for _, n := range slices.Backward(t.app.Session.Path()) {
		if n.Role != llm.RoleAssistant || n.Summary {
			continue
		}
		text = n.Text()
		if arg == "code" {
			found := markdown.Fenced(text)
			if text, what = "", "code"; len(found) > 0 {
				text = found[len(found)-1].Text
			}
		}
		if strings.TrimSpace(text) != "" {
			if back--; back <= 0 {
				break
			}
			text = ""
		}
	}
	if strings.TrimSpace(text) == "" {
		t.writeLine("No %s to copy.", what)
		return
	}
	t.deps.copy(text, what, func() {})
}
