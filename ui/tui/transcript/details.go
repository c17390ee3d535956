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
)

// A detailPart is one part of a block, whole: an argument, an output, a diff.
type detailPart struct {
	title string
	text  string
	diff  bool
	file  string // that a diff begins with
	noun  string // in words, to be copied
}

func (b *detailPart) render(p renderContext) (sign string, lines []string) {
	if b.title != "" {
		lines = append(lines, p.styler.apply(roleStrong, textwrap.Truncate(b.title, p.width)))
	}
	if b.diff {
		d := readDiff(b.text)
		if d.file == "" {
			d.file = b.file
		}
		return "", append(lines, d.render(p)...)
	}
	rows, _ := wrapText(b.text, p.width, 0)
	return "", append(lines, p.styler.applyAll(roleText, rows)...)
}

func (b *detailPart) source() (text, what string) { return b.text, b.noun }

func (b *detailPart) texts(to []string) []string { return append(to, b.title, b.text) }

// maxPartBytes sets how much of a text is put on one sheet; the next one goes on with
// it, so that a long output is laid out as far as it is looked at.
const maxPartBytes = 16 << 10

// splitParts cuts a text at line ends.
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

// diffParts cuts a diff at line ends. What is inside of a hunk there goes on
// with a header of its own, which has the numbers that are left.
func diffParts(text string) (all []*detailPart) {
	title, header, file, next := "diff", "", "", ""
	from, at, lines := 0, 0, 0 // of the sheet: where it begins, and ends so far
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

// detailParts returns all that is known of a block.
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

// argumentParts returns each argument of a call a sheet, in their order: text as it
// will be read, the rest as JSON. What is not a whole object stays as it is.
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

// A detailView view is a conversation of its own, of the sheets of one block.
type detailView struct {
	*Model
	item  *item
	stale bool // of has changed
}

// pagerKeys lists the keys in it.
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
	"/":     func(m *Model) tea.Cmd { m.beginSearch(); return nil },
	"n":     func(m *Model) tea.Cmd { m.nextMatch(1); return nil },
	"N":     func(m *Model) tea.Cmd { m.nextMatch(-1); return nil },
}

// openDetails shows all of the block under the cursor, in place of the rest.
func (m *Model) openDetails() {
	d := &detailView{Model: New(m.theme), item: m.items[m.cursor], stale: true}
	d.Now, d.styler, d.width, d.height, d.openOutput = m.Now, m.styler, m.width, m.height, true
	m.details = d
	d.refresh()
	d.Top()
}

// closeDetails goes back to where the reader was.
func (m *Model) closeDetails() {
	m.details, m.dirty = nil, true
}

// refresh shows what is known by now.
func (d *detailView) refresh() {
	if !d.stale {
		return
	}
	d.stale = false
	all := detailParts(d.item.block)
	for i, s := range all {
		if i == len(d.items) {
			d.addItem(kindNote, "", s)
			d.items[i].continuesPrevious = s.title == ""
			continue
		}
		if it := d.items[i]; *it.block.(*detailPart) != *s {
			it.block, it.continuesPrevious = s, s.title == ""
			d.itemChanged(it)
		}
	}
	for len(d.items) > len(all) {
		d.removeItem(len(d.items) - 1)
	}
	d.clampTop()
}

// updateDetails handles a key while details are shown.
func (m *Model) updateDetails(msg tea.Msg) tea.Cmd {
	d := m.details
	key, isKey := msg.(tea.KeyPressMsg)
	if !isKey || d.typing {
		return d.Update(msg)
	}
	switch name := key.String(); {
	case name == "esc" && d.searching:
		d.endSearch()
	case slices.Contains([]string{"esc", "q", "enter", "i"}, name):
		m.closeDetails()
	case name == "y":
		return m.copySelected()
	case pagerKeys[name] != nil && len(d.items) > 0:
		return pagerKeys[name](d.Model)
	}
	return nil
}
