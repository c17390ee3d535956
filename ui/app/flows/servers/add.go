package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"parley/tools/mcp"
	"parley/tools/process"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// addHelp describes the argument of /mcp add.
const addHelp = "NAME -- COMMAND, NAME URL, or the JSON block of the server's README"

// add adds servers to config.toml: one given by its command or address, or those in a JSON block.
func (f flow) add(line string) app.Effect {
	if line == "" { // the line may have keys, which do not belong in the draft
		return &app.Secret{Title: "Add an MCP server", Text: "Paste " + addHelp, Visible: true, Submit: func(_ context.Context, line string) (func() app.Effect, error) {
			found, notes, err := parseAdd(line)
			return func() app.Effect { return f.ask(found, notes) }, err
		}}
	}
	found, notes, err := parseAdd(line)
	e := app.Fail(err)
	if err == nil {
		e = f.ask(found, notes)
	}
	if failed, ok := e.(app.Failure); ok {
		failed.Line = "/mcp add" // without the keys of the line
		return failed
	}
	return e
}

const undoHint = " · /settings undo takes it back"

// A found server is to be added, with its secrets by the names of their variables.
type found struct {
	mcp.Config
	secrets map[string]string
}

// parseAdd parses the argument of /mcp add.
func parseAdd(line string) (servers map[string]found, notes []string, err error) {
	var configs map[string]mcp.Config
	line = strings.TrimSpace(line)
	name, rest, _ := strings.Cut(line, " ")
	switch rest = strings.TrimSpace(rest); {
	case strings.ContainsAny(line[:min(len(line), 1)], "{\"`"):
		configs, notes, err = parseBlock(line, "")
	case strings.HasPrefix(rest, "{"):
		configs, notes, err = parseBlock(rest, name)
	default:
		configs, err = parseLine(line)
	}
	if err == nil {
		err = mcp.Validate(configs)
	}
	servers = map[string]found{}
	for name, c := range configs {
		secrets := takeSecrets(c)
		if servers[name] = (found{c, secrets}); len(mcp.ConfigSecrets(mcp.Config{Command: c.Command, Args: c.Args, URL: c.URL})) > 0 {
			notes = append(notes, name+": the key in its command or address stays in config.toml")
		}
	}
	return servers, notes, err
}

// parseLine parses a server as one would write it in a shell.
func parseLine(line string) (map[string]mcp.Config, error) {
	var c mcp.Config
	name := ""
	for line != "" {
		word, rest, _ := nextWord(line)
		option, value, joined := strings.Cut(word, "=")
		take := func() error {
			if !joined {
				value, rest, _ = nextWord(rest)
			}
			if value == "" {
				return fmt.Errorf("%s needs a value", option)
			}
			return nil
		}
		var err error
		switch {
		case option == "--url":
			err = take()
			c.URL = value
		case option == "--env" || option == "-e":
			err = errors.Join(take(), pair(&c.Env, option, value, "="))
		case option == "--header" || option == "-H":
			err = errors.Join(take(), pair(&c.Headers, option, value, ":="))
		case slices.Contains([]string{"--transport", "-t", "--scope", "-s"}, option): // of other programs
			err = take()
		case word == "--", name != "" && !strings.HasPrefix(word, "-") && !isURL(word):
			if word != "--" {
				rest = line
			}
			c.Command, c.Args, err = parseCommand(rest)
			rest = ""
		case strings.HasPrefix(word, "-"):
			err = fmt.Errorf("unknown option %s", option)
		case isURL(word) && name != "":
			c.URL = word
		default:
			name = word
		}
		if err != nil {
			return nil, err
		}
		line = rest
	}
	if name == "" || c.Command.IsZero() && c.URL == "" {
		return nil, errors.New("give " + addHelp)
	}
	return map[string]mcp.Config{name: c}, nil
}

func isURL(word string) bool {
	scheme, _, found := strings.Cut(word, "://")
	return found && !strings.ContainsAny(scheme, "/= ")
}

