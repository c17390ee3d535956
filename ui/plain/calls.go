package plain

import (
	"encoding/json"
	"strings"

	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app/blocks"
	"parley/ui/describe"
	"parley/ui/format"
)

// writeDecision writes whether a call was allowed.
func (t *transcript) writeDecision(tool *blocks.Tool) {
	denied := tool.Status == blocks.CallDenied
	switch {
	case tool.Name == "":
	case tool.Name == act.AskTool && !denied: // the question follows
	case denied && tool.Name == act.PlanTool:
		t.writeLine("Not accepted: the model keeps planning.")
	case denied && tool.Asked:
		t.writeLine("Not run.")
	case denied:
		t.writeLine("Not allowed to run %s.", callText(tool.Name, tool.Input))
	case tool.Asked:
		t.writeLine("Running…")
	default:
		t.writeLine("Running %s.", callText(tool.Name, tool.Input))
	}
}

// writeResult writes how a call ended and the beginning of its output. It omits the output of a
// call that ran without a question. stopped reports that the user stopped the turn.
func (t *transcript) writeResult(tool *blocks.Tool, r session.Result, stopped bool) {
	done, outputSize := "Done in "+length(r.Duration), format.Plural(lines(r.Part.Text), "line")+" of output"
	switch {
	case stopped && r.Part.Failed && !tool.Ran:
		return
	case stopped && r.Part.Failed:
		done = "Stopped after " + length(r.Duration)
	case r.Part.Failed && !tool.Ran: // the call was invalid
		t.writeLine("A call to %s failed: %s", tool.Name, truncate(r.Part.Text, 300))
		return
	case r.Part.Failed:
		done = "Failed after " + length(r.Duration)
	}
	if r.By != "" {
		done += ", " + r.By
	}
	if tool.Parallel {
		done = tool.Name + ": " + strings.ToLower(done[:1]) + done[1:]
	}
	switch {
	case r.Diff != "" && !r.Part.Failed:
		t.writeChange(done, r.Diff, tool.Asked)
	default:
		t.writeLine("%s: %s.", done, outputSize)
		if tool.Asked || tool.Live || r.Part.Failed {
			t.writeFirstLines(r.Part.Text)
		}
	}
}

// opinion writes the answer of another model.
func (t *transcript) opinion(e session.Opinion) {
	t.output = &result{e.Model, e.Answer}
	t.writeLine("%s was asked: %s", e.By, sentence(oneLine(e.Question)))
	t.writeText(e.Answer)
}

// writeChange writes how a file changed, line by line unless the user already heard the diff in the question.
func (t *transcript) writeChange(done, diff string, heard bool) {
	changes, added, removed := describe.DiffWords(diff)
	t.writeLine("%s: %s added, %d removed.", done, format.Plural(added, "line"), removed)
	if !heard {
		t.out.Block(strings.Join(changes, "\n"))
	}
}

// writeFirstLines writes the first lines of an output, truncated.
func (t *transcript) writeFirstLines(text string) {
	const most, wide = 5, 400
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, line := range all[:min(len(all), most)] {
		t.writeLine("  %s", sanitize.Truncate(line, wide))
	}
	if more := len(all) - most; more > 0 {
		t.writeLine("And %s more: /output reads it all.", format.Plural(more, "line"))
	}
}

// callText returns a call as one line: the tool and its most informative argument.
func callText(tool, input string) string {
	const most = 200
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return strings.TrimSpace(tool + " " + truncate(input, most))
	}
	for _, arg := range []string{"command", "path", "url", "pattern", "query", "question", "task"} {
		if text, ok := args[arg].(string); ok && text != "" && text != "." {
			return tool + ": " + truncate(text, most)
		}
	}
	if len(args) == 0 || len(args) == 1 && args["path"] == "." {
		return tool
	}
	return tool + ": " + truncate(input, most)
}
