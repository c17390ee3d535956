package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A task is something to do with tools: one round of calls after the other, and
// then a report on what they returned. A step that has nothing to call ends the
// task early.
type task struct {
	thinking string
	steps    []func(c *chat) []call
	report   func(c *chat) string
}

// tasks are what a user can ask for, the most particular first. Each finds
// out whether it is meant, with the groups of its pattern.
var tasks = []struct {
	pattern func() *regexp.Regexp
	make    func(c *chat, m []string) (task, bool)
}{
	{lazy(`^(?:[$!]\s*|(?:please |can you |could you |now )*(?:run|execute)\s+(?:the (?:shell )?command |command )?)(.+)$`), runs},
	{lazy(`\b(?:create|write|make|add|save)\b.*?\b(?:file )?(?:called |named )?` + file + `,?\s+(?:with|containing|saying|that says|:)\s*(?:the )?(?:(?:text|contents?|line|words?)\b:?\s*)?(.+)$`), writes},
	{lazy(`\b(?:write|save|put)\s+(.+?)\s+(?:to|into|in)\s+(?:a |the )?(?:new )?(?:file )?(?:called |named )?` + file + `[.!]?$`), saves},
	{lazy(`\b(?:replace|change|rename)\s+(.+?)\s+(?:with|by|to|into)\s+(.+?)\s+in\s+(?:the )?(?:file )?` + file), edits},
	{lazy(`\bin\s+(?:the )?(?:file )?` + file + `,?\s+(?:please )?(?:replace|change|rename)\s+(.+?)\s+(?:with|by|to|into)\s+(.+)$`), editsIn},
	{lazy(`\b(?:find|list|show|which|what|where)\b.*\bfiles?\b.*\b(?:named|called|matching|match|like|ending (?:in|with))\s+(\S+)`), finds},
	{lazy(`\b(?:find|list|show)\s+(?:me )?(?:all |the |every )*(\S*\*\S*)`), finds},
	{lazy(`\b(?:find|list|show|which|what)\b.*?\b(go|golang|python|javascript|typescript|rust|java|c|markdown|text|json|yaml|toml|html|css|shell|test)\s+files?\b`), findsKind},
	{lazy(`\b(?:explain|describe|summari[sz]e|what does|tell me about|overview of|look at|understand)\b.*\b(?:this|the|my)\s+(?:repo(?:sitory)?|project|code ?base|workspace|folder|directory|code)\b|\bwhat is this (?:repo(?:sitory)?|project|code ?base)\b`), explores},
	{lazy(`\b(?:search|grep|look for)\s+(?:through )?(?:(?:the|my|this|all)\s+)*(?:(?:code|project|files?|repo(?:sitory)?|workspace|everything)\s+)?(?:for )?(?:the (?:word|text|string) )?(.+?)(?:\s+(?:in|inside|under|within)\s+(\S+))?$`), greps},
	{lazy(`\bfind\s+(?:all |any |every |the )*(?:usages?|uses|occurrences|references|mentions)\s+(?:of|to)\s+(.+?)(?:\s+(?:in|inside|under)\s+(\S+))?$`), greps},
	{lazy(`\bwhere\s+(?:is|are|do we use)\s+(.+?)\s*(?:used|defined|declared|called|mentioned)?$`), grepsCode},
	{lazy(`\b(?:list|show|what|which|see)\b.*\b(?:files?|folders?|director(?:y|ies)|here|workspace)\b|^(?:ls|list|dir)(?:\s+\S+)?$`), lists},
	{lazy(`\b(?:read|open|show|cat|print|display|view|summari[sz]e|explain|describe|look at|review|check|what(?:'s| is| does| do))\b`), reads},
	{lazy(`^find\s+(?:all |any |the )*(.+?)(?:\s+(?:in|inside|under)\s+(\S+))?$`), greps},
}

// file is a file name among words: in quotes, or with a dot or a slash in it,
// or one of the names that have neither.
const file = "[`'\"]?((?:[\\w.-]*/)*[\\w-]*\\.?[\\w-]+\\.[a-z]\\w*|(?:[\\w.-]*/)+[\\w.-]+|\\.\\w[\\w.-]+|Makefile|Dockerfile|LICENSE|README)[`'\"]?"

// bare is text without what ends a sentence. What ends a path, as in ./..., stays.
func bare(text string) string {
	text = strings.TrimRight(text, " \n")
	if bare := strings.TrimRight(text, ".?!"); !strings.HasSuffix(bare, "/") && !strings.HasSuffix(bare, " ") {
		return bare
	}
	return text
}

// task recognizes what is to be done, and takes its next step.
func (c *chat) task() (reply, bool) {
	ask := bare(c.ask)
	for _, row := range tasks {
		m := row.pattern().FindStringSubmatch(ask)
		if m == nil {
			continue
		}
		if t, ok := row.make(c, m); ok {
			return c.proceed(t), true
		}
	}
	return reply{}, false
}

func (c *chat) proceed(t task) reply {
	done := len(c.rounds)
	if done < len(t.steps) && !c.stuck() {
		if calls := t.steps[done](c); len(calls) > 0 {
			for i := range calls {
				calls[i].id = fmt.Sprintf("call_%d_%d", len(c.messages), i)
			}
			thinking := t.thinking
			if done > 0 {
				thinking = "That worked. Now the next step."
			}
			return reply{thinking: thinking, calls: calls}
		}
		if done == 0 {
			return c.toolless()
		}
	}
	return reply{thinking: "I have what the tools returned. I only report what is in there.", text: t.report(c)}
}

