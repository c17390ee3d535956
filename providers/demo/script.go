package demo

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// answers holds the scripts. Scripts whose names begin with a number are selected by their words,
// the lowest number first; the others are used by name.
//
//go:embed answers/*.md
var answers embed.FS

// A script is an answer in Markdown after a header of lines "key: value":
//
//	when      regular expression of the words that call for it, any number;
//	          letter case does not count, {path} matches a file's name
//	thinking  a paragraph of its thinking, any number
//	call      a tool and its arguments: a round of calls before the answer, any
//	          number; each round calls another tool
//
// Named groups of when are used in braces. A call with {file} is made once for each file in the
// prompt.
type script struct {
	name     string
	when     []*regexp.Regexp
	thinking string
	steps    []step
	body     string
}

type step struct {
	tool      string
	arguments string // JSON, with groups in braces
}

// fileName matches a file name in a text: a word with a dot or slash in it, or one of a few names
// without either.
const fileName = `(?:[\w./~-]*[./][\w./-]*\w|Makefile|Dockerfile|LICENSE|README)`

// scripts returns all scripts in order. It panics if one is invalid.
var scripts = sync.OnceValue(func() (list []*script) {
	files, err := answers.ReadDir("answers")
	for _, file := range files {
		var text []byte
		if text, err = answers.ReadFile("answers/" + file.Name()); err != nil {
			break
		}
		s := &script{name: strings.TrimSuffix(file.Name(), ".md")}
		if err = s.parse(string(text)); err != nil {
			break
		}
		list = append(list, s)
	}
	if err != nil {
		panic(err)
	}
	return list
})

func named(name string) *script {
	return scripts()[slices.IndexFunc(scripts(), func(s *script) bool { return s.name == name })]
}

func (s *script) parse(text string) error {
	header, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "---\n")
	if !ok {
		return fmt.Errorf("%s: no header", s.name)
	}
	s.body = strings.TrimSpace(body)
	for line := range strings.Lines(header) {
		var err error
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "when":
			var pattern *regexp.Regexp
			pattern, err = regexp.Compile("(?i)" + strings.ReplaceAll(value, "{path}", "(?P<path>"+fileName+")"))
			s.when = append(s.when, pattern)
		case "thinking":
			s.thinking = strings.TrimPrefix(s.thinking+"\n\n"+value, "\n\n")
		case "call":
			tool, arguments, _ := strings.Cut(value, " ")
			err = json.Unmarshal([]byte(arguments), &object{})
			s.steps = append(s.steps, step{tool, arguments})
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// maxPrompt bounds the size of prompts that can be a question, in bytes; longer ones are text.
const maxPrompt = 4096

var (
	politePrefix = lazy.NewRegexp(`^(?i)(?:(?:please|hey|ok(?:ay)?|now|(?:can|could|would|will) you)[, ]+)+`)
	politeSuffix = lazy.NewRegexp(`(?i)(?:,?\s+(?:please|for me))*[.?!\s]*$`)
)

// find returns the first script whose words match prompt, and the matched groups; nil if none
// matches.
func find(prompt string) (*script, map[string]string) {
	if len(prompt) > maxPrompt {
		return nil, nil
	}
	prompt = politePrefix.ReplaceAllString(prompt, "")
	if bare := politeSuffix.ReplaceAllString(prompt, ""); !strings.HasSuffix(bare, "/") {
		prompt = bare // keeps the dots of a path such as ./...
	}
	for _, s := range scripts() {
		for _, pattern := range s.when {
			m := pattern.FindStringSubmatch(prompt)
			if m == nil {
				continue
			}
			groups := map[string]string{}
			for i, name := range pattern.SubexpNames() {
				groups[name] = m[i]
			}
			return s, groups
		}
	}
	return nil, nil
}

// manual returns the answers about parley, which are numbered from 70 to 79.
func manual() string {
	var list []string
	for _, s := range scripts() {
		if strings.HasPrefix(s.name, "7") {
			list = append(list, s.body)
		}
	}
	return strings.Join(list, "\n\n")
}
