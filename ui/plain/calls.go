package plain

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/session"
	"parley/ui/app"
	"parley/ui/describe"
	"parley/ui/format"
)

// A result is what a tool answered.
type result struct{ name, text string }

// tool says what becomes of a call.
func (t *turn) tool(c app.Change) {
	p := t.front
	switch e := c.Event.(type) {
	case nil:
		t.endThought()
		if c.Tool != nil && c.Tool.Remote {
			i := slices.IndexFunc(t.remote, func(r *called) bool { return r.id == c.ID })
			if i < 0 {
				i = len(t.remote)
				t.remote = append(t.remote, &called{id: c.ID})
			}
			t.remote[i].tool = c.Tool
		}
	case session.Decision:
		p.decided(c.Tool)
	case session.Result:
		p.output = &result{e.Part.Name, e.Part.Text}
		if c.Tool.Name != "" && c.Tool.Status != app.CallDenied {
			t.result(c.Tool, e)
		}
	}
}

// decided says what becomes of a call that was decided about.
func (p *front) decided(tool *app.Tool) {
	denied := tool.Status == app.CallDenied
	switch {
	case tool.Name == "":
	case denied && tool.Asked:
		p.say("Not run.")
	case denied:
		p.say("Not allowed to run %s.", callText(tool.Name, tool.Input))
	case tool.Asked:
		p.say("Running…")
	default:
		p.say("Running %s.", callText(tool.Name, tool.Input))
	}
}

// result says how a call ended, and as much of its output as is not known.
func (t *turn) result(tool *app.Tool, r session.Result) {
	p := t.front
	done, several := "Done in "+length(r.Duration), format.Plural(lines(r.Part.Text), "line")+" of output"
	switch {
	case t.stopped && r.Part.Failed && !tool.Ran:
		return
	case t.stopped && r.Part.Failed:
		done = "Stopped after " + length(r.Duration)
	case r.Part.Failed && !tool.Ran: // it was no call that could run
		p.say("A call of %s failed: %s", tool.Name, glance(r.Part.Text, 300))
		return
	case r.Part.Failed:
		done = "Failed after " + length(r.Duration)
	}
	if tool.Parallel {
		done = tool.Name + ": " + strings.ToLower(done[:1]) + done[1:]
	}
	switch {
	case r.Diff != "" && !r.Part.Failed:
		p.change(done, r.Diff, tool.Asked)
	case tool.Asked || tool.Live || r.Part.Failed:
		p.say("%s: %s.", done, several)
		p.beginning(r.Part.Text)
	default:
		p.say("%s: %s.", done, several)
	}
}

// change says how a file changed: line by line, unless the user heard it with
// the question.
func (p *front) change(done, diff string, heard bool) {
	var added, removed int
	told := describe.DiffWords(diff)
	for _, line := range told {
		if strings.HasPrefix(line, "added line") {
			added++
		} else if strings.HasPrefix(line, "removed line") {
			removed++
		}
	}
	p.say("%s: %s added, %d removed.", done, format.Plural(added, "line"), removed)
	if !heard {
		p.block(strings.Join(told, "\n"))
	}
}

// beginning reads the first lines of an output.
func (p *front) beginning(text string) {
	const most, wide = 5, 400
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, line := range all[:min(len(all), most)] {
		if r := []rune(line); len(r) > wide {
			line = string(r[:wide]) + "…"
		}
		p.say("  %s", line)
	}
	if more := len(all) - most; more > 0 {
		p.say("And %s more: /output reads all of it.", format.Plural(more, "line"))
	}
}

// callText is a call in a line.
func callText(tool, input string) string {
	const most = 200
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return strings.TrimSpace(tool + " " + glance(input, most))
	}
	for _, arg := range []string{"command", "path", "url", "pattern", "query"} {
		if text, ok := args[arg].(string); ok && text != "" && text != "." {
			return tool + ": " + glance(text, most)
		}
	}
	if len(args) == 0 || len(args) == 1 && args["path"] == "." {
		return tool
	}
	return tool + ": " + glance(input, most)
}
