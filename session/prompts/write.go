package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"parley/tools/atomicfile"
)

// Escape returns the body of a prompt that expands to exactly text: placeholders,
// commands and mentions in it are escaped.
func Escape(text string) string {
	return strings.NewReplacer("$$", `\$\$`, "$", `\$`, "!`", "\\!`", "@", `\@`, "{{", `\{{`).Replace(text)
}

// Format returns a prompt as one of parley's own files.
func Format(p Prompt) string {
	var b strings.Builder
	line := func(key, value string) {
		switch {
		case value == "":
		case strings.Contains(value, "\n") && !strings.HasPrefix(value, " "):
			fmt.Fprintf(&b, "%s: |\n  %s\n", key, strings.ReplaceAll(strings.TrimRight(value, "\n"), "\n", "\n  "))
		default:
			fmt.Fprintf(&b, "%s: %s\n", key, scalar(value))
		}
	}
	line("description", p.Description)
	line("argument-hint", p.Hint)
	line("arguments", strings.Join(p.Arguments, ", "))
	line("model", p.Model)
	line("effort", string(p.Effort))
	line("tools", strings.Join(p.Tools, ", "))
	if p.Web {
		line("web", "true")
	}
	line("system", p.System)
	if len(p.Schema) > 0 {
		fmt.Fprintf(&b, "schema: %s\n", p.Schema)
	}
	line("schema", p.SchemaFile)
	body := strings.TrimRight(p.Body, "\n") + "\n"
	if b.Len() == 0 && !strings.HasPrefix(body, "---") {
		return body
	}
	return "---\n" + b.String() + "---\n" + body
}

// scalar returns a text as YAML on one line.
func scalar(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 && strings.TrimSpace(text) == text && !strings.ContainsAny(text[:1], "\"'[]{}|>&*!%@`#-?,") && !strings.Contains(text, " #") && !strings.Contains(text, ": ") && !strings.HasSuffix(text, ":") {
		return text
	}
	quoted, _ := json.Marshal(text) // strings cannot fail
	return string(quoted)
}

// Create writes a new file NAME.md in a directory, which it creates if missing, and returns its
// path. An existing file is an error.
func Create(dir, name, text string) (string, error) {
	if !ValidName(name) {
		return "", fmt.Errorf("%q cannot be the name of a prompt: use letters, digits, - and _", name)
	}
	path := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(name, ":", "/"))+".md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	err := atomicfile.Create(path, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return path, fmt.Errorf("a prompt %s exists already: choose another name, or edit it", name)
	}
	return path, err
}
