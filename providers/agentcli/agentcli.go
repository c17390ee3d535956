// Package agentcli talks to models through the command-line programs of other agents, using their
// logins: claude (Claude Code), codex, gemini (Gemini CLI), agy (Antigravity CLI), copilot (GitHub
// Copilot CLI), grok (Grok Build) and qwen (Qwen Code).
//
//	llm.Request ──► prompt (folded history, or new messages) ──► stdin of the program
//	stdout, one JSON object a line ──► decoder of the flavor ──► llm.Events
//
// A row of flavors describes one program: arguments, environment, where prompts and
// files go, decoder, exit statuses. The programs are used for chat only: their own tools, settings
// and memory are switched off as far as possible, and tools that they run nevertheless are shown but
// never run again. A version that does not know the flags for that is not used. Claude Code and
// Gemini CLI store conversations themselves; the State of an answer holds the session id, and the
// next request resumes it. Where that is not possible, the conversation so far is sent as text. A
// program never outlives the stream that it answers.
//
// The arguments and output of claude 2.1.332, codex 0.169 and 0.171, qwen 0.15 and 0.24, copilot
// 1.0.102, gemini 0.61 and grok 1.0.41 were observed with the programs themselves; those of agy come
// from its documentation and reports of users. The decoders of agy and grok accept more than one
// form.
package agentcli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/llm"
	proc "parley/tools/process"
	"parley/tools/sanitize"
)

// Types of package adapter that the family uses.
type (
	Options     = adapter.ProgramOptions
	CommandLine = proc.CommandLine
)

// Family runs the programs.
var Family = adapter.Family{
	Kinds: Kinds,
	Traits: func(o adapter.Options) adapter.Traits {
		return adapter.Traits{Origin: origin(o.Kind), Files: []string{"application/pdf"}}
	},
	Programs: &adapter.Programs{
		Open: func(o Options) adapter.Program { return New(o) }, Find: Find, Version: Version, Login: loginOf, Names: Programs,
	},
}

const (
	defaultIdleTimeout = 300 * time.Second
	defaultGrace       = 5 * time.Second
)

// A Model is a model used through a program. It is safe for concurrent use.
type Model struct {
	o       Options
	flavor  flavor
	notices llm.Notices          // notices already shown to the user
	mask    func() sanitize.Mask // masks credentials in the output of the program

	mu           sync.Mutex      // guards the fields below
	refused      map[string]bool // flags that this version of the program does not know
	idleSessions map[string]int  // number of answers by id of a session that no request is using
}

// New returns the model that o describes. It runs nothing before Stream, which also reports an
// unknown kind.
func New(o Options) *Model {
	if f := flavors[o.Kind]; o.Key != "" {
		o.Env = append([]string{f.key + "=" + o.Key}, o.Env...)
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	m := &Model{
		o:            o,
		flavor:       flavors[o.Kind],
		refused:      map[string]bool{},
		idleSessions: map[string]int{},
	}
	m.mask = sync.OnceValue(func() sanitize.Mask { return sanitize.NewMask(m.credentials(), minSecret) })
	return m
}

// Origin returns the name of the program: any of its models can resume its sessions.
func (m *Model) Origin() string { return origin(m.o.Kind) }

func origin(kind string) string { return "command/" + kind }

// Stream implements llm.Model. Canceling ctx, or leaving the loop, ends the
// program and everything it started before the sequence ends.
func (m *Model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := m.runWithDowngrades(ctx, req, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return m.withProvider(err)
	})
}

// Find returns the absolute path and first arguments that start the program of a kind: those of
// command, or the usual ones if it is zero. A name without a directory is looked up in path, a list
// in the form of PATH, but not in the working directory. A shell command line gets further arguments as its
// parameters. The error says how to install the program.
func Find(kind string, command CommandLine, path string) (argv []string, err error) {
	f, ok := flavors[kind]
	if !ok {
		return nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("unknown kind of program %q", kind)}
	}
	argv = []string{f.program}
	if !command.IsZero() {
		whole := command
		whole.Words = append([]string{expand(command.Words[0])}, command.Words[1:]...)
		if whole = whole.WithArgs(); !whole.Shell { // a shell takes ~ itself
			command = whole
		}
		if argv = command.Words; command.Shell {
			argv = []string{"sh", "-c", command.Words[0] + ` "$@"`, f.program}
		}
	}
	if found := lookUp(argv[0], path); found != "" {
		return append([]string{found}, argv[1:]...), nil
	}
	if there := (proc.SearchPath{List: path}).Find(argv[0]); there != "" && filepath.Base(argv[0]) == argv[0] {
		return nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s is only found in the current folder: if you trust it, set command to %q in config.toml", argv[0], there), Advises: true}
	}
	message := fmt.Sprintf("%s is not on PATH: install it with %q, or set command to its path in config.toml", f.program, f.install)
	if !command.IsZero() {
		message = fmt.Sprintf("program %s not found: correct command in config.toml, or install %s with %q", argv[0], f.program, f.install)
	}
	return nil, &llm.Error{Fault: llm.Unsupported, Message: message, Advises: true}
}

// maxVersionOutput bounds the output of --version, in bytes.
const maxVersionOutput = 16 << 10

