// Package instructions reads the files with a project's instructions for models:
//
//	Find(directory) ──► AGENTS.md, else CLAUDE.md, else GEMINI.md
//	Expand(file) ──► its text, followed by the files that it imports with @path
//
// The caller decides which files may be read, and whether a model gets them.
package instructions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Names are the names of the files; in a directory the first existing one is used.
var Names = []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"}

// MaxTotal is how many bytes of instructions are sent to a model; those farthest from the
// working directory are dropped first.
const MaxTotal = 32 << 10

// Find returns the path of the instructions file in a directory; "" if there is none.
func Find(dir string) string {
	for _, name := range Names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// maxImports is how deep imports may be nested.
const maxImports = 5

// ErrOutside is returned by Expand's read function for a file that it may not read.
var ErrOutside = errors.New("it is outside the project")

// Expand returns the text of a file followed by the files it imports: lines and words that consist
// of @ and a path, relative to the importing file. Imports in code, or that read cannot find, stay
// text. Notes list files that were not imported: those nested too deep, and those after MaxTotal
// bytes, which a model does not get. Each file is read once.
func Expand(path, text string, read func(path string) (string, error)) (whole string, notes []string) {
	e := &expander{read: read, seen: []string{filepath.Clean(path)}}
	e.imports(path, text, 1)
	return strings.TrimRight(text, "\n") + e.out.String(), e.notes
}

type expander struct {
	read  func(path string) (string, error)
	seen  []string
	out   strings.Builder
	notes []string
	full  bool // out has reached MaxTotal
}

func (e *expander) imports(path, text string, depth int) {
	for _, name := range mentioned(text) {
		file := name
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				file = filepath.Join(home, rest)
			}
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		file = filepath.Clean(file)
		if slices.Contains(e.seen, file) {
			continue
		}
		if e.out.Len() >= MaxTotal {
			if !e.full {
				e.full = true
				e.notes = append(e.notes, fmt.Sprintf("[@%s and what follows it are not imported: instructions are at most %d KB]", name, MaxTotal>>10))
			}
			return
		}
		if depth > maxImports {
			e.notes = append(e.notes, fmt.Sprintf("[@%s is not imported: files may import one another %d deep]", name, maxImports))
			continue
		}
		more, err := e.read(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			e.notes = append(e.notes, fmt.Sprintf("[@%s is not imported: %v]", name, err))
			continue
		}
		e.seen = append(e.seen, file)
		fmt.Fprintf(&e.out, "\n\n<imported file=%q>\n%s\n</imported>", name, strings.TrimSpace(more))
		e.imports(file, more, depth+1)
	}
}

// mentioned returns the paths after an @ in text outside of code.
func mentioned(text string) (paths []string) {
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3 && strings.Trim(mark, mark[:1]) == "":
			fence = mark
			continue
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == trimmed {
				fence = ""
			}
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue
			}
			for _, word := range strings.FieldsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == '[' }) {
				path, ok := strings.CutPrefix(word, "@")
				if path = strings.TrimRight(path, ".,;:!?)]*_\"'"); ok && path != "" && strings.ContainsAny(path, "./") {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}
