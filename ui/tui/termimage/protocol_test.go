package termimage

import "testing"

func TestDetect(t *testing.T) {
	if !narrow() {
		t.Skip("placeholders are two cells wide in this locale")
	}
	type env map[string]string
	const xterm = "xterm-256color"
	tests := []struct {
		name, setting string
		env           env
		want          Protocol
		ask           bool
	}{
		{"kitty", "auto", env{"TERM": "xterm-kitty"}, Kitty, true},
		{"ghostty", "auto", env{"TERM": "xterm-ghostty"}, Kitty, false},
		{"ghostty with a plain TERM", "auto", env{"TERM": xterm, "TERM_PROGRAM": "ghostty"}, Kitty, false},
		{"wezterm draws boxes for placeholders", "auto", env{"TERM": xterm, "TERM_PROGRAM": "WezTerm"}, ITerm, false},
		{"iTerm2 over ssh", "auto", env{"TERM": xterm, "LC_TERMINAL": "iTerm2"}, ITerm, false},
		{"konsole leaves images where text is drawn", "auto", env{"TERM": xterm, "KONSOLE_VERSION": "230805"}, Blocks, false},
		{"xterm may have sixel", "auto", env{"TERM": xterm}, Blocks, true},
		{"no setting", "", env{"TERM": xterm}, Blocks, true},
		{"tmux may pass graphics through", "auto", env{"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, Blocks, true},
		{"tmux over ssh", "auto", env{"TERM": "tmux-256color", "TERM_PROGRAM": "ghostty"}, Blocks, false},
		{"screen", "auto", env{"TERM": "screen.xterm-kitty", "COLORTERM": "truecolor"}, Blocks, false},
		{"screen by its variable", "auto", env{"TERM": "xterm-kitty", "STY": "1.pts-0"}, Blocks, false},
		{"zellij", "auto", env{"TERM": "xterm-kitty", "ZELLIJ": "0"}, Blocks, false},
		{"16 colors are too few for half blocks", "auto", env{"TERM": "xterm"}, Off, true},
		{"nothing known", "auto", nil, Off, false},
		{"a setting wins", "sixel", env{"TERM": "xterm-kitty"}, Sixel, false},
		{"iTerm2", "auto", env{"TERM": xterm, "TERM_PROGRAM": "iTerm.app"}, ITerm, false},
		{"mintty", "auto", env{"TERM": xterm, "TERM_PROGRAM": "mintty"}, ITerm, false},
		{"screen is the name in older tmux, too", "auto", env{"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, Blocks, true},
		{"tmux inside kitty", "auto", env{"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"}, Blocks, true},
		{"a setting wins over konsole", "kitty", env{"TERM": xterm, "KONSOLE_VERSION": "230805"}, Kitty, false},
		{"a setting needs colors", "kitty", nil, Off, false},
		{"off", "off", env{"TERM": "xterm-kitty"}, Off, false},
		{"NO_COLOR wins over kitty", "auto", env{"TERM": "xterm-kitty", "NO_COLOR": "1"}, Off, false},
		{"NO_COLOR wins over a setting", "kitty", env{"TERM": xterm, "COLORTERM": "truecolor", "NO_COLOR": "1"}, Off, false},
	}
	for _, tt := range tests {
		if got, ask := Detect(tt.setting, func(key string) string { return tt.env[key] }); got != tt.want || ask != tt.ask {
			t.Errorf("%s: %s, ask %t, want %s, %t", tt.name, got, ask, tt.want, tt.ask)
		}
	}
}

func TestIsOldKitty(t *testing.T) {
	for version, want := range map[string]bool{
		"kitty(0.26.5)": true, "kitty(0.28.0)": false, "kitty(0.41.1)": false, "kitty(1.2)": false, "kitty(0.x)": false, "kitty": false,
		"ghostty 1.1.0": false, "XTerm(379)": false, "": false,
	} {
		if got := IsOldKitty(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}