// pair adds the NAME=VALUE of an option to values; separators has the characters that may stand between them.
func pair(values *map[string]string, option, text, separators string) error {
	at := strings.IndexAny(text, separators)
	if at <= 0 {
		return fmt.Errorf("%s: write NAME%cVALUE", option, separators[0]) // text may be a key
	}
	if *values == nil {
		*values = map[string]string{}
	}
	(*values)[text[:at]] = strings.TrimSpace(text[at+1:])
	return nil
}

// parseCommand parses a command line. One that only a shell understands stays as it is.
func parseCommand(line string) (c process.CommandLine, args []string, err error) {
	var words []string
	for rest := line; rest != ""; {
		word, after, special := nextWord(rest)
		if special {
			return process.ShellLine(line), nil, nil
		}
		words, rest = append(words, word), after
	}
	if len(words) == 0 {
		return c, nil, errors.New("the command is missing")
	}
	return process.CommandLine{Words: words[:1]}, words[1:], nil
}

// nextWord returns the first word of a line without its quotes, and the rest. Special reports characters that only a
// shell understands.
func nextWord(line string) (word, rest string, special bool) {
	var b strings.Builder
	quote := byte(0)
	line = strings.TrimSpace(line)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line) && (runtime.GOOS != "windows" || strings.IndexByte(`\"' `, line[i+1]) >= 0):
			i++
			b.WriteByte(line[i])
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			return b.String(), strings.TrimSpace(line[i:]), special
		default:
			special = special || quote != '\'' && strings.IndexByte("$`", c) >= 0 || quote == 0 && strings.IndexByte("&|;<>()*?!~", c) >= 0
			b.WriteByte(c)
		}
	}
	return b.String(), "", special || quote != 0
}

// ask asks for secrets that have no value yet, and then adds the servers.
func (f flow) ask(servers map[string]found, notes []string) app.Effect {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		for _, ref := range slices.Sorted(maps.Keys(servers[name].secrets)) {
			switch secrets := servers[name].secrets; {
			case secrets[ref] != "":
			case f.app.Session == nil:
				delete(secrets, ref)
				notes = append(notes, fmt.Sprintf("%s has no value: set it in your environment, or remove and add %s with --env %s=VALUE", ref, name, ref))
			default:
				return &app.Secret{Title: ref + " of MCP server " + name, Text: "It is stored with your keys, and not in config.toml. Empty: the variable of your environment is used", Optional: true,
					Submit: func(_ context.Context, line string) (func() app.Effect, error) {
						return func() app.Effect {
							if secrets[ref] = strings.TrimSpace(line); secrets[ref] == "" {
								delete(secrets, ref)
							}
							return f.ask(servers, notes)
						}, nil
					}}
			}
		}
	}
	return f.review(servers, notes)
}

// review asks before servers get variables of the environment: a README can name any.
func (f flow) review(servers map[string]found, notes []string) app.Effect {
	var gets []string
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		refs := slices.DeleteFunc(s.Variables(), func(ref string) bool { return s.secrets[ref] != "" || os.Getenv(ref) == "" })
		if len(refs) > 0 {
			gets = append(gets, fmt.Sprintf("%s sends $%s from your environment to %s", name, strings.Join(refs, ", $"), sanitize.Line(s.Location())))
		}
	}
	if len(gets) == 0 || f.app.Session == nil {
		return f.write(servers, append(notes, gets...))
	}
	return &app.Confirm{Text: "MCP server " + strings.Join(gets, "\nMCP server ") + "\n\nAdd it?", Yes: "Add", No: "Cancel",
		Accept:  func() app.Effect { return f.write(servers, notes) },
		Decline: func() app.Effect { return app.Toast("No MCP server added") }}
}

