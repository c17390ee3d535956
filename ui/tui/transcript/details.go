package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/diff"
	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/tui/diffview"
)

// A detailPart is one part of a block in the details view: an argument, an output, a diff.
type detailPart struct {
	title string
	text  string
	diff  bool
	file  string // file of the first lines of the diff, if it has no header
	noun  string // kind of the text, for the user who copies it
}

func (b *detailPart) render(p renderContext) (sign string, lines []string) {
	if b.title != "" {
		lines = append(lines, p.styler.apply(roleStrong, textwrap.Truncate(b.title, p.width)))
	}
	if b.diff {
		d := diffview.Read(b.text, maxDiffLines)
		if d.File == "" {
			d.File = b.file
		}
		return "", append(lines, p.renderDiff(&d)...)
	}
	rows, _ := wrapText(b.text, p.width, 0)
	return "", append(lines, p.styler.applyAll(roleText, rows)...)
}

func (b *detailPart) source() (text, what string) { return b.text, b.noun }

func (b *detailPart) texts(to []string) []string { return append(to, b.title, b.text) }

// maxPartBytes is the maximum size of a detailPart, in bytes. Longer texts are split, so that
// only the visible parts are rendered.
const maxPartBytes = 16 << 10

// splitParts splits a text at line ends. Only the first part has the title.
func splitParts(title, body, what string) (all []*detailPart) {
	for {
		cut := len(body)
		if len(body) > maxPartBytes {
			if n := strings.IndexByte(body[maxPartBytes:], '\n'); n >= 0 {
				cut = maxPartBytes + n
			}
		}
		all = append(all, &detailPart{title: title, text: body[:cut], noun: what})
		if cut == len(body) {
			return all
		}
		title, body = "", body[cut+1:]
	}
}

// diffParts splits a diff at line ends. The rest of a split hunk gets its own header, with
// the numbers of the remaining lines.
func diffParts(text string) (all []*detailPart) {
	title, header, file, next := "diff", "", "", ""
	from, at, lines := 0, 0, 0 // of the part: its beginning, its end so far, and its number of lines
	var r diff.Reader
	end := func() {
		all = append(all, &detailPart{title: title, text: header + text[from:at], diff: true, file: file, noun: "diff"})
		title, header, file = "", r.Rest()+"\n", next
		from, lines = at, 0
	}
	for line := range strings.Lines(text) {
		if r.Inside() && (at-from > maxPartBytes || lines > maxDiffLines/2) {
			end()
		}
		next = cmp.Or(r.Read(strings.TrimSuffix(line, "\n")).File, next)
		at, lines = at+len(line), lines+1
	}
	end()
	return all
}

// detailParts returns all parts of a block.
func detailParts(b block) []*detailPart {
	switch b := b.(type) {
	case *call:
		return b.detailParts()
	case *group:
		return b.detailParts()
	}
	text, what := b.source()
	return splitParts(what, strings.TrimRight(text, "\n"), what)
}

func (b *call) detailParts() []*detailPart {
	all := splitParts(strings.TrimSpace(b.tool.Name+"  "+b.status(time.Time{})), b.tool.Title, "call")
	all = append(all, argumentParts(b.received.Input)...)
	if b.tool.Diff != "" {
		all = append(all, diffParts(b.tool.Diff)...)
	}
	if output := b.tool.Output; output != "" {
		return append(all, splitParts("output", output, "output")...)
	}
	if len(b.live) > 0 {
		all = append(all, splitParts("output", strings.TrimRight(string(b.live), "\n"), "output")...)
	}
	return all
}

// argumentParts returns a part for each argument of a call, in order: a string as text, other
// values as JSON. Input that is not a complete object is one part.
func argumentParts(input string) (all []*detailPart) {
	d := json.NewDecoder(strings.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return rawParts(input)
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return rawParts(input)
		}
		body := ""
		if json.Unmarshal(value, &body) != nil {
			body = string(value)
		}
		key, _ := name.(string)
		all = append(all, splitParts(sanitize.Line(key), strings.TrimRight(sanitize.Text(body), "\n"), "argument")...)
	}
	if _, err := d.Token(); err != nil {
		return rawParts(input)
	}
	return all
}

