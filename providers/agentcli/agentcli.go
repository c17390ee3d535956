// Package agentcli speaks to models through another agent's program, with the login that
// has: claude (Claude Code), codex, gemini (Gemini CLI), agy (Antigravity CLI), copilot
// (GitHub Copilot CLI), grok (Grok Build) and qwen (Qwen Code).
//
//	llm.Request ──► prompt (folded history, or what is new) ──► stdin of the program
//	stdout, one JSON object a line ──► decoder of the flavor ──► llm.Events
//
// What the programs do differently is a row of flavors: arguments, environment,
// where prompts and files go, decoder, exit codes. They are used for chat alone: their own tools, settings
// and memory are switched off as far as they let themselves be, and tools that
// they run nevertheless are shown, never run again. A version that does not know the flags
// for that is not used. Claude Code and Gemini CLI keep their
// conversations themselves; the id of one rides in the State of the answer, and the
// next request goes on from there. Where that is not possible, the conversation
// so far is told as text. A program never outlives the stream it answers.
//
// The arguments and output of codex 0.169, qwen 0.15, copilot 1.0.102 and gemini 0.61 were
// seen of the programs themselves; those of agy and grok are what their users and
// documentation tell, so their decoders take more than one form.
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

	"parley/providers/llm"
	"parley/providers/wire"
	proc "parley/tools/process"
	"parley/tools/sanitize"
)

// The commands of a configuration.
type (
	CommandLine = proc.CommandLine
	ShellText   = proc.ShellText
)

// Options say which program a Model runs.
type Options struct {
	Provider    string        // as configured, for errors
	Model       string        // as the program calls it
	Kind        string        // one of Kinds
	Command     CommandLine   // path or name of the program, with first arguments; none is the usual name, on PATH
	Key         string        // goes to the program; "" leaves it to its login and the environment
	KeyName     string        // where a key comes from, such as "ANTHROPIC_API_KEY"; for errors
	IdleTimeout time.Duration // longest silence; 0 is 300 s
	Grace       time.Duration // between the request to end and the end by force; 0 is 5 s
	Env         []string      // NAME=value, on top of what Environment passes of parley's own
	Workdir     string        // where the program runs; "" is an empty directory of parley's
	Tap         *wire.Tap     // keeps what is said; nil for none
	Replay      *wire.Replay  // answers in the place of the program; nil for none
	Secrets     []string      // masked in what is kept, beside those of the environment
}

const (
	defaultIdleTimeout = 300 * time.Second
	defaultGrace       = 5 * time.Second
)

// A Model is a program that answers. It is safe for concurrent use.
type Model struct {
	o       Options
	flavor  flavor
	notices llm.Notices          // those the user has seen
	mask    func() sanitize.Mask // takes credentials out of what the program says

	mu           sync.Mutex
	refused      map[string]bool // flags that this version of the program does not know
	idleSessions map[string]int  // sessions nobody is using, and how many answers they hold
}

// New returns the model that o describes. Nothing is run before Stream. A kind
// that is none of Kinds fails there.
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

// Origin names the program: any of its models can go on with its sessions.
func (m *Model) Origin() string { return "command/" + m.o.Kind }

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

// Find returns what starts the program of a kind, an absolute path and its first arguments:
// command, or, if there is none, the usual one. A name without a directory is looked for in the
// directories of path, a list such
// as PATH holds. A line for a shell gets what follows as its parameters. The error says how to get
// the program.
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
	message := fmt.Sprintf("%s is not on PATH: install it with %q, or set command to its path in config.toml", f.program, f.install)
	if !command.IsZero() {
		message = fmt.Sprintf("program %s not found: correct command in config.toml, or install %s with %q", argv[0], f.program, f.install)
	}
	return nil, &llm.Error{Fault: llm.Unsupported, Message: message}
}

// maxVersionOutput bounds the bytes that are read of what a program prints.
const maxVersionOutput = 16 << 10

// Version runs the program that [Find] found for a provider's kind, and returns what it says its
// version is; "unknown" for nothing.
func Version(ctx context.Context, provider, kind string, argv []string) (string, error) {
	out := proc.PrefixBuffer{Limit: maxVersionOutput}
	cmd := exec.CommandContext(ctx, argv[0], append(slices.Clip(argv[1:]), "--version")...)
	cmd.Env = append(Environment(kind, os.Environ()), "TERM=dumb", "NO_COLOR=1", "CI=true")
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // what it started may hold the pipe open
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

// lookUp returns the absolute path of a program, "" if it cannot be run.
func lookUp(name, path string) string {
	candidates := []string{name}
	if filepath.Base(name) == name {
		candidates = nil
		for _, folder := range filepath.SplitList(path) {
			if filepath.IsAbs(folder) { // any other leads to wherever parley happens to run
				candidates = append(candidates, filepath.Join(folder, name))
			}
		}
	}
	for _, candidate := range candidates {
		found, err := exec.LookPath(candidate) // knows what is executable, and the endings that Windows adds
		if err == nil {
			found, err = filepath.Abs(found)
		}
		if err == nil {
			return found
		}
	}
	return ""
}

// expand puts the home directory in place of a leading ~.
func expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// Preview returns what Stream would run for req, as text: the command with its
// arguments, the variables that are set for it, and what it reads. Nothing is
// run.
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

// attempts bounds how often a program is started that refuses its arguments,
// each time with fewer.
const attempts = 6

// runWithDowngrades runs the program, again where it can be humored.
func (m *Model) runWithDowngrades(ctx context.Context, req llm.Request, out *llm.Out) error {
	argv := []string{m.flavor.program}
	if m.o.Replay == nil {
		found, err := Find(m.o.Kind, m.o.Command, os.Getenv("PATH"))
		if err != nil {
			return err
		}
		argv = found
	}
	anew := false
	for attempt := 1; ; attempt++ {
		r, err := m.compile(req, anew)
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
		flags, missed := m.learnRefusedFlags(r.args, a.firstStderr)
		switch {
		case r.resume.Session != "" && m.flavor.lostSession().MatchString(err.Error()+a.firstStderr):
			anew = true
			m.notices.SendOnce(out, fmt.Sprintf("%s no longer has the session: the conversation so far is sent as text", m.flavor.program))
		case missed != "":
			return m.flavor.outdatedError(missed)
		case len(flags) > 0:
			m.notices.SendOnce(out, fmt.Sprintf("this version of %s does not know %s; not sent", m.flavor.program, strings.Join(flags, ", ")))
		default:
			return err
		}
	}
}

// learnRefusedFlags returns the flags of args that a program complained about, as far as it
// can do without them, and leaves them out from now on. Missed is the first without which it
// does not run; "" if there is none.
func (m *Model) learnRefusedFlags(args []string, output string) (flags []string, required string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, complaint := range unknownFlagRE().FindAllStringSubmatch(output, -1) {
		for _, name := range strings.FieldsFunc(strings.Join(complaint[1:], ","), isSeparator) {
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

func isSeparator(r rune) bool { return r == ',' || r == ' ' }

// supportedArgs drops the arguments that the program does not know.
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

// withProvider fills in who failed, and takes out what must not be seen.
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
