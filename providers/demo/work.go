package demo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// step is a round with one call.
func step(names []string, arguments ...argument) func(*chat) []call {
	return func(c *chat) []call {
		if made, ok := c.use(names, arguments...); ok {
			return []call{made}
		}
		return nil
	}
}

// at is the result of a round of one call.
func (c *chat) at(round int) result {
	if round < len(c.rounds) && len(c.rounds[round]) > 0 {
		return c.rounds[round][0]
	}
	return result{}
}

func runs(c *chat, m []string) (task, bool) {
	command := strings.TrimSpace(m[1])
	if _, rest, ok := strings.Cut(command, "`"); ok {
		command, _, _ = strings.Cut(rest, "`")
	}
	command = strings.TrimSuffix(command, " please")
	switch word, _, _ := strings.Cut(strings.ToLower(command), " "); word {
	case "", "the", "my", "some", "all", "a", "an", "it", "this", "that", "tests", "away":
		return task{}, false // no command that I could take literally
	}
	return task{
		thinking: fmt.Sprintf("The person wants me to run %s. That is a call of the shell; parley decides whether it needs their word.", quoted(command)),
		steps:    []func(*chat) []call{step(shellTools, argument{commandArgs, command})},
		report: func(c *chat) string {
			r := c.at(0)
			if text := r.excuse("run `" + command + "`"); text != "" {
				return text
			}
			ran, output := "I ran "+code(command)+".", r.output
			if m := exitStatus().FindStringSubmatch(output); m != nil {
				output = exitStatus().ReplaceAllString(output, "")
				if m[1] != "0" {
					ran = fmt.Sprintf("I ran %s, and it **failed** with exit status %s.", code(command), m[1])
				}
			}
			if output = noOutput().ReplaceAllString(output, ""); strings.TrimSpace(output) == "" {
				return ran + " It printed nothing."
			}
			return fmt.Sprintf("%s It printed:\n\n%s", ran, excerpt(output, "", 30))
		},
	}, true
}

// exitStatus is how shell tools close what a program printed.
var exitStatus = lazy(`(?m)^\[?exit (?:status|code):? (\d+)\]?\s*$\n?`)

// noOutput is how they say that it printed nothing.
var noOutput = lazy(`^[\[(]no output[\])]\s*`)

func writes(c *chat, m []string) (task, bool) { return writing(m[1], m[2]), true }
func saves(c *chat, m []string) (task, bool)  { return writing(m[2], m[1]), true }

func writing(path, content string) task {
	content = strings.ReplaceAll(unquote(content), `\n`, "\n")
	if !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return task{
		thinking: fmt.Sprintf("A new file, %s. I write exactly the text I was given.", path),
		steps:    []func(*chat) []call{step(writeTools, argument{pathArgs, path}, argument{contentArgs, content})},
		report: func(c *chat) string {
			if text := c.at(0).doubt("write `" + path + "`"); text != "" {
				return text
			}
			return fmt.Sprintf("I wrote `%s` (%s):\n\n%s", path, count(len(lines(content)), "line"), excerpt(content, language(path), 20))
		},
	}
}

func edits(c *chat, m []string) (task, bool)   { return editing(m[3], m[1], m[2]), true }
func editsIn(c *chat, m []string) (task, bool) { return editing(m[1], m[2], m[3]), true }

// editing reads first: whoever changes a file should have seen it.
func editing(path, before, after string) task {
	before, after = unquote(before), unquote(after)
	return task{
		thinking: fmt.Sprintf("I am to change %s. I read it first, to see how often %s occurs.", path, quoted(before)),
		steps: []func(*chat) []call{
			step(readTools, argument{pathArgs, path}),
			func(c *chat) []call {
				n := strings.Count(unnumbered(c.at(0).output), before)
				if n == 0 {
					return nil
				}
				arguments := []argument{{pathArgs, path}, {oldArgs, before}, {newArgs, after}}
				if n > 1 {
					arguments = append(arguments, argument{allArgs, true})
				}
				return step(editTools, arguments...)(c)
			},
		},
		report: func(c *chat) string {
			if text := c.at(0).excuse("read `" + path + "`"); text != "" {
				return text
			}
			n := strings.Count(unnumbered(c.at(0).output), before)
			if len(c.rounds) < 2 {
				return fmt.Sprintf("`%s` does not contain %s, so I changed nothing.", path, code(before))
			}
			if text := c.at(1).doubt("edit `" + path + "`"); text != "" {
				return text
			}
			return fmt.Sprintf("I replaced %s by %s in `%s`, %s.", code(before), code(after), path, count(n, "time"))
		},
	}
}