func rawParts(input string) []*detailPart {
	if input == "" {
		return nil
	}
	return splitParts("arguments", sanitize.Text(input), "arguments")
}

// A detailView shows the parts of one block in a Model of its own.
type detailView struct {
	model *Model
	item  *item
	stale bool // item has changed since the last refresh
}

// pagerKeys maps keys to actions in the details view.
var pagerKeys = map[string]func(*Model) tea.Cmd{
	"j":     func(m *Model) tea.Cmd { m.Scroll(1); return nil },
	"k":     func(m *Model) tea.Cmd { m.Scroll(-1); return nil },
	"down":  func(m *Model) tea.Cmd { m.Scroll(1); return nil },
	"up":    func(m *Model) tea.Cmd { m.Scroll(-1); return nil },
	"d":     func(m *Model) tea.Cmd { m.Page(0.5); return nil },
	"u":     func(m *Model) tea.Cmd { m.Page(-0.5); return nil },
	"space": func(m *Model) tea.Cmd { m.Page(1); return nil },
	"g":     func(m *Model) tea.Cmd { m.Top(); return nil },
	"G":     func(m *Model) tea.Cmd { m.Bottom(); return nil },
	"/":     func(m *Model) tea.Cmd { m.search.beginSearch(); return nil },
	"n":     func(m *Model) tea.Cmd { m.search.nextMatch(1); return nil },
	"N":     func(m *Model) tea.Cmd { m.search.nextMatch(-1); return nil },
}

// openDetails shows all parts of the block under the cursor in place of the conversation.
func (m *Model) openDetails() { m.openItem(m.Blocks.items[m.browser.cursor]) }

// openCode shows the source of the selected code block, and reports whether one is selected.
func (m *Model) openCode() bool {
	codes := m.window.codeBlocks(m.Blocks.items[m.browser.cursor])
	i := m.browser.code
	if i < 0 || i >= len(codes) {
		return false
	}
	m.openItem(&item{block: &detailPart{text: strings.TrimRight(codes[i].Text, "\n"), noun: "code"}})
	return true
}

func (m *Model) openItem(it *item) {
	d := &detailView{model: New(m.window.theme), item: it, stale: true}
	d.model.Now, d.model.window.styler, d.model.window.width, d.model.window.height, d.model.window.openOutput = m.Now, m.window.styler, m.window.width, m.window.height, true
	m.details = d
	d.refresh()
	d.model.Top()
}

// closeDetails returns to the conversation, at the position before.
func (m *Model) closeDetails() {
	m.details, m.window.dirty = nil, true
}

// refresh updates the parts, if the block has changed.
func (d *detailView) refresh() {
	if !d.stale {
		return
	}
	d.stale = false
	all := detailParts(d.item.block)
	for i, s := range all {
		if i == len(d.model.Blocks.items) {
			d.model.Blocks.addItem(kindNote, "", s)
			d.model.Blocks.items[i].continuesPrevious = s.title == ""
			continue
		}
		if it := d.model.Blocks.items[i]; *it.block.(*detailPart) != *s {
			it.block, it.continuesPrevious = s, s.title == ""
			d.model.itemChanged(it)
		}
	}
	for len(d.model.Blocks.items) > len(all) {
		d.model.removeItem(len(d.model.Blocks.items) - 1)
	}
	d.model.window.clampTop()
}

// updateDetails handles a key while details are shown.
func (m *Model) updateDetails(msg tea.Msg) tea.Cmd {
	d := m.details
	key, isKey := msg.(tea.KeyPressMsg)
	if !isKey || d.model.search.typing {
		return d.model.Update(msg)
	}
	switch name := key.String(); {
	case name == "esc" && d.model.window.searching:
		d.model.search.endSearch()
	case slices.Contains([]string{"esc", "q", "enter", "i"}, name):
		m.closeDetails()
	case name == "y":
		if code, ok := d.item.block.(*detailPart); ok {
			return copyCmd(code.source())
		}
		return m.browser.copySelected()
	case pagerKeys[name] != nil && len(d.model.Blocks.items) > 0:
		return pagerKeys[name](d.model)
	}
	return nil
}
