package routes

import (
	"context"
	"runtime"
	"strings"
)

// An environment holds the facts that determine the routes.
type environment struct {
	getenv  func(string) string
	system  string
	term    string // TERM of the terminal outside of any multiplexer; "" if unknown
	program string
	ssh     bool
	wsl     bool
	screen  bool
	tmux    *server // nil outside of tmux, or if tmux does not answer
}

// A server holds the settings of a tmux server.
type server struct {
	clipboard string // set-clipboard; tmux accepts plain sequences of programs only if "on"
	passes    bool   // allow-passthrough
	knows     bool   // tmux knows that the terminal has a clipboard
}

// accepts reports whether tmux accepts OSC 52 from programs: it puts the text
// into its buffer and passes it on.
func (s *server) accepts() bool { return s != nil && s.clipboard == "on" }

// environment determines the environment.
func (b *Board) environment(ctx context.Context) environment {
	p := environment{
		getenv: b.Getenv, system: b.System, term: b.Getenv("TERM"), program: b.Getenv("TERM_PROGRAM"),
		ssh:    b.Getenv("SSH_TTY") != "" || b.Getenv("SSH_CONNECTION") != "",
		wsl:    b.Getenv("WSL_DISTRO_NAME") != "" || b.Getenv("WSL_INTEROP") != "",
		screen: b.Getenv("STY") != "",
	}
	if p.system == "" {
		p.system = runtime.GOOS
	}
	if b.Getenv("TMUX") != "" {
		b.askTmux(ctx, &p)
	}
	return p
}

// askTmux asks tmux for its settings and its terminal. Since the shell was started, the
// user may have detached and attached from elsewhere. tmux tracks the environment of the
// current client, with a minus before removed variables.
func (b *Board) askTmux(ctx context.Context, p *environment) {
	const format = "#{set-clipboard}\t#{allow-passthrough}\t#{client_termname}\t#{client_termfeatures}"
	out := &capped{most: 8 << 10}
	// The second command fails if tmux has no such variable.
	_ = b.run(ctx, getTimeout, []string{"tmux", "display-message", "-p", format, ";", "show-environment", "SSH_CONNECTION"}, nil, out)
	first, rest, _ := strings.Cut(string(out.text), "\n")
	fields := strings.Split(first, "\t")
	if len(fields) != 4 {
		return
	}
	s := &server{clipboard: fields[0]}
	switch fields[1] {
	case "0", "off":
	default:
		s.passes = true // tmux before 3.3 has no such option
	}
	for _, feature := range strings.Split(fields[3], ",") {
		s.knows = s.knows || feature == "clipboard"
	}
	p.tmux, p.program = s, ""
	if fields[2] != "" {
		p.term = fields[2]
	}
	switch now := strings.TrimSpace(rest); {
	case strings.HasPrefix(now, "-SSH_CONNECTION"):
		p.ssh = false
	case strings.HasPrefix(now, "SSH_CONNECTION="):
		p.ssh = true
	}
}

// Tmux returns the TERM of tmux's terminal, and whether tmux passes sequences of programs on to
// it. It returns "" outside of tmux, and if tmux does not answer.
func (b *Board) Tmux(ctx context.Context) (term string, passes bool) {
	p := b.environment(ctx)
	if p.tmux == nil {
		return "", false
	}
	return p.term, p.tmux.passes
}

// A trait describes a kind of terminal.
type trait struct {
	term, program string // prefix of TERM, or TERM_PROGRAM
	noOSC52       bool   // the terminal has no OSC 52
	limit         int    // maximum bytes of a sequence; 0 for usual
	before        string // sent before the text
}

// usual is the limit of hterm's osc52.sh, which others copied.
const usual = 100_000

// long is the limit for terminals that store a sequence in growing memory.
const long = 2 << 20

var traits = []trait{
	{term: "linux", noOSC52: true},
	{term: "dumb", noOSC52: true},
	{program: "Apple_Terminal", noOSC52: true},
	// Versions of kitty before 0.24 append to the clipboard; invalid base64
	// clears it.
	{term: "xterm-kitty", limit: long, before: "\x1b]52;c;!\x07"},
	{term: "xterm-ghostty", limit: long},
	{program: "ghostty", limit: long},
	{program: "iTerm.app", limit: long},
}

func (p *environment) trait() trait {
	for _, t := range traits {
		if t.term != "" && strings.HasPrefix(p.term, t.term) || t.program != "" && p.program == t.program {
			return t
		}
	}
	return trait{}
}

// supportsOSC52 reports whether the terminal may support OSC 52.
func (p *environment) supportsOSC52() bool { return p.term != "" && !p.trait().noOSC52 }

// limit returns the maximum length of a sequence for the terminal, in bytes.
func (p *environment) limit() int {
	if t := p.trait(); t.limit > 0 {
		return t.limit
	}
	return usual
}

// answers reports whether the terminal answers a request for its clipboard, or
// ignores it. Other terminals ask the user, which is worse than no answer.
func (p *environment) answers() bool {
	return p.tmux == nil && !p.screen && (strings.HasPrefix(p.term, "foot") || p.getenv("XTERM_VERSION") != "")
}
