package agentcli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/tools/lazy"
	"parley/tools/sanitize"
)

// A prompt is the input of a program.
type prompt struct {
	text   string
	blocks []block // media; if there are any, the prompt is sent as JSON
}

// A block is a content block of the Anthropic Messages API.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"`
}

type source struct {
	Type string `json:"type"`
	MIME string `json:"media_type,omitempty"`
	Data []byte `json:"data,omitempty"` // base64 in JSON
	URL  string `json:"url,omitempty"`
}

// stdin returns the prompt as text, or as a line of stream-json if it has blocks.
func (p prompt) stdin() []byte {
	if len(p.blocks) == 0 {
		return []byte(p.text)
	}
	return append(mustMarshal(map[string]any{
		"type": "user",
		"message": map[string]any{
			"role":    "user",
			"content": append(p.blocks, block{Type: "text", Text: p.text}), // models do better with media first
		},
		"parent_tool_use_id": nil,
		"session_id":         "",
	}), '\n')
}

// writePrompt returns the prompt for messages: the user messages at the end unchanged, and
// everything before them folded into one text with the roles, since programs accept no history.
func (m *Model) writePrompt(r *run, messages []llm.Message) (prompt, error) {
	newest := len(messages)
	for newest > 0 && messages[newest-1].Role == llm.RoleUser {
		newest--
	}
	var texts []string
	if past := foldHistory(messages[:newest]); past != "" {
		title, end := "The conversation so far. What each side said is indented below its name.", "This is the new message of the user:"
		if r.resume.Session != "" {
			title = "In the meantime this was said. What each side said is indented below its name."
		}
		if newest == len(messages) {
			end = "Go on from here."
		}
		texts = append(texts, title, past, end)
	}
	var p prompt
	for _, message := range messages[newest:] {
		for _, part := range message.Parts {
			switch part.Kind {
			case llm.Text:
				texts = append(texts, part.Text)
			case llm.Media:
				text, err := m.attach(r, &p, part)
				if err != nil {
					return prompt{}, err
				}
				texts = append(texts, text)
			}
		}
	}
	p.text = strings.TrimSpace(escapeMentions(join(texts)))
	switch {
	case p.text == "" && len(p.blocks) == 0:
		p.text = "Go on."
	case strings.HasPrefix(p.text, "/"): // otherwise it would be a command of the program
		p.text = "The user says:\n\n" + p.text
	}
	return p, nil
}

// join joins the nonempty texts with blank lines. It may modify texts.
func join(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n\n")
}

// roleLabels are the names of roles in a folded conversation.
var roleLabels = map[llm.Role]string{llm.RoleUser: "User:", llm.RoleAssistant: "Assistant:", llm.RoleTool: "Results of tools:"}

// Bounds of a tool's arguments and output in a folded conversation, in bytes.
const (
	maxFoldedInput  = 1 << 10
	maxFoldedOutput = 8 << 10
)

// foldHistory returns a conversation as text. All content is indented, so that it cannot be
// mistaken for a role label.
func foldHistory(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		var texts []string
		for _, p := range m.JoinedParts() {
			texts = append(texts, foldPart(p))
		}
		text := join(texts)
		if strings.TrimSpace(text) == "" {
			continue
		}
		b.WriteString(roleLabels[m.Role])
		for line := range strings.Lines(newlines.Replace(text)) {
			b.WriteString(strings.TrimRight("\n    "+strings.TrimSuffix(line, "\n"), " "))
		}
		b.WriteString("\n\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// foldPart returns a part as text; "" for parts to omit, such as thinking.
func foldPart(p llm.Part) string {
	switch p.Kind {
	case llm.Text:
		return p.Text
	case llm.Call:
		return fmt.Sprintf("[used the tool %s: %s]", p.Name, sanitize.TruncateBytes(p.Input, maxFoldedInput))
	case llm.Result:
		verb := "answered"
		if p.Failed {
			verb = "failed"
		}
		return fmt.Sprintf("[the tool %s %s: %s]", p.Name, verb, sanitize.TruncateBytes(p.Text, maxFoldedOutput))
	case llm.Media:
		return omittedFile(p)
	case llm.Source:
		return strings.TrimSpace(p.Title() + " " + p.URL)
	}
	return ""
}

func omittedFile(p llm.Part) string {
	what := "file"
	if strings.HasPrefix(p.MIME, "image/") {
		what = "image"
	}
	return strings.TrimSpace(fmt.Sprintf("[%s left out: %s", what, p.Name)) + "]"
}

// imageExtensions maps the image types of the Messages API to file name extensions.
var imageExtensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

// attach passes a file to the program: as a block of p, as a file on disk, or in the returned text,
// which belongs in the prompt.
func (m *Model) attach(r *run, p *prompt, part llm.Part) (string, error) {
	kind := adapter.MIMEType(part)
	suffix, image := imageExtensions[kind]
	if kind == "application/pdf" {
		suffix = ".pdf"
	}
	switch {
	case suffix != "" && m.flavor.media == inBlocks && (len(part.Data) > 0 || part.URL != ""):
		b := block{Type: "document", Source: &source{Type: "base64", MIME: kind, Data: part.Data}}
		if image {
			b.Type = "image"
		}
		if len(part.Data) == 0 {
			b.Source = &source{Type: "url", URL: part.URL}
		}
		p.blocks = append(p.blocks, b)
		return "", nil
	case suffix != "" && len(part.Data) > 0 && m.flavor.media == mentioned:
		path, err := r.writeAttachment(part.Data, "file"+suffix)
		return "@" + path, err
	case suffix != "" && len(part.Data) > 0 && (m.flavor.media == fileArgs && !m.isRefused("--attachment") || m.flavor.media == imageArgs && image):
		path, err := r.writeAttachment(part.Data, "file"+suffix)
		r.attached = append(r.attached, path)
		return "", err
	case len(part.Data) > 0 && utf8.Valid(part.Data) && !strings.ContainsRune(string(part.Data), 0):
		return fmt.Sprintf("<file name=%q>\n%s\n</file>", part.Name, part.Data), nil
	}
	r.notices = append(r.notices, fmt.Sprintf("%s cannot be given %s; not sent", m.flavor.program, cmp.Or(part.Name, kind)))
	return omittedFile(part), nil
}

// writeAttachment writes a file below the directory of the program and returns its path relative to
// that directory.
func (r *run) writeAttachment(data []byte, name string) (string, error) {
	dir, err := os.MkdirTemp(r.dir, "attached-")
	if err != nil {
		return "", err
	}
	r.temps = append(r.temps, dir)
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return "", err
	}
	return filepath.Base(dir) + "/" + name, nil
}

// mentionRE matches an @path that makes the programs read a file. Only paths that lead out of the
// empty directory matter: absolute ones, and those that contain "..". A part of a path may be
// quoted, and a blank may follow a backslash.
var mentionRE = lazy.NewRegexp(`@(?:["']*(?:[/\\~.]|[A-Za-z]:[/\\]|file:)|(?:\\.|"[^"\n]*"|'[^'\n]*'|\S)*(?:["'][^"'\n]*)?[/\\]\.\\?\.)`)

// escapeMentions returns text in which the program finds no @path: "@/etc/passwd" in untrusted text,
// such as the output of a tool, would attach that file.
func escapeMentions(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return mentionRE.ReplaceAllStringFunc(text, func(path string) string { return strings.ReplaceAll(path, "@", "@ ") }) // a match may contain another
}
