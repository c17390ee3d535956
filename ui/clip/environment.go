package clip

import (
	"context"
	"runtime"
	"strings"
)

// An environment holds the facts that decide about the routes.
type environment struct {
	getenv  func(string) string
	system  string
	term    string // of the terminal that shows the multiplexer, if that is known
	program string
	ssh     bool
	wsl     bool
	screen  bool
	tmux    *server // nil: not in one, or it cannot be asked
}

// A server holds the settings of a tmux server.
type server struct {
	clipboard string // set-clipboard: only "on" takes plain sequences of programs
	passes    bool   // allow-passthrough
	knows     bool   // that the terminal has a clipboard
}

// accepts reports whether tmux takes OSC 52 of a program: it puts the text into
// its buffer and hands it on.
func (s *server) accepts() bool { return s != nil && s.clipboard == "on" }

// environment looks around.
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

// askTmux asks tmux for its settings and the terminal that shows it. Since the shell was
// started, people may have left and come back from elsewhere: tmux keeps who is
// there now, with a minus before removed ones.
func (b *Board) askTmux(ctx context.Context, p *environment) {
	const format = "#{set-clipboard}\t#{allow-passthrough}\t#{client_termname}\t#{client_termfeatures}"
	out := &capped{most: 8 << 10}
	// The second question fails if tmux has nothing to say about it.
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
		s.passes = true // before tmux 3.3 there was no such option
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

// A trait holds facts about a terminal.
type trait struct {
	term, program string // beginning of TERM, or TERM_PROGRAM
	noOSC52       bool   // it has no OSC 52
	limit         int    // bytes of a sequence that arrive; 0: as usual
	before        string // is sent before the text
}

// usual is the limit of hterm's osc52.sh, which many copy from.
const usual = 100_000

// long is the limit of terminals that keep a sequence in growing memory.
const long = 2 << 20

var traits = []trait{
	{term: "linux", noOSC52: true},
	{term: "dumb", noOSC52: true},
	{program: "Apple_Terminal", noOSC52: true},
	// Versions of kitty before 0.24 add to what they have; what is no base64
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

// supportsOSC52 reports whether the terminal may take OSC 52.
func (p *environment) supportsOSC52() bool { return p.term != "" && !p.trait().noOSC52 }

// limit returns how long a sequence for the terminal may be.
func (p *environment) limit() int {
	if t := p.trait(); t.limit > 0 {
		return t.limit
	}
	return usual
}

// answers reports whether the terminal, asked what is on its clipboard, answers
// or keeps silent. Others ask the user, which would be worse than not knowing.
func (p *environment) answers() bool {
	return p.tmux == nil && !p.screen && (strings.HasPrefix(p.term, "foot") || p.getenv("XTERM_VERSION") != "")
}
