package termimage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// A Protocol is a way to show images in a terminal.
type Protocol string

// The protocols. ITerm and Sixel draw an image row by row; see Strips.
const (
	Kitty  Protocol = "kitty"
	ITerm  Protocol = "iterm"
	Sixel  Protocol = "sixel"
	Blocks Protocol = "blocks"
	Off    Protocol = "off"
)

// Settings lists the values of a setting for Detect.
func Settings() []string {
	return []string{"auto", string(Kitty), string(ITerm), string(Sixel), string(Blocks), string(Off)}
}

// Detect returns the protocol for a setting: "auto" or "" chooses by the environment. ask reports whether the
// terminal, or tmux, may support more than the returned protocol and has to be queried.
//
// kitty draws placeholders since version 0.28, Ghostty since 1.0. Others support the
// protocol but show placeholders as boxes (WezTerm, Konsole, iTerm2, Warp).
// Konsole does not erase an image when text is drawn over it. Multiplexers pass graphics through only if
// configured to. Without colors, nothing can be drawn: a placeholder has the number of its image as its color.
func Detect(setting string, getenv func(string) string) (p Protocol, ask bool) {
	env := []string{"TERM", "COLORTERM", "NO_COLOR", "TERM_PROGRAM", "TMUX"}
	for i, name := range env {
		env[i] = name + "=" + getenv(name)
	}
	term, program, colors := getenv("TERM"), getenv("TERM_PROGRAM"), colorprofile.Env(env)
	switch auto := setting == "auto" || setting == ""; {
	case colors < colorprofile.ANSI || getenv("NO_COLOR") != "":
		return Off, false
	case !auto && (narrow() || setting == string(Off)):
		return Protocol(setting), false
	case !narrow(), getenv("KONSOLE_VERSION") != "", getenv("STY") != "", getenv("ZELLIJ") != "", strings.HasPrefix(term, "screen") && getenv("TMUX") == "":
		return Blocks, false
	case getenv("TMUX") != "":
		return Blocks, true
	case strings.HasPrefix(term, "tmux"):
		return Blocks, false
	case PlacesCells(term), program == "ghostty":
		return Kitty, term == "xterm-kitty"
	case slices.Contains([]string{"iTerm.app", "WezTerm", "mintty"}, program), getenv("LC_TERMINAL") == "iTerm2":
		return ITerm, false
	}
	if colors < colorprofile.ANSI256 {
		return Off, true
	}
	return Blocks, true
}

// IsOldKitty reports whether the terminal's name and version are those of a kitty without placeholders.
func IsOldKitty(version string) bool {
	minor, ok := strings.CutPrefix(version, "kitty(0.")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n < 28
}

// PlacesCells reports whether the terminal with this value of TERM draws placeholders.
func PlacesCells(term string) bool { return term == "xterm-kitty" || term == "xterm-ghostty" }