// stuck reports whether the last round brought nothing but failures.
func (c *chat) stuck() bool {
	return len(c.rounds) > 0 && !slices.ContainsFunc(c.rounds[len(c.rounds)-1], func(r result) bool { return !r.failed() })
}

// toolless answers a task for which no tool is offered.
func (c *chat) toolless() reply {
	var names []string
	for _, t := range c.tools {
		names = append(names, "`"+t.Function.Name+"`")
	}
	offered := "No tools are offered to me in this conversation"
	if len(names) > 0 {
		offered = "The tools offered to me here are " + strings.Join(names, ", ") + ", and none of them does that"
	}
	return reply{
		thinking: "This needs a tool that I do not have here. I must not pretend to have done it.",
		text:     offered + ", so I cannot do it.\n\nStart parley without `--tools none` to offer all of its tools.",
	}
}

// failures are results that report an error, by their beginnings and words.
var failures = lazy(`^\s*(?:error|cannot|could not|there is no|no such|unknown|invalid|bad arguments|this was not|the (?:call|user did not))\b|` +
	`\b(?:no such file|do(?:es)? not exist|did not (?:allow|start)|permission denied|outside the workspace|internal error|cannot be|` +
	`(?:is|was) not (?:a|text|run|written|allowed|found)|is larger than|is (?:a|no) (?:folder|directory)|is read-only|has (?:changed since|only \d)|` +
	`have not read|already has)\b`)

// denials are results of calls that a user or a rule stopped.
var denials = lazy(`did not allow|denied by|approval mode|was not run`)

// successes are the words with which a tool says that it changed something.
var successes = lazy(`\b(?:wrote|written|created|saved|updated|edited|replaced|changed|applied|success(?:ful(?:ly)?)?|done|ok)\b`)

// failed guesses, as a model has to: chat completions have no mark for it. What
// holds line numbers or an exit status is output, whatever words are in it.
func (r result) failed() bool {
	if numbered().MatchString(r.output) || exitStatus().MatchString(r.output) {
		return false
	}
	line, _, _ := strings.Cut(strings.TrimSpace(r.output), "\n")
	return failures().MatchString(line)
}

// excuse tells why a call came to nothing; "" if it did not.
func (r result) excuse(what string) string {
	switch {
	case !r.failed():
		return ""
	case denials().MatchString(r.output):
		return fmt.Sprintf("I did not %s: the call was not allowed. Nothing was changed.\n\n> %s\n\nPress **shift+tab** to change the approval mode, or ask me again and allow it.", what, firstLine(r.output))
	}
	return fmt.Sprintf("I could not %s. The tool said:\n\n%s", what, fence(firstLines(r.output, 6), ""))
}

// doubt is excuse for a call that was to change something: without a word of
// success I do not claim any.
func (r result) doubt(what string) string {
	if text := r.excuse(what); text != "" || successes().MatchString(r.output) {
		return text
	}
	return fmt.Sprintf("I tried to %s, and cannot tell whether that worked. The tool said:\n\n%s", what, fence(firstLines(r.output, 6), ""))
}

// Names that a tool and its arguments may have in a request, likeliest first.
var (
	readTools  = []string{"read", "read_file", "view", "cat"}
	listTools  = []string{"list", "ls", "list_directory", "list_dir"}
	globTools  = []string{"glob", "find", "find_files"}
	grepTools  = []string{"grep", "search", "search_files"}
	writeTools = []string{"write", "write_file", "create"}
	editTools  = []string{"edit", "edit_file", "replace", "str_replace"}
	shellTools = []string{"shell", "bash", "run", "exec", "run_command"}

	pathArgs    = []string{"path", "file_path", "file", "filename", "dir", "directory"}
	patternArgs = []string{"pattern", "query", "regex", "glob"}
	contentArgs = []string{"content", "contents", "text", "data"}
	oldArgs     = []string{"old", "old_string", "old_str", "search", "find"}
	newArgs     = []string{"new", "new_string", "new_str", "replace", "replacement"}
	commandArgs = []string{"command", "cmd", "script"}
	allArgs     = []string{"all", "replace_all"}
	literalArgs = []string{"literal", "fixed"}
)

// argument is a value under the first of names that the tool knows.
type argument struct {
	names []string
	value any
}

// use makes a call of the first tool of names that is offered. It is false if
// there is none, or it lacks an argument that has a value.
func (c *chat) use(names []string, arguments ...argument) (call, bool) {
	for _, name := range names {
		i := slices.IndexFunc(c.tools, func(t tool) bool { return t.Function.Name == name })
		if i < 0 {
			continue
		}
		input, ok := c.tools[i].fill(arguments)
		if !ok {
			return call{}, false
		}
		text, err := json.Marshal(input)
		return call{name: name, arguments: string(text)}, err == nil
	}
	return call{}, false
}

func (t tool) fill(arguments []argument) (map[string]any, bool) {
	input := map[string]any{}
	properties := t.Function.Parameters.Properties
	for _, a := range arguments {
		if a.value == "" {
			continue
		}
		i := slices.IndexFunc(a.names, func(name string) bool { _, ok := properties[name]; return ok })
		if i >= 0 {
			input[a.names[i]] = a.value
			continue
		}
		if a.value != true { // switches are not needed
			return nil, false
		}
	}
	for _, name := range t.Function.Parameters.Required {
		if _, ok := input[name]; ok {
			continue
		}
		if input[name] = properties[name].example("asked for by the person"); input[name] == nil {
			return nil, false
		}
	}
	return input, true
}

// path is the file that a call was about.
func (r result) path() string {
	for _, name := range pathArgs {
		if path, ok := r.arguments[name].(string); ok {
			return path
		}
	}
	return "."
}