func finds(c *chat, m []string) (task, bool) { return finding(unquote(m[1])), true }

// extensions of the kinds of files that have a name.
var extensions = map[string]string{
	"go": "go", "golang": "go", "python": "py", "javascript": "js", "typescript": "ts", "rust": "rs", "java": "java",
	"c": "c", "markdown": "md", "text": "txt", "json": "json", "yaml": "{yaml,yml}", "toml": "toml", "html": "html",
	"css": "css", "shell": "sh",
}

func findsKind(c *chat, m []string) (task, bool) {
	kind := strings.ToLower(m[1])
	if kind == "test" {
		return finding("**/*test*"), true
	}
	return finding("**/*." + extensions[kind]), true
}

func finding(pattern string) task {
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return task{
		thinking: fmt.Sprintf("Finding files by name is what glob is for. The pattern is %s.", pattern),
		steps:    []func(*chat) []call{step(globTools, argument{patternArgs, pattern})},
		report: func(c *chat) string {
			r := c.at(0)
			if text := r.excuse("look for `" + pattern + "`"); text != "" {
				return text
			}
			found := entries(r.output)
			if len(found) == 0 {
				return fmt.Sprintf("No file matches `%s`. The tool said:\n\n> %s", pattern, firstLine(r.output))
			}
			return fmt.Sprintf("`%s` matches %s:\n\n%s", pattern, count(len(found), "file"), bullets(found, 20))
		},
	}
}

func greps(c *chat, m []string) (task, bool) {
	in := ""
	if len(m) > 2 {
		in = strings.Trim(m[2], "`'\"")
	}
	switch strings.ToLower(in) {
	case "this", "the", "my", "here", "all", "every", "code", "files":
		in = ""
	}
	return grepping(unquote(m[1]), in)
}

func grepsCode(c *chat, m []string) (task, bool) {
	words := strings.Fields(m[1])
	if len(words) != 1 || !strings.ContainsAny(words[0], "`_(.") && strings.ToLower(words[0]) == words[0] {
		return task{}, false // "where is paris": not about code
	}
	return grepping(strings.Trim(words[0], "`'\"()"), "")
}

func grepping(pattern, in string) (task, bool) {
	if about := strings.ToLower(pattern); strings.Contains(about, "internet") || strings.HasPrefix(about, "web") || strings.HasPrefix(about, "online") {
		return task{}, false // I have no such tool
	}
	arguments := []argument{{patternArgs, pattern}, {pathArgs, in}}
	if regexp.QuoteMeta(pattern) != pattern {
		arguments = append(arguments, argument{literalArgs, true})
	}
	return task{
		thinking: fmt.Sprintf("I should search the files for %s and see where it stands.", quoted(pattern)),
		steps:    []func(*chat) []call{step(grepTools, arguments...)},
		report: func(c *chat) string {
			r := c.at(0)
			if text := r.excuse("search for `" + pattern + "`"); text != "" {
				return text
			}
			return matches(pattern, r.output)
		},
	}, true
}

// matches tells what a search found, file by file.
func matches(pattern, output string) string {
	type hits struct {
		file string
		n    int
	}
	var found []hits
	all := 0
	for _, line := range lines(output) {
		switch {
		case matchLine().MatchString(line) && len(found) > 0:
			found[len(found)-1].n++
			all++
		case flatMatch().MatchString(line):
			name := flatMatch().FindStringSubmatch(line)[1]
			if len(found) == 0 || found[len(found)-1].file != name {
				found = append(found, hits{file: name})
			}
			found[len(found)-1].n++
			all++
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "["):
			found = append(found, hits{file: strings.TrimSpace(line)})
		}
	}
	if all == 0 {
		return fmt.Sprintf("I found no %s. The tool said:\n\n> %s", code(pattern), cmp.Or(firstLine(output), "(nothing)"))
	}
	found = slices.DeleteFunc(found, func(h hits) bool { return h.n == 0 })
	var rows []string
	for _, h := range found[:min(len(found), 15)] {
		rows = append(rows, fmt.Sprintf("| %s | %d |", code(h.file), h.n))
	}
	return fmt.Sprintf("%s occurs in %s of %s:\n\n| File | Lines |\n|---|---:|\n%s\n\nThe first of them:\n\n%s",
		code(pattern), count(all, "line"), count(len(found), "file"), strings.Join(rows, "\n"), excerpt(output, "", 12))
}

