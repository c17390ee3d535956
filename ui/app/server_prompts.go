package app

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// hasPrompt reports whether name, "server:prompt", is that of a server's prompt.
func (m MCP) hasPrompt(name string) bool {
	servers := m.Servers()
	server, prompt, ok := strings.Cut(name, ":")
	if !ok || servers == nil {
		return false
	}
	for _, p := range servers.Prompts() {
		if p.Server == server && p.Name == prompt {
			return true
		}
	}
	return false
}

// promptArguments returns the arguments of a server's prompt that stand in a line: as NAME=VALUE, or in
// their order. The last one takes the rest; if all have names, the one that was named last.
func promptArguments(p mcp.Prompt, line string) map[string]string {
	args, words, last := map[string]string{}, []string(nil), ""
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		if ok = ok && slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }); ok {
			args[name], last = value, name
		} else {
			words = append(words, word)
		}
	}
	open := slices.DeleteFunc(slices.Clone(p.Arguments), func(a mcp.PromptArgument) bool { return args[a.Name] != "" })
	for i, arg := range open {
		if i == len(open)-1 && len(words) > i {
			args[arg.Name] = strings.Join(words[i:], " ")
		} else if i < len(words) {
			args[arg.Name] = words[i]
		}
	}
	if len(open) == 0 && last != "" {
		args[last] = strings.Join(append([]string{args[last]}, words...), " ")
	}
	return args
}

// fillServerPrompt puts a server's prompt into the draft, and asks before for each argument that it
// requires, with the values that the server proposes.
func fillServerPrompt(o Options, servers *mcp.Servers, p mcp.Prompt, args map[string]string) Effect {
	for _, arg := range p.Arguments {
		if !arg.Required || args[arg.Name] != "" {
			continue
		}
		give := func(value string) Effect {
			more := maps.Clone(args)
			more[arg.Name] = strings.TrimSpace(value)
			return fillServerPrompt(o, servers, p, more)
		}
		if !p.Completes {
			return askPromptArgument(p, arg, nil, give)
		}
		return Prepare(func(ctx context.Context) func() Effect {
			values := servers.Complete(ctx, p, arg.Name, args)
			return func() Effect { return askPromptArgument(p, arg, values, give) }
		})
	}
	return Async(func(ctx context.Context) Effect {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		messages, err := servers.GetPrompt(ctx, p.Server, p.Name, args)
		if err != nil {
			return Failure{Err: err}
		}
		return draftOfServer(o, messages)
	})
}

// askPromptArgument asks for an argument of a server's prompt: to choose from values, or to type.
func askPromptArgument(p mcp.Prompt, arg mcp.PromptArgument, values []string, give func(value string) Effect) Effect {
	title, text := "/"+p.Server+":"+p.Name+": "+arg.Name, arg.Description
	if text == "" {
		text = "The value of " + arg.Name + " in this prompt"
	}
	line := &Secret{Title: title, Text: text, Visible: true, Submit: func(_ context.Context, line string) (func() Effect, error) {
		return func() Effect { return give(line) }, nil
	}}
	if len(values) == 0 {
		return line
	}
	list := &List{Title: title + " · " + text, Noun: "value", Free: true}
	for _, v := range values {
		list.Items = append(list.Items, Item{Title: v, Value: v})
	}
	list.Items = append(list.Items, Item{Title: "Type another value"})
	list.Choose = func(i Item, _ string) Effect {
		if i.Value == "" {
			return line
		}
		return give(i.Value)
	}
	return list
}

// draftOfServer puts what a server wrote into the draft. What it mentions is not brought along: only
// the user says which files a model gets.
func draftOfServer(o Options, messages []llm.Message) Effect {
	var texts []string
	for _, msg := range messages {
		texts = append(texts, msg.Text())
	}
	text, names := o.withoutMentions(strings.Join(texts, "\n\n"))
	if len(names) > 0 {
		return Then{Draft(text), Toast(sanitize.Line(names[0]) + " is not attached: type its @ yourself")}
	}
	return Draft(text)
}
