// go test ./ui/cli ./ui/tui ./ui/plain -run TestManual -update writes parts of the manual. Read the diff of docs.

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/providers/llm"
	"parley/ui/app/wording"
	"parley/ui/cli/exit"
	"parley/ui/textwrap"
	"parley/ui/uitest"
)

// TestManual checks that the lists in the manual match the program. The flag -update rewrites them.
func TestManual(t *testing.T) {
	root := manualRoot(newProgram())
	for _, s := range []struct{ page, name, text string }{
		{"providers", "abilities", abilityTable()},
		{"providers", "addresses", addressTable()},
		{"connect", "clouds", cloudTable()},
		{"connect", "local", localTable()},
		{"connect", "programs", programTable()},
		{"media", "images", imageTable()},
		{"media", "videos", videoTable()},
		{"media", "embeddings", embeddingTable()},
		{"scripts", "events", eventSections(t)},
		{"scripts", "statuses", statusTable()},
		{"configuration", "settings", settingSections(t)},
		{"commands", "commands", commandSections(root)},
		{"troubleshooting", "errors", errorTable()},
	} {
		uitest.GeneratedDoc(t, s.page, s.name, s.text)
	}
}

// manualRoot returns the complete command line of a program.
func manualRoot(a *program) *cobra.Command {
	root := a.rootCommand(nil)
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	eachCommand(root, func(c *cobra.Command) { c.InitDefaultHelpFlag() })
	return root
}

// markdownTable writes a table; it does not escape cells.
func markdownTable(head []string, rows [][]string) string {
	var b strings.Builder
	for _, row := range slices.Concat([][]string{head, slices.Repeat([]string{"---"}, len(head))}, rows) {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// escapeCell escapes text for a cell, where a bar would end the cell and a dollar start a formula.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "$", `\$`, "<", `\<`, "*", `\*`, "_", `\_`).Replace(text)
}

// inCode returns texts as code, separated by commas.
func inCode(texts ...string) string {
	var quoted []string
	for _, text := range texts {
		if text != "" {
			quoted = append(quoted, "`"+strings.ReplaceAll(text, "|", `\|`)+"`")
		}
	}
	return cmp.Or(strings.Join(quoted, ", "), "–")
}

// statusTable lists the exit statuses.
func statusTable() string {
	var rows [][]string
	for _, s := range exit.Statuses {
		rows = append(rows, []string{s.Status, escapeCell(s.Means)})
	}
	return markdownTable([]string{"Status", "What it means"}, rows)
}

// faults lists the faults of models.
var faults = []llm.Fault{
	llm.Quota, llm.RateLimit, llm.Authentication, llm.Permission, llm.ModelNotFound, llm.InvalidRequest, llm.ContextOverflow,
	llm.ContentFilter, llm.Network, llm.Server, llm.Unsupported, llm.Mismatch, llm.Unknown,
}

// TestFaults checks that faults is complete, and that the manual has a section for each.
func TestFaults(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "../../providers/llm/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Fault" {
			word, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if !slices.Contains(faults, llm.Fault(word)) {
				t.Errorf("faults has no %q", word)
			}
		}
		return true
	})
	page := uitest.ReadDoc(t, "troubleshooting")
	for _, f := range faults {
		if !strings.Contains(page, "\n### "+wording.Fault(f)+"\n") {
			t.Errorf("docs/troubleshooting.md has no section %q", wording.Fault(f))
		}
	}
}

// errorTable lists the faults with their category for scripts, their text on the screen and their exit status.
func errorTable() string {
	var rows [][]string
	for _, f := range faults {
		status := exit.Of(&llm.Error{Fault: f})
		rows = append(rows, []string{inCode(string(f)), wording.Fault(f), strconv.Itoa(status)})
	}
	return markdownTable([]string{"Category", "On the screen", "Status"}, rows)
}

// commandSections describes all commands of the command line.
func commandSections(root *cobra.Command) string {
	var b strings.Builder
	eachCommand(root, func(c *cobra.Command) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", c.CommandPath(), manualProse(cmp.Or(c.Long, strings.TrimSuffix(c.Short, ".")+".")))
		if c.Runnable() {
			fmt.Fprintf(&b, "```\n%s\n```\n", c.UseLine())
		} else {
			fmt.Fprintf(&b, "```\n%s COMMAND\n```\n", c.CommandPath())
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", unindent(c.Example))
		}
		if rows := flagRows(c.NonInheritedFlags()); len(rows) > 0 {
			b.WriteString("\n" + markdownTable([]string{"Flag", "What it does"}, rows))
		}
	})
	return b.String()
}

// manualProse returns the description of a command as Markdown, with indented lines as code.
func manualProse(text string) string {
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, block := range blocks {
		if strings.HasPrefix(block, "  ") || strings.HasPrefix(block, "\t") {
			blocks[i] = "```\n" + unindent(block) + "\n```"
			continue
		}
		blocks[i] = strings.NewReplacer("<", `\<`, "*", `\*`).Replace(block)
	}
	return strings.Join(blocks, "\n\n")
}

// unindent removes the common indentation of lines.
func unindent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	least := -1
	for _, line := range lines {
		if n := len(line) - len(strings.TrimLeft(line, " \t")); strings.TrimSpace(line) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(len(line), max(least, 0)):], " ")
	}
	return strings.Join(lines, "\n")
}

