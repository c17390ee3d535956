package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/docs"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/dialog"
	"parley/ui/uitest"
)

// tableOf returns rows as a table in Markdown; cells are not escaped.
func tableOf(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// cell returns text as a cell, escaping bars, which would end it, and brackets, which would begin a tag.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "$", `\$`).Replace(text)
}

// codes returns each text as code.
func codes(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
	}
	return strings.Join(quoted, ", ")
}

// keySeparator matches the separators between keys in a row of the help.
var keySeparator = regexp.MustCompile(`, | / `)

// splitKeys returns the keys in a row of the help.
func splitKeys(keys string) []string {
	first, last, ok := strings.Cut(keys, "–")
	if !ok {
		return keySeparator.Split(keys, -1)
	}
	var all []string
	for key := first[0]; key <= last[0]; key++ {
		all = append(all, string(key))
	}
	return all
}

// keyCells returns the keys of a row of the help as code: those of one action separated
// by commas, and those of different actions by a slash.
func keyCells(keys string) string {
	if strings.Contains(keys, "–") {
		return "`" + strings.Replace(keys, "–", "` … `", 1) + "`"
	}
	var actions []string
	for one := range strings.SplitSeq(keys, " / ") {
		actions = append(actions, codes(strings.Split(one, ", ")))
	}
	return strings.Join(actions, " / ")
}

// screenSections returns the help's sections of keys without a command, preceded by the second
// keys of commands, which the help does not list.
func screenSections() []dialog.Section {
	keys := newKeymap(nil, flows.Commands())
	var out []dialog.Section
	for _, s := range keys.bindings() {
		own := dialog.Section{Title: s.Title}
		for _, row := range s.Rows {
			if !slices.ContainsFunc(keys.actions, func(a action) bool {
				return len(a.Keys) > 0 && row[0] == strings.Join(a.Keys, ", ") && row[1] == a.Help
			}) {
				own.Rows = append(own.Rows, row)
			}
		}
		if s.Title == string(app.Messages) {
			own.Title = "Input"
			for _, a := range keys.actions {
				if a.second {
					own.Rows = append(own.Rows, [2]string{strings.Join(a.Keys, ", "), a.Help})
				}
			}
		}
		if len(own.Rows) > 0 {
			out = append(out, own)
		}
	}
	return out
}

// commandTables returns the commands of the screen in Markdown, a table for each group.
func commandTables() string {
	var b strings.Builder
	for _, group := range app.Groups {
		var rows [][]string
		for _, a := range actions(flows.Commands()) {
			if a.Group != group || a.second {
				continue
			}
			called := "/" + a.Name
			if a.Arg != "" {
				called += " " + a.Arg
			}
			names := []string{called}
			for _, alias := range a.Aliases {
				names = append(names, "/"+alias)
			}
			keys := ""
			if len(a.Keys) > 0 {
				keys = codes(a.Keys)
			}
			rows = append(rows, []string{codes(names), keys, cell(a.Help)})
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n", group, tableOf([]string{"Command", "Keys", "What it does"}, rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// keyTables returns the keys without a command, in Markdown.
func keyTables() string {
	var b strings.Builder
	for _, s := range screenSections() {
		var rows [][]string
		for _, row := range s.Rows {
			rows = append(rows, []string{keyCells(row[0]), cell(strings.ToUpper(row[1][:1]) + row[1][1:])})
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n", s.Title, tableOf([]string{"Keys", "What they do"}, rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestManual verifies that the tables of the page about the chat match the program. The
// flag -update writes them.
func TestManual(t *testing.T) {
	t.Parallel()
	uitest.GeneratedDoc(t, "chat", "commands", commandTables())
	uitest.GeneratedDoc(t, "chat", "keys", keyTables())
	chat := uitest.ReadDoc(t, "chat")
	for _, c := range flows.Commands() {
		if !strings.Contains(chat, "/"+c.Name) || !strings.Contains(chat, cell(c.Help)) {
			t.Errorf("docs/chat.md has no /%s: %s", c.Name, c.Help)
		}
	}
}

// codeSpan matches code within a line.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// keyRange matches the first and the last of several keys.
var keyRange = regexp.MustCompile("`(.)` … `(.)`")

// cellKeys returns the keys in a cell.
func cellKeys(cell string) (keys []string) {
	if m := keyRange.FindStringSubmatch(cell); m != nil {
		return splitKeys(m[1] + "–" + m[2])
	}
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		keys = append(keys, m[1])
	}
	return keys
}

// chordSpan matches code that can only be a key.
var chordSpan = regexp.MustCompile(`^(?:(?:ctrl|alt|shift)\+\S+(?: \S+)?|f[0-9]+|esc(?: esc)?|tab|enter|pgup|pgdown|backspace)$`)

// TestManualNamesKeysThatAreBound verifies that each key on a page is bound, and that the tables
// of the page about the chat contain all keys.
func TestManualNamesKeysThatAreBound(t *testing.T) {
	t.Parallel()
	bound := map[string]bool{}
	for _, a := range newKeymap(nil, flows.Commands()).actions {
		for _, key := range a.Keys {
			bound[key] = true
		}
	}
	keys := newKeymap(nil, flows.Commands())
	for _, s := range keys.bindings() {
		for _, row := range s.Rows {
			for _, key := range splitKeys(row[0]) {
				bound[key] = true
			}
		}
	}
	named := map[string]bool{}
	column := -1 // column of the keys in the current table
	for _, line := range strings.Split(uitest.ReadDoc(t, "chat"), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			column = -1
		case column < 0:
			column = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "Keys" })
			if column < 0 {
				t.Fatalf("docs/chat.md has a table without keys: %s", line)
			}
		default:
			for _, key := range cellKeys(cells[column]) {
				named[key] = true
				if !bound[key] {
					t.Errorf("docs/chat.md names %q, which is not bound", key)
				}
			}
		}
	}
	for _, page := range docs.Pages() {
		for _, m := range codeSpan.FindAllStringSubmatch(page.Text, -1) {
			if !bound[m[1]] && !keys.leaders[m[1]] && chordSpan.MatchString(m[1]) {
				t.Errorf("docs/%s.md names %q, which is not bound", page.Name, m[1])
			}
		}
	}
	for key := range bound {
		if !named[key] {
			t.Errorf("docs/chat.md does not name %q", key)
		}
	}
}

// slashes matches commands in code, or at the start of a line of code.
var slashes = regexp.MustCompile("(?m)(?:^|`)/([a-z][a-z-]*)(?: [^`\\n]*)?(?:`|$)")

// TestManualNamesCommandsThatExist verifies that each /command on a page is a command of the
// screen, a command of plain lines, which the page about accessibility lists, or a prompt of
// an example.
func TestManualNamesCommandsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"review": true, "tests": true} // prompts of examples
	for _, a := range actions(flows.Commands()) {
		for _, name := range a.Names() {
			known[name] = true
		}
	}
	_, plain, _ := strings.Cut(uitest.ReadDoc(t, "accessibility"), "<!-- begin commands -->")
	plain, _, _ = strings.Cut(plain, "<!-- end commands -->")
	for _, m := range slashes.FindAllStringSubmatch(plain, -1) {
		known[m[1]] = true
	}
	n := 0
	for _, page := range docs.Pages() {
		if page.Name == "architecture" { // for developers
			continue
		}
		for _, m := range slashes.FindAllStringSubmatch(page.Text, -1) {
			if n++; !known[m[1]] {
				t.Errorf("docs/%s.md names /%s, which is no command", page.Name, m[1])
			}
		}
	}
	t.Logf("%d commands named", n)
}
