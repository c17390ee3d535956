// Package prompts reads files with prompts that a user sends by name: parley's own, and those
// for Claude Code, opencode, codex and gemini-cli.
//
//	Places ──► Files ──► Parse ──► Prompt ──► Expand ──► text, files, commands
//	             (.md with front matter, .toml)    └──► fields that have no value yet
//
// A file has the text to send, and may choose a model, its effort, tools, a system prompt and the
// schema of the answer. Expand only computes; its caller runs commands and reads files. Expansion
// is not recursive: values are never expanded.
package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"parley/providers/llm"
	"parley/session/frontmatter"
)

// A Prompt is the content of one file.
type Prompt struct {
	Name    string // typed after a slash, such as "review" or "team:review"
	Path    string // of the file
	Program Program
	Project bool // it came with the working directory and is untrusted
	Settings
	Body    string // with its placeholders
	Line    int    // line of the file on which Body begins
	Ignored []Key  // keys unknown to parley, or meant for another program
}

// A Key is a key of the front matter.
type Key struct {
	Name string
	Line int // line in the file; 0 in TOML
}

// ownKeys are the keys of parley's own files.
var ownKeys = []string{"description", "argument-hint", "arguments", "model", "effort", "tools", "web", "system", "schema"}

// UnknownKeys returns an error for each key without effect in one of parley's own files, with its line. Files of other
// programs may have other keys.
func (p *Prompt) UnknownKeys() (problems []*Error) {
	if p.Program != Parley {
		return nil
	}
	for _, key := range p.Ignored {
		problems = append(problems, &Error{p.Path, key.Line, fmt.Sprintf("unknown key %q: there are %s", key.Name, strings.Join(ownKeys, ", "))})
	}
	return problems
}

// Settings apply to the turn that sends a prompt, and to a persona's conversations. Unset
// fields change nothing.
type Settings struct {
	Description string
	Hint        string          // arguments that may follow the name, such as "[file]"
	Arguments   []string        // names of placeholders, as in $name
	Model       string          // provider/model, or an alias of the user's
	Effort      llm.Effort      // of its reasoning
	Tools       []string        // tools offered; nil: all; only "none": none
	Web         bool            // the answer may search the web
	System      string          // replaces parley's own system prompt
	Schema      json.RawMessage // of the answer
	SchemaFile  string          // path of a schema file, relative to the prompt's; "": none
}

// An Error reports a mistake in a file, and its line.
type Error struct {
	Path string
	Line int // 0: the whole file
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text)
}

// MaxFile is the largest file in bytes.
const MaxFile = 256 << 10