// flagRows lists flags except --help, which all commands have.
func flagRows(set *pflag.FlagSet) (rows [][]string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if value != "" && f.NoOptDefVal != "" {
			name += "[=" + value + "]"
		} else if value != "" {
			name += " " + value
		}
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			usage += " (default " + d + ")"
		}
		rows = append(rows, []string{inCode(name), escapeCell(usage)})
	})
	return rows
}

// An eventSchema is the part of docs/events.schema.json that the manual shows.
type eventSchema struct {
	Ref         string                     `json:"$ref"`
	Description string                     `json:"description"`
	Type        string                     `json:"type"`
	Const       json.RawMessage            `json:"const"`
	Enum        []string                   `json:"enum"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	OneOf       []eventSchema              `json:"oneOf"`
	Defs        map[string]json.RawMessage `json:"$defs"`
}

// readSchema decodes a schema and returns the names of its properties in order.
func readSchema(t *testing.T, data []byte) (s eventSchema, names []string) {
	t.Helper()
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(data, &whole); err != nil || whole.Properties == nil {
		return s, nil
	}
	d := json.NewDecoder(strings.NewReader(string(whole.Properties)))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return s, names
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if name, ok := token.(string); ok && depth == 1 {
				names = append(names, name)
				var skip json.RawMessage
				if err := d.Decode(&skip); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// eventSections describes all events of -o jsonl, and the object of -o json.
func eventSections(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := readSchema(t, data)
	var b strings.Builder
	write := func(name, heading string) {
		s, names := readSchema(t, schema.Defs[name])
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", heading, escapeCell(s.Description))
		var rows [][]string
		for _, field := range names {
			if field == "type" {
				continue
			}
			about, _ := readSchema(t, s.Properties[field])
			means := escapeCell(about.Description)
			if len(about.Enum) > 0 {
				means = strings.TrimPrefix(means+": "+strings.Join(about.Enum, ", "), ": ")
			}
			if !slices.Contains(s.Required, field) {
				means += " (not always)"
			}
			rows = append(rows, []string{inCode(field), cmp.Or(about.Type, jsonType(about)), cmp.Or(strings.TrimSpace(means), "–")})
		}
		b.WriteString(markdownTable([]string{"Field", "Type", "What it is"}, rows) + "\n")
	}
	for _, event := range schema.OneOf {
		name := strings.TrimPrefix(event.Ref, "#/$defs/")
		write(name, name)
	}
	b.WriteString("## The object of -o json\n\n")
	write("object", "Fields")
	t.Logf("%d events", len(schema.OneOf))
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonType returns the type of a schema's value.
func jsonType(s eventSchema) string {
	switch {
	case string(s.Const) == "true":
		return "true"
	case len(s.Enum) > 0:
		return "string"
	}
	return "any"
}

// exampleSetting matches a line of config.toml.example that is a commented setting or table.
var exampleSetting = regexp.MustCompile(`^# (\[*[a-zA-Z_."/-]+\]*( = .*)?|"[^"]+" = .*)$`)

// settingSections shows config.toml.example with a section for each table, the settings set to their defaults, and the
// comments.
func settingSections(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "config.toml.example"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var top, heading string
	var lines []string
	flush := func() {
		if text := strings.Trim(strings.Join(lines, "\n"), "\n"); text != "" {
			fmt.Fprintf(&b, "### %s\n\n```toml\n%s\n```\n\n", cmp.Or(heading, "General"), text)
		}
		lines = nil
	}
	_, text, _ := strings.Cut(string(data), "\n\n") // skip the paragraph that describes the file
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var out []string
		for line := range strings.SplitSeq(strings.TrimRight(paragraph, "\n"), "\n") {
			if m := exampleSetting.FindStringSubmatch(line); m != nil && !alternative(m[1]) {
				line = m[1]
			}
			out = append(out, line)
		}
		out = wrapComments(out)
		if at := slices.IndexFunc(out, func(line string) bool { return strings.HasPrefix(line, "[") }); at >= 0 {
			if name, _, nested := strings.Cut(strings.Trim(out[at], "[]"), "."); name != top {
				flush()
				top, heading = name, strings.TrimSpace(out[at])
				if nested {
					heading = "[" + name + ".NAME]"
				}
			}
		}
		lines = append(append(lines, out...), "")
	}
	flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// wrapComments wraps comments to the width of a terminal.
func wrapComments(lines []string) (out []string) {
	var comment []string
	flush := func() {
		for _, line := range textwrap.Lines(strings.Join(comment, " "), 72) {
			out = append(out, "# "+strings.TrimSpace(line))
		}
		comment = nil
	}
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, "# ")
		if ok && !alternative(text) {
			comment = append(comment, text)
			continue
		}
		if comment != nil {
			flush()
		}
		out = append(out, line)
	}
	if comment != nil {
		flush()
	}
	return out
}

// alternative reports whether a setting stays commented out, because a key has only one source.
func alternative(line string) bool {
	return strings.HasPrefix(line, "api_key = ") || strings.HasPrefix(line, "api_key_command = ")
}
