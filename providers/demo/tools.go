package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// toolRound returns the next calls of s; done, the answer, if no calls are left. Each tool is
// called in at most one round, whatever its result, so that every conversation ends.
func (c *chat) toolRound(s *script, groups map[string]string, done reply) reply {
	if n := len(c.results); n > 0 && denial.MatchString(c.results[n-1].output) {
		return c.fill(named("denied"), groups)
	}
	for _, next := range s.steps {
		if slices.ContainsFunc(c.results, func(r result) bool { return r.name == next.tool }) {
			continue
		}
		if !slices.ContainsFunc(c.Tools, func(t tool) bool { return t.Function.Name == next.tool }) {
			return c.fill(named("no-tool"), groups)
		}
		r := reply{thinking: done.thinking}
		if len(c.results) > 0 {
			r.thinking = "Now the next step."
		}
		for i, arguments := range next.calls(c.prompt, groups) {
			r.calls = append(r.calls, call{fmt.Sprintf("call_%d_%d", len(c.Messages), i), next.tool, arguments})
		}
		return r
	}
	done.thinking = "I have what the tools returned. I only report what is in there."
	return done
}

// denial matches the start of a result for a call that the user or a rule denied.
var denial = lazy.NewRegexp(`^(?:The user did not allow|This was not run)`)

// namedFile matches a file name in a prompt.
var namedFile = lazy.NewRegexp("(?i)(?:^|[\\s,;:(\"'`])(" + fileName + ")")

// calls returns the arguments of each call of a step, as JSON.
func (s step) calls(prompt string, groups map[string]string) (list []string) {
	const most = 4
	for _, m := range namedFile.FindAllStringSubmatch(prompt, -1) {
		arguments := s.fill(groups, m[1])
		if len(list) < most && !slices.Contains(list, arguments) {
			list = append(list, arguments)
		}
	}
	if list == nil {
		list = []string{s.fill(groups, "")}
	}
	return list
}

// fill returns the arguments with groups and file in their places. Optional
// groups that matched nothing are left out.
func (s step) fill(groups map[string]string, file string) string {
	var arguments object
	_ = json.Unmarshal([]byte(s.arguments), &arguments) // parse has tried it
	for name, value := range arguments {
		if template, ok := value.(string); ok {
			arguments[name] = placeholder.ReplaceAllStringFunc(template, func(name string) string {
				if name == "{file}" {
					return file
				}
				return groups[name[1:len(name)-1]]
			})
		}
		if arguments[name] == "" {
			delete(arguments, name)
		}
	}
	return string(encode(arguments))
}

var (
	lineNumber = lazy.NewRegexp(`(?m)^ *\d+\t`) // of the read tool
	extension  = lazy.NewRegexp(`\.(\w{1,10})$`)
)

// report shows what tools returned, each result in a code block.
func report(results []result) string {
	const most = 2000 // characters of a result
	var list []string
	for _, r := range results {
		path, _ := r.arguments["path"].(string)
		language := ""
		if m := extension.FindStringSubmatch(path); m != nil && r.name == "read" {
			language = m[1]
		}
		block := fence(truncate(cmp.Or(lineNumber.ReplaceAllString(r.output, ""), "(no output)"), most), language)
		if len(results) > 1 {
			block = "### " + oneLine(r.name+" "+path) + "\n\n" + block
		}
		list = append(list, block)
	}
	return strings.Join(list, "\n\n")
}
