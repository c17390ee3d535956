package prompts

import (
	"fmt"
	"strings"
	"unicode"

	"parley/session/frontmatter"
)

// FromLLM converts a template of the program llm into a prompt: its YAML with prompt, system,
// model, schema_object, fragments and defaults, where $input and $name correspond to $ARGUMENTS
// and {{name}}. Notes name keys that cannot be converted. The errors are of type *Error. A
// template that is a single text is the prompt.
func FromLLM(path string, data []byte) (p Prompt, notes []string, err error) {
	p = Prompt{Path: path, Program: Parley}
	values, failed := frontmatter.Parse(string(data), 1)
	if at, ok := failed.(*frontmatter.Error); ok {
		if !strings.Contains(string(data), ":") {
			p.Body = llmBody(strings.TrimSpace(string(data)), nil)
			return p, nil, nil
		}
		return p, nil, &Error{path, at.Line, at.Text}
	}
	note := func(line int, format string, args ...any) {
		notes = append(notes, fmt.Sprintf("%s:%d: ", path, line)+fmt.Sprintf(format, args...))
	}
	defaults := map[string]string{}
	if v, ok := values.Get("defaults"); ok {
		for _, f := range v.Fields {
			if text := f.Value.Text; canPreset(text) {
				defaults[f.Key] = text
			} else {
				note(f.Value.Line, "defaults: %s has none here: {{%s=…}} cannot say %q", f.Key, f.Key, text)
			}
		}
	}
	var files []string
	for _, f := range values.Fields {
		switch v := f.Value; f.Key {
		case "prompt":
			p.Body = llmBody(strings.TrimRight(v.Text, "\n"), defaults)
			if strings.Contains(p.Body, "{{llm_args}}") {
				note(v.Line, "prompt: its $args is {{llm_args}} here, for {{args}} stands for all arguments")
			}
		case "system":
			p.System = strings.TrimSpace(v.Text)
			if strings.Contains(p.System, "$") {
				note(v.Line, "system: its $ stays as it is: placeholders are for prompts")
			}
		case "model":
			p.Model = v.Text
		case "schema_object":
			p.Schema = v.JSON()
		case "fragments", "system_fragments":
			for _, word := range v.Words() {
				if strings.Contains(word, ":") {
					note(v.Line, "%s: %s is no file: attach it yourself", f.Key, word)
					continue
				}
				files = append(files, "@"+quotedPath(word))
			}
		case "defaults", "name":
		case "extract", "extract_last":
			note(v.Line, "%s: parley -p -x prints the first code block", f.Key)
		default:
			note(v.Line, "%s is not used here", f.Key)
		}
	}
	if len(files) > 0 {
		p.Body = strings.TrimSpace(strings.Join(files, " ") + "\n\n" + p.Body)
	}
	if p.Body == "" && p.System == "" {
		return p, notes, &Error{Path: path, Text: "there is no prompt in it"}
	}
	return p, notes, nil
}

// canPreset reports whether text can be the default of a placeholder: it is on one line, has no
// }} and no space at its end.
func canPreset(text string) bool {
	return !strings.Contains(text+"}", "}}") && !strings.Contains(text, "\n") && strings.TrimRightFunc(text, unicode.IsSpace) == text
}

// llmBody converts placeholders of llm into parley's.
func llmBody(text string, defaults map[string]string) string {
	var b strings.Builder
	for text != "" {
		plain, rest, found := strings.Cut(text, "$")
		b.WriteString(Escape(plain))
		if !found {
			break
		}
		name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isNameRune))]
		n := len(name)
		if name == "" && strings.HasPrefix(rest, "{") {
			inside, _, closed := strings.Cut(rest[1:], "}")
			if closed && strings.TrimLeftFunc(inside, isNameRune) == "" {
				name, n = inside, len(inside)+2
			}
		}
		preset, has := defaults[name]
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteString(`\$`)
			n = 1
		case name == "" || name[0] >= '0' && name[0] <= '9':
			b.WriteString(`\$` + rest[:n])
		case name == "input":
			b.WriteString("$ARGUMENTS")
		case has:
			b.WriteString("{{" + name + "=" + preset + "}}")
		case name == "args": // {{args}} stands for all arguments
			b.WriteString("{{llm_args}}")
		default:
			b.WriteString("{{" + name + "}}")
		}
		text = rest[n:]
	}
	return b.String()
}