// write writes new servers to config.toml, and their secrets to the store of keys.
func (f flow) write(servers map[string]found, notes []string) app.Effect {
	tables, secrets := map[string]string{}, map[string]map[string]string{}
	for name, s := range servers {
		tables[name] = table(name, s.Config)
		if len(s.secrets) > 0 {
			secrets[name] = s.secrets
		}
	}
	if len(secrets) > 0 && f.app.MCP.SaveSecret == nil {
		return app.Refuse("this build stores no keys: write ${NAME} for them, and set NAME in your environment")
	}
	said := "MCP server added: "
	if len(servers) > 1 {
		said = "MCP servers added: "
	}
	said += strings.Join(append([]string{strings.Join(slices.Sorted(maps.Keys(servers)), ", ")}, notes...), " · ")
	if f.app.Session != nil { // undo lasts as long as the program
		said += undoHint
	}
	e := f.app.ConfigFile.WriteTables("mcp", tables, said, func() error { return f.forget(secrets) })
	return f.then(e, secrets, f.save)
}

// then stores or deletes secrets once tables were written, before e makes them count. A store of keys may have to be
// unlocked.
func (f flow) then(e app.Effect, secrets map[string]map[string]string, do func(map[string]map[string]string) error) app.Effect {
	if _, failed := e.(app.Failure); failed || len(secrets) == 0 {
		return e
	}
	return app.Prepare(func(context.Context) func() app.Effect {
		err := do(secrets)
		return func() app.Effect {
			if err != nil {
				return app.Then{app.Fail(err), e}
			}
			return e
		}
	})
}

// save stores secrets by server and name.
func (f flow) save(secrets map[string]map[string]string) (err error) {
	for server, values := range secrets {
		for name, value := range values {
			err = errors.Join(err, f.app.MCP.SaveSecret(server, name, value))
		}
	}
	return err
}

// forget deletes secrets by server and name.
func (f flow) forget(secrets map[string]map[string]string) (err error) {
	for server, values := range secrets {
		for name := range values {
			err = errors.Join(err, f.app.MCP.SaveSecret(server, name, ""))
		}
	}
	return err
}

// table returns a server as a table of config.toml.
func table(name string, c mcp.Config) string {
	var b strings.Builder
	line := func(key string, v any) {
		text, _ := toml.Marshal(map[string]any{key: v}) // texts can be marshaled
		b.Write(text)
	}
	fmt.Fprintf(&b, "[mcp.%s]\n", toml.Key{name})
	switch {
	case c.URL != "":
		line("url", c.URL)
	case c.Command.Shell || len(c.Command.Words) == 1 && process.Quote(c.Command.Words[0]) == c.Command.Words[0]:
		line("command", c.Command.Words[0])
	default:
		line("command", c.Command.Words)
	}
	if len(c.Args) > 0 {
		line("args", c.Args)
	}
	if c.Cwd != "" {
		line("cwd", c.Cwd)
	}
	if c.Disabled {
		line("disabled", true)
	}
	for _, key := range []string{"env", "headers"} {
		values := map[string]map[string]string{"env": c.Env, "headers": c.Headers}[key]
		if len(values) > 0 {
			fmt.Fprintf(&b, "\n[mcp.%s.%s]\n", toml.Key{name}, key)
			for _, one := range slices.Sorted(maps.Keys(values)) {
				line(one, values[one])
			}
		}
	}
	return b.String()
}

// remove takes a server out of config.toml, with its secrets.
func (f flow) remove(name string) app.Effect {
	if f.app.MCP.Secrets == nil {
		return f.removeWith(name, nil)
	}
	return app.Prepare(func(context.Context) func() app.Effect {
		secrets, err := f.app.MCP.Secrets(name)
		return func() app.Effect {
			if err != nil {
				return app.Fail(err)
			}
			return f.removeWith(name, secrets)
		}
	})
}

func (f flow) removeWith(name string, values map[string]string) app.Effect {
	said, secrets := "MCP server "+name+" removed", map[string]map[string]string{}
	if len(values) > 0 {
		said, secrets[name] = said+", with its stored keys", values
	}
	if f.app.Session != nil {
		said += undoHint
	}
	e := f.app.ConfigFile.WriteTables("mcp", map[string]string{name: ""}, said, func() error { return f.save(secrets) })
	return f.then(e, secrets, f.forget)
}