// Version runs argv, which [Find] returned, with --version and returns the first line of its output;
// "unknown" if there is none.
func Version(ctx context.Context, provider, kind string, argv []string) (string, error) {
	out := proc.PrefixBuffer{Limit: maxVersionOutput}
	cmd := exec.CommandContext(ctx, argv[0], append(slices.Clip(argv[1:]), "--version")...)
	cmd.Env = append(Environment(kind, os.Environ()), "TERM=dumb", "NO_COLOR=1", "CI=true")
	cmd.Dir = string(filepath.Separator) // some programs read settings in their working directory
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a child may hold the pipe open
	began := time.Now()
	err := cmd.Run()
	why := ""
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		why = fmt.Sprintf("%s did not tell its version within %s", argv[0], time.Since(began).Round(time.Second))
	case errors.As(err, &exit):
		why = fmt.Sprintf("%s --version failed (%s)", argv[0], exit.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		why = argv[0] + " cannot be started"
	}
	if why != "" {
		return "", &llm.Error{Fault: llm.Unknown, Provider: provider, Message: why}
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	return cmp.Or(strings.ToValidUTF8(string(line[:min(len(line), 80)]), ""), "unknown"), nil
}

// lookUp returns the absolute path of a program; "" if there is none that can be run.
func lookUp(name, path string) string {
	if filepath.Base(name) == name {
		return proc.OutsideWorkspace(path).Find(name)
	}
	found, err := exec.LookPath(name) // checks permissions, and adds the extensions of Windows
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return ""
	}
	return found
}

// expand replaces a leading ~ with the home directory.
func expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// Preview returns what Stream would run for req, as text: the variables that are set, the command
// with its arguments, and its standard input. It runs nothing.
func (m *Model) Preview(req llm.Request) (string, error) {
	argv, err := Find(m.o.Kind, m.o.Command, os.Getenv("PATH"))
	if err != nil {
		return "", m.withProvider(err)
	}
	r, err := m.compile(req, false)
	if err != nil {
		return "", m.withProvider(err)
	}
	defer r.cleanUp()
	m.releaseSession(r.resume)
	var b strings.Builder
	for _, v := range append(baseEnvironment(r), m.flavorEnv(r)...) {
		b.WriteString(v + "\n")
	}
	b.WriteString(argv[0])
	for _, arg := range append(argv[1:], r.args...) {
		b.WriteString(" " + strconv.Quote(arg))
	}
	return m.mask().Text(b.String() + "\n\n" + string(r.stdin) + "\n"), nil
}

// attempts bounds how often a program that refuses its arguments is started, each time with fewer.
const attempts = 6

// runWithDowngrades runs the program, and again without flags that it refuses, or without a session
// that it has lost.
func (m *Model) runWithDowngrades(ctx context.Context, req llm.Request, out *llm.Out) error {
	argv := []string{m.flavor.program}
	if m.o.Replay == nil {
		found, err := Find(m.o.Kind, m.o.Command, os.Getenv("PATH"))
		if err != nil {
			return err
		}
		argv = found
	}
	newSession := false
	for attempt := 1; ; attempt++ {
		r, err := m.compile(req, newSession)
		if err != nil {
			return err
		}
		m.notices.SendOnce(out, r.notices...)
		a := &answer{out: out, run: r, flavor: m.flavor, mask: m.mask()}
		err = m.run(ctx, argv, a)
		r.cleanUp()
		if err == nil || ctx.Err() != nil || out.Stopped() || a.shown || attempt == attempts {
			return err
		}
		flags, required := m.learnRefusedFlags(r.args, a.firstStderr)
		switch {
		case r.resume.Session != "" && m.flavor.lostSession.MatchString(err.Error()+a.firstStderr):
			newSession = true
			m.notices.SendOnce(out, fmt.Sprintf("%s no longer has the session: the conversation so far is sent as text", m.flavor.program))
		case required != "":
			return m.flavor.outdatedError(required)
		case len(flags) > 0:
			m.notices.SendOnce(out, fmt.Sprintf("this version of %s does not know %s; not sent", m.flavor.program, strings.Join(flags, ", ")))
		default:
			return err
		}
	}
}

// learnRefusedFlags returns the optional flags of args that the program refuses by its output, and
// leaves them out of later runs. Required is the first refused flag that is not optional; "" if
// there is none.
func (m *Model) learnRefusedFlags(args []string, output string) (flags []string, required string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, complaint := range unknownFlagRE.FindAllStringSubmatch(output, -1) {
		for name := range strings.FieldsSeq(strings.ReplaceAll(strings.Join(complaint[1:], " "), ",", " ")) {
			flag := "--" + strings.TrimLeft(name, "-")
			switch {
			case !slices.ContainsFunc(args, func(arg string) bool { return flagOf(arg) == flag }):
			case !m.flavor.optional[flag]:
				required = cmp.Or(required, flag)
			case !m.refused[flag]:
				m.refused[flag] = true
				flags = append(flags, flag)
			}
		}
	}
	return flags, required
}

// flagOf returns an argument without its value.
func flagOf(arg string) string {
	flag, _, _ := strings.Cut(arg, "=")
	return flag
}

// supportedArgs returns args without those that the program has refused.
func (m *Model) supportedArgs(args []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := make([]string, 0, len(args))
	for _, arg := range args {
		if !m.refused[flagOf(arg)] {
			kept = append(kept, arg)
		}
	}
	return kept
}

func (m *Model) isRefused(flag string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused[flag]
}

// withProvider returns err with the provider and key names filled in and credentials masked.
func (m *Model) withProvider(err error) *llm.Error {
	fault := &llm.Error{Fault: llm.Unknown, Message: err.Error()}
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		same := *found
		fault = &same
	}
	fault.Provider, fault.Key = m.o.Provider, m.o.KeyName
	if fault.Fault == llm.Authentication {
		fault.Login = m.flavor.login
	}
	fault.Message = m.mask().Text(fault.Message)
	return fault
}
