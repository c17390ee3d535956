package plain

import (
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/ui/format"
	"parley/ui/tui/dialog"
)

// A call is one call of a tool.
type call struct {
	part    llm.Part
	asked   bool // a person was, and heard all of it
	denied  bool
	running bool
	live    bool // it had output before it ended
	beside  bool // others ran at the same time
}

// A result is what a tool answered.
type result struct{ name, text string }

// decided says what becomes of a call.
func (p *front) decided(t *turn, d session.Decision) {
	c := t.calls[d.ID]
	if c == nil {
		return
	}
	switch {
	case d.Verdict == tools.Deny && c.asked:
		c.denied = true
		p.say("Not run.")
		return
	case d.Verdict == tools.Deny:
		c.denied = true
		p.say("Not allowed to run %s.", callText(c.part))
		return
	case c.asked:
		p.say("Running…")
	default:
		p.say("Running %s.", callText(c.part))
	}
	c.running = true
	if t.running++; t.running > 1 {
		for _, other := range t.calls {
			other.beside = other.beside || other.running
		}
	}
	t.do("running "+c.part.Name, p.now())
}

// result says how a call ended, and as much of its output as is not known.
func (p *front) result(t *turn, r session.Result) {
	p.output = &result{r.Part.Name, r.Part.Text}
	c := t.calls[r.Part.ID]
	if c == nil || c.denied {
		return
	}
	ran := c.running
	if c.running = false; ran {
		t.running--
	}
	if t.running == 0 {
		t.doing = ""
	}
	done, several := "Done in "+length(r.Duration), format.Plural(lines(r.Part.Text), "line")+" of output"
	switch {
	case t.stopped && r.Part.Failed && !ran:
		return
	case t.stopped && r.Part.Failed:
		done = "Stopped after " + length(r.Duration)
	case r.Part.Failed && !ran: // it was no call that could run
		p.say("A call of %s failed: %s", c.part.Name, glance(r.Part.Text, 300))
		return
	case r.Part.Failed:
		done = "Failed after " + length(r.Duration)
	}
	if c.beside {
		done = c.part.Name + ": " + strings.ToLower(done[:1]) + done[1:]
	}
	switch {
	case r.Diff != "" && !r.Part.Failed:
		p.change(done, r.Diff, c.asked)
	case c.asked || c.live || r.Part.Failed:
		p.say("%s: %s.", done, several)
		p.beginning(r.Part.Text)
	default:
		p.say("%s: %s.", done, several)
	}
}

// change says how a file changed: line by line, unless the person heard it with
// the question.
func (p *front) change(done, diff string, heard bool) {
	var added, removed int
	told := dialog.DescribeDiff(diff)
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
func callText(part llm.Part) string {
	const most = 200
	var args map[string]any
	if json.Unmarshal([]byte(part.Input), &args) != nil {
		return strings.TrimSpace(part.Name + " " + glance(part.Input, most))
	}
	for _, name := range []string{"command", "path", "url", "pattern", "query"} {
		if text, ok := args[name].(string); ok && text != "" && text != "." {
			return part.Name + ": " + glance(text, most)
		}
	}
	if len(args) == 0 || len(args) == 1 && args["path"] == "." {
		return part.Name
	}
	return part.Name + ": " + glance(part.Input, most)
}
