package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
)

// A sheet is one part of a block, whole: an argument, an output, a diff.
type sheet struct {
	title string
	text  string
	diff  bool
	file  string // that a diff begins with
	what  string // in words, to be copied
}

func (b *sheet) lay(p page) (sign string, lines []string) {
	if b.title != "" {
		lines = append(lines, p.ink.write(strong, clip(b.title, p.width)))
	}
	if b.diff {
		d := readDiff(b.text)
		if d.file == "" {
			d.file = b.file
		}
		return "", append(lines, d.lay(p)...)
	}
	rows, _ := flow(b.text, p.width, 0)
	return "", append(lines, p.ink.all(text, rows)...)
}

func (b *sheet) source() (text, what string) { return b.text, b.what }

func (b *sheet) texts(to []string) []string { return append(to, b.title, b.text) }

// sheetAt sets how much of a text is put on one sheet; the next one goes on with
// it, so that a long output is laid out as far as it is looked at.
const sheetAt = 16 << 10

// sheets cuts a text at line ends.
func sheets(title, body, what string) (all []*sheet) {
	for {
		cut := len(body)
		if len(body) > sheetAt {
			if n := strings.IndexByte(body[sheetAt:], '\n'); n >= 0 {
				cut = sheetAt + n
			}
		}
		all = append(all, &sheet{title: title, text: body[:cut], what: what})
		if cut == len(body) {
			return all
		}
		title, body = "", body[cut+1:]
	}
}

// diffSheets cuts a diff at line ends. What is inside of a hunk there goes on
// with a header of its own, which has the numbers that are left.
func diffSheets(diff string) (all []*sheet) {
	title, header, file, next := "diff", "", "", ""
	from, at, lines := 0, 0, 0 // of the sheet: where it begins, and ends so far
	var was, is, oldLeft, newLeft int
	end := func() {
		all = append(all, &sheet{title: title, text: header + diff[from:at], diff: true, file: file, what: "diff"})
		title, header, file = "", fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", was, oldLeft, is, newLeft), next
		from, lines = at, 0
	}
	for line := range strings.Lines(diff) {
		bare := strings.TrimSuffix(line, "\n")
		if oldLeft <= 0 && newLeft <= 0 {
			if a, b, ok := hunk(bare); ok {
				was, oldLeft, is, newLeft = a[0], a[1], b[0], b[1]
			} else if name, ok := strings.CutPrefix(bare, "+++ "); ok {
				next = fileName(name, "b/")
			}
			at, lines = at+len(line), lines+1
			continue
		}
		if at-from > sheetAt || lines > keepChanges/2 {
			end()
		}
		c := inHunk(bare, was, is)
		if c.sign == '-' || c.sign == ' ' {
			was, oldLeft = was+1, oldLeft-1
		}
		if c.sign == '+' || c.sign == ' ' {
			is, newLeft = is+1, newLeft-1
		}
		at, lines = at+len(line), lines+1
	}
	end()
	return all
}

// whole returns all that is known of a block.
func whole(b block) []*sheet {
	switch b := b.(type) {
	case *call:
		return b.whole()
	case *group:
		return b.whole()
	}
	text, what := b.source()
	return sheets(what, strings.TrimRight(text, "\n"), what)
}

func (b *call) whole() []*sheet {
	all := sheets(strings.TrimSpace(b.tool.Name+"  "+b.state(time.Time{})), b.tool.Title, "call")
	all = append(all, arguments(b.raw.Input)...)
	if b.tool.Diff != "" {
		all = append(all, diffSheets(b.tool.Diff)...)
	}
	if output := b.tool.Output; output != "" {
		return append(all, sheets("output", output, "output")...)
	}
	if len(b.live) > 0 {
		all = append(all, sheets("output", strings.TrimRight(string(b.live), "\n"), "output")...)
	}
	return all
}

// arguments returns each argument of a call a sheet, in their order: text as it
// will be read, the rest as JSON. What is not a whole object stays as it is.
func arguments(input string) (all []*sheet) {
	d := json.NewDecoder(strings.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return raw(input)
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return raw(input)
		}
		body := ""
		if json.Unmarshal(value, &body) != nil {
			body = string(value)
		}
		key, _ := name.(string)
		all = append(all, sheets(sanitize.Line(key), strings.TrimRight(sanitize.Text(body), "\n"), "argument")...)
	}
	if _, err := d.Token(); err != nil {
		return raw(input)
	}
	return all
}

func raw(input string) []*sheet {
	if input == "" {
		return nil
	}
	return sheets("arguments", sanitize.Text(input), "arguments")
}

// A details view is a conversation of its own, of the sheets of one block.
type details struct {
	Model
	of    *item
	stale bool // of has changed
}

// pager lists the keys in it.
var pager = map[string]func(*Model) tea.Cmd{
	"j":     func(m *Model) tea.Cmd { m.Scroll(1); return nil },
	"k":     func(m *Model) tea.Cmd { m.Scroll(-1); return nil },
	"down":  func(m *Model) tea.Cmd { m.Scroll(1); return nil },
	"up":    func(m *Model) tea.Cmd { m.Scroll(-1); return nil },
	"d":     func(m *Model) tea.Cmd { m.Page(0.5); return nil },
	"u":     func(m *Model) tea.Cmd { m.Page(-0.5); return nil },
	"space": func(m *Model) tea.Cmd { m.Page(1); return nil },
	"g":     func(m *Model) tea.Cmd { m.Top(); return nil },
	"G":     func(m *Model) tea.Cmd { m.Bottom(); return nil },
	"/":     func(m *Model) tea.Cmd { m.beginSearch(); return nil },
	"n":     func(m *Model) tea.Cmd { m.again(1); return nil },
	"N":     func(m *Model) tea.Cmd { m.again(-1); return nil },
}

// openDetails shows all of the block under the cursor, in place of the rest.
func (m *Model) openDetails() {
	d := &details{of: m.items[m.cursor], stale: true}
	d.Now, d.theme, d.ink, d.width, d.height, d.openOutput = m.Now, m.theme, m.ink, m.width, m.height, true
	d.Clear()
	m.details = d
	d.refresh()
	d.Top()
}

// closeDetails goes back to where the reader was.
func (m *Model) closeDetails() {
	m.details, m.dirty = nil, true
}

// refresh shows what is known by now.
func (d *details) refresh() {
	if !d.stale {
		return
	}
	d.stale = false
	all := whole(d.of.block)
	for i, s := range all {
		if i == len(d.items) {
			d.add(aNote, "", s)
			d.items[i].joined = s.title == ""
			continue
		}
		if it := d.items[i]; *it.block.(*sheet) != *s {
			it.block, it.joined = s, s.title == ""
			d.touch(it)
		}
	}
	for len(d.items) > len(all) {
		d.remove(len(d.items) - 1)
	}
	d.settle()
}

// pressInDetails handles a key while details are shown.
func (m *Model) pressInDetails(msg tea.Msg) tea.Cmd {
	d := m.details
	key, isKey := msg.(tea.KeyPressMsg)
	if !isKey || d.search.typing {
		return d.Update(msg)
	}
	switch name := key.String(); {
	case name == "esc" && d.search.on:
		d.endSearch()
	case slices.Contains([]string{"esc", "q", "enter", "i"}, name):
		m.closeDetails()
	case name == "y":
		return m.copyBlock()
	case pager[name] != nil && len(d.items) > 0:
		return pager[name](&d.Model)
	}
	return nil
}