// Parse parses a file of a place. Its errors are of type *Error.
func Parse(p Place, path string, data []byte) (Prompt, error) {
	is := Prompt{Path: path, Program: p.Program, Project: p.Project}
	var problem string
	if is.Name, problem = nameOf(p, path); problem != "" {
		return is, &Error{Path: path, Text: problem}
	}
	if len(data) > MaxFile {
		return is, &Error{Path: path, Text: fmt.Sprintf("it has more than %d KB", MaxFile>>10)}
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n")
	err := error(nil)
	if p.Program == Gemini {
		err = is.parseTOML(text)
	} else {
		err = is.parseMarkdown(text)
	}
	if err != nil {
		return is, err
	}
	if strings.TrimSpace(is.Body) == "" && is.System == "" {
		return is, &Error{Path: path, Text: "there is no prompt in it"}
	}
	_, err = is.nodes()
	return is, err
}

// parseMarkdown parses front matter and a body.
func (p *Prompt) parseMarkdown(text string) error {
	head, body, line, err := frontmatter.Split(text)
	values := frontmatter.Value{}
	if err == nil {
		values, err = frontmatter.Parse(head, 2)
	}
	var at *frontmatter.Error
	if errors.As(err, &at) {
		return &Error{p.Path, at.Line, at.Text}
	}
	p.setBody(body, line)
	for _, f := range values.Fields {
		if err := p.set(f); err != nil {
			return err
		}
	}
	return nil
}

// setBody sets the body, which begins on a line, without surrounding blank lines.
func (p *Prompt) setBody(body string, line int) {
	for {
		first, rest, more := strings.Cut(body, "\n")
		if !more || strings.TrimSpace(first) != "" {
			break
		}
		body, line = rest, line+1
	}
	p.Body, p.Line = strings.TrimRight(body, " \t\n"), line
}

// set sets a key of the front matter.
func (p *Prompt) set(f frontmatter.Field) error {
	own, key, v := p.Program == Parley, f.Key, f.Value
	switch {
	case key == "description":
		p.Description = strings.TrimSpace(v.Text)
	case key == "argument-hint":
		p.Hint = strings.TrimSpace(v.Text)
	case key == "arguments" && p.Program != Codex:
		p.Arguments = v.Words()
	case key == "model" && (own || strings.Contains(v.Text, "/")): // other programs use their own model names
		p.Model = v.Text
	case key == "effort" && own:
		if p.Effort = llm.Effort(v.Text); !slices.Contains(llm.Efforts, p.Effort) {
			return &Error{p.Path, v.Line, fmt.Sprintf("effort: %q: use one of %s", v.Text, efforts())}
		}
	case key == "tools" && own:
		if p.Tools = v.Words(); len(p.Tools) == 0 {
			p.Tools = []string{"none"}
		}
	case key == "web" && own:
		if p.Web = v.Text == "true"; !p.Web && v.Text != "false" {
			return &Error{p.Path, v.Line, fmt.Sprintf("web: %q: use true or false", v.Text)}
		}
	case key == "system" && own:
		p.System = strings.TrimSpace(v.Text)
	case key == "schema" && own:
		return p.setSchema(v)
	default:
		p.Ignored = append(p.Ignored, Key{key, f.Line})
	}
	return nil
}

func efforts() string {
	var names []string
	for _, e := range llm.Efforts {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// setSchema sets the schema: a map, JSON text, or the path of a file.
func (p *Prompt) setSchema(v frontmatter.Value) error {
	text := strings.TrimSpace(v.Text)
	switch {
	case v.Kind == frontmatter.Map && !strings.HasPrefix(text, "{"):
		p.Schema = v.JSON()
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		p.Schema = json.RawMessage(text)
	case v.Kind == frontmatter.Map:
		p.Schema = v.JSON()
	case v.Kind == frontmatter.List || strings.HasPrefix(text, "{"):
		return &Error{p.Path, v.Line, "schema: it is no JSON Schema"}
	case p.Project:
		return &Error{p.Path, v.Line, "schema: a folder's prompt contains its schema itself: " + text + " is a file"}
	default:
		p.SchemaFile = text
	}
	return nil
}

// parseTOML parses a command of gemini-cli.
func (p *Prompt) parseTOML(text string) error {
	var command struct {
		Prompt      string `toml:"prompt"`
		Description string `toml:"description"`
	}
	meta, err := toml.Decode(text, &command)
	var at toml.ParseError
	switch {
	case errors.As(err, &at):
		return &Error{p.Path, at.Position.Line, at.Message}
	case err != nil:
		return &Error{p.Path, 0, err.Error()}
	}
	for _, key := range meta.Undecoded() {
		p.Ignored = append(p.Ignored, Key{Name: key.String()})
	}
	line := 1
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "prompt") {
			line = i + 1
			if strings.HasSuffix(strings.TrimSpace(l), `"""`) || strings.HasSuffix(strings.TrimSpace(l), "'''") {
				line++
			}
			break
		}
	}
	p.Description = strings.TrimSpace(command.Description)
	p.setBody(command.Prompt, line)
	return nil
}

// Persona returns the system prompt of p as a persona: its own, or else its body. A body
// with placeholders is an error.
func (p *Prompt) Persona() (string, error) {
	if p.System != "" {
		return p.System, nil
	}
	nodes, err := p.nodes()
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(nodes, func(n node) bool { return n.kind != literal && n.kind != file }) {
		return "", &Error{p.Path, p.Line, "it is a prompt with placeholders, not a persona: a persona has system: in its front matter"}
	}
	return p.Body, nil
}