// Two forms of a match: below the name of its file, and on one line with it.
var (
	matchLine = lazy(`^\s*\d+[:-]`)
	flatMatch = lazy(`^([^\s:]+):\d+:`)
)

func lists(c *chat, m []string) (task, bool) {
	in := ""
	if m := listIn().FindStringSubmatch(strings.TrimRight(c.ask, " .?!")); m != nil {
		in = cmp.Or(m[1], m[2])
	}
	if notFolder().MatchString(in) {
		in = ""
	}
	if paths := files(c.ask); len(paths) > 0 && paths[0] != in {
		return task{}, false // about these files
	}
	where := "the workspace"
	if in != "" {
		where = code(in)
	}
	return task{
		thinking: fmt.Sprintf("The person asks what is in %s. I have a tool that lists folders, so I look instead of guessing.", where),
		steps:    []func(*chat) []call{step(listTools, argument{pathArgs, cmp.Or(in, ".")})},
		report: func(c *chat) string {
			r := c.at(0)
			if text := r.excuse("list " + where); text != "" {
				return text
			}
			return listing(where, entries(r.output))
		},
	}, true
}

var (
	listIn    = lazy(`\b(?:in|of|under|inside|from)\s+(?:the )?(?:folder |directory )?([\w./-]+)|^(?:ls|list|dir)\s+(\S+)$`)
	notFolder = lazy(`^(?:this|the|my|here|there|current|files|it|all|workspace|folder|directory|project|repo|repository)$`)
)

func reads(c *chat, m []string) (task, bool) {
	paths := files(c.ask)
	if len(paths) == 0 {
		return task{}, false
	}
	return task{
		thinking: reading(paths),
		steps: []func(*chat) []call{func(c *chat) []call {
			var calls []call
			for _, path := range paths {
				if made, ok := c.use(readTools, argument{pathArgs, path}); ok {
					calls = append(calls, made)
				}
			}
			return calls
		}},
		report: func(c *chat) string { return contents(c.rounds[0]) },
	}, true
}

func reading(paths []string) string {
	if len(paths) == 1 {
		return fmt.Sprintf("I have to read %s before I can say anything about it.", paths[0])
	}
	return fmt.Sprintf("These are %d files, and neither read needs the other, so I read them in parallel.", len(paths))
}

// explores looks at a project as a newcomer would: what is there, then what
// the files that introduce it say.
func explores(c *chat, m []string) (task, bool) {
	if len(files(c.ask)) > 0 {
		return task{}, false
	}
	return task{
		thinking: "To say what this project is I list the folder first, and then read what introduces it.",
		steps: []func(*chat) []call{
			step(listTools, argument{pathArgs, "."}),
			func(c *chat) []call {
				var calls []call
				for _, name := range entries(c.at(0).output) {
					if !introduction().MatchString(name) || len(calls) == 3 {
						continue
					}
					if made, ok := c.use(readTools, argument{pathArgs, name}); ok {
						calls = append(calls, made)
					}
				}
				return calls
			},
		},
		report: func(c *chat) string {
			if text := c.at(0).excuse("list the folder"); text != "" {
				return text
			}
			text := listing("the workspace", entries(c.at(0).output))
			if len(c.rounds) < 2 {
				return text + "\n\nNo README or build file says more, so I stop here."
			}
			return text + "\n\n" + contents(c.rounds[1])
		},
	}, true
}

var introduction = lazy(`^(?:README(?:\.\w+)?|go\.mod|package\.json|Cargo\.toml|pyproject\.toml|Makefile)$`)

// notFiles have a dot, but are something else.
var notFiles = lazy(`^(?:e\.g|i\.e|etc|node\.js|next\.js|vue\.js)$|\.(?:com|org|net|io|dev|ai)$|^www\.|^(?:openai|anthropic|gemini|xai|zai|qwen|deepseek|minimax|moonshot|mistral|groq|openrouter|ollama|demo|and|either)/`)

var fileName = lazy(`(?:^|[\s,;:("'` + "`" + `])` + file)

// files lists the file names in text, each once, at most four.
func files(text string) []string {
	var list []string
	for _, m := range fileName().FindAllStringSubmatch(text, -1) {
		if name := m[1]; !notFiles().MatchString(name) && !slices.Contains(list, name) && len(list) < 4 {
			list = append(list, name)
		}
	}
	return list
}
