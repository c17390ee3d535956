package servers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"parley/ui/app"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// prompts lists the prompts of MCP servers.
func (f flow) prompts() (list []app.ServerPrompt, unavailable string) {
	servers := f.servers()
	if servers == nil {
		return nil, f.noServers()
	}
	for _, p := range servers.Prompts() {
		var args []string
		for _, arg := range p.Arguments {
			args = append(args, arg.Name)
		}
		name := p.Server + ":" + p.Name
		list = append(list, app.ServerPrompt{
			Item: app.Item{Title: name, Detail: strings.TrimSpace(p.Description + " " + strings.Join(args, " ")), Value: name},
			Fill: func(args string) app.Effect {
				return fillServerPrompt(f.app.Options, servers, p, promptArguments(p, args))
			},
		})
	}
	if len(list) == 0 {
		unavailable = "No MCP server offers prompts"
	}
	return list, unavailable
}

// promptArguments parses the arguments of a server's prompt: as NAME=VALUE, or in order. The last one takes the rest of
// the line; if all have names, the one named last does.
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

// fillServerPrompt puts a server's prompt into the draft. It first asks for missing required arguments, with the values
// that the server proposes.
func fillServerPrompt(o app.Options, servers mcp.Servers, p mcp.Prompt, args map[string]string) app.Effect {
	for _, arg := range p.Arguments {
		if !arg.Required || args[arg.Name] != "" {
			continue
		}
		give := func(value string) app.Effect {
			more := maps.Clone(args)
			more[arg.Name] = strings.TrimSpace(value)
			return fillServerPrompt(o, servers, p, more)
		}
		if !p.Completes {
			return askPromptArgument(p, arg, nil, give)
		}
		return app.Prepare(func(ctx context.Context) func() app.Effect {
			values := servers.Complete(ctx, p, arg.Name, args)
			return func() app.Effect { return askPromptArgument(p, arg, values, give) }
		})
	}
	return app.Async(func(ctx context.Context) app.Effect {
		messages, err := servers.GetPrompt(ctx, p.Server, p.Name, args)
		if err != nil {
			return app.Fail(err)
		}
		return draftOfServer(o, messages)
	})
}

// askPromptArgument asks for an argument of a server's prompt, with a list if there are values.
func askPromptArgument(p mcp.Prompt, arg mcp.PromptArgument, values []string, give func(value string) app.Effect) app.Effect {
	title, text := "/"+p.Server+":"+p.Name+": "+arg.Name, arg.Description
	if text == "" {
		text = "The value of " + arg.Name + " in this prompt"
	}
	line := &app.Secret{Title: title, Text: text, Visible: true, Submit: func(_ context.Context, line string) (func() app.Effect, error) {
		return func() app.Effect { return give(line) }, nil
	}}
	if len(values) == 0 {
		return line
	}
	items := append(app.Words(values, ""), app.Item{Title: "Type another value"})
	return &app.List{Title: title + " · " + text, Noun: "value", Free: true, Items: items, Choose: func(value string) app.Effect {
		if value == "" {
			return line
		}
		return give(value)
	}}
}

// draftOfServer puts a server's text into the draft. Mentions in it attach nothing: only the user decides which files a
// model gets.
func draftOfServer(o app.Options, messages []llm.Message) app.Effect {
	var texts []string
	for _, msg := range messages {
		texts = append(texts, msg.Text())
	}
	text, names := o.Mentions().Plain(strings.Join(texts, "\n\n"))
	if len(names) > 0 {
		return app.Then{app.Draft(text), app.Toast(sanitize.Line(names[0]) + " is not attached: type its @ yourself")}
	}
	return app.Draft(text)
}
