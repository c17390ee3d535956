//go:build unix

package routes

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llmtest"
	"parley/ui/clip"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a machine with a terminal and the test's own commands.
type desk struct {
	*Board
	t    *testing.T
	bin  string
	held string // directory in which fakes store their input
	env  map[string]string

	mu   sync.Mutex
	wire []string // output to the terminal
}

func sit(t *testing.T, env map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, bin: t.TempDir(), held: t.TempDir(), env: map[string]string{}}
	for name, value := range env {
		d.env[name] = value
	}
	d.env["PATH"] = d.bin
	d.Board = &Board{
		System: "linux", Directory: filepath.Join(t.TempDir(), "state", "parley"),
		Getenv:  func(name string) string { return d.env[name] },
		timeout: patient,
		Terminal: func(seq string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.wire = append(d.wire, seq)
		},
	}
	return d
}

// patient allows a minute for everything, for test commands on busy machines.
func patient(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Minute)
}

// expire lets operations with this limit time out when a file stored by a fake has the given
// number of lines, and not before.
func (d *desk) expire(limit time.Duration, file string, lines int) {
	d.timeout = func(ctx context.Context, l time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := patient(ctx, l)
		if l != limit {
			return ctx, cancel
		}
		go func() {
			for ctx.Err() == nil {
				if b, _ := os.ReadFile(filepath.Join(d.held, file)); strings.Count(string(b), "\n") >= lines {
					cancel()
				}
				time.Sleep(time.Millisecond)
			}
		}()
		return ctx, cancel
	}
}

// install puts a command on PATH: a shell script, in which $held is the
// directory of stored input.
func (d *desk) install(name, script string) {
	d.t.Helper()
	for _, tool := range []string{"cat", "sleep", "env", "mv"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			d.t.Skipf("there is no %s here", tool)
		}
		script = strings.ReplaceAll(script, tool+" ", path+" ")
	}
	d.write(filepath.Join(d.bin, name), "#!/bin/sh\nheld="+d.held+"\n"+script+"\n")
}

// write writes an executable, or the stored input of a fake.
func (d *desk) write(path, script string) {
	d.t.Helper()
	llmtest.Executable(d.t, path, script)
}

// tmux installs a tmux with these settings.
func (d *desk) tmux(clipboard, passthrough, features, ssh string) {
	d.env["TMUX"], d.env["TERM"] = "/tmp/tmux-0/default,1,0", "tmux-256color"
	d.install("tmux", `
case "$1 $2" in
"display-message -p") printf '%s\t%s\t%s\t%s\n' `+fmt.Sprintf("'%s' '%s' 'xterm-256color' '%s'", clipboard, passthrough, features)+`
	printf '%s' '`+ssh+`' ;;
"load-buffer -w") cat > $held/buffer; echo "$*" > $held/argv ;;
"load-buffer -") cat > $held/buffer; echo "$*" > $held/argv ;;
"show-buffer ") cat $held/buffer ;;
*) exit 1 ;;
esac`)
}

// keeper installs a pair of commands that store and return text.
func (d *desk) keeper(put, get string) {
	d.install(put, "cat > $held/clipboard; echo \"$*\" > $held/argv")
	d.install(get, "cat $held/clipboard")
}

// xclip reads and writes the clipboard.
const xclip = `case "$*" in
*-in) cat > $held/clipboard ;;
*-out) cat $held/clipboard ;;
esac`

func (d *desk) copy(text string) clip.Result {
	d.t.Helper()
	return d.Copy(text)(context.Background())
}

// sent decodes the output to the terminal, and returns how it was wrapped.
func (d *desk) sent() (way, text string) {
	d.t.Helper()
	all := strings.Join(d.wire, "")
	switch {
	case all == "":
		return "", ""
	case strings.HasPrefix(all, "\x1bPtmux;"):
		way = "tmux"
		all = strings.TrimSuffix(strings.TrimPrefix(all, "\x1bPtmux;"), "\x1b\\")
		all = strings.ReplaceAll(all, "\x1b\x1b", "\x1b")
	case strings.HasPrefix(all, "\x1bP"):
		way = "screen"
		var b strings.Builder
		for _, chunk := range strings.SplitAfter(all, "\x1b\\") {
			if len(chunk) > 256 {
				d.t.Errorf("screen got a string of %d bytes", len(chunk))
			}
			b.WriteString(strings.TrimSuffix(strings.TrimPrefix(chunk, "\x1bP"), "\x1b\\"))
		}
		all = b.String()
	default:
		way = "plain"
	}
	return way, decoded(d.t, all)
}

// decoded returns the text of one OSC 52 sequence.
func decoded(t *testing.T, seq string) string {
	t.Helper()
	body, ok := strings.CutPrefix(seq, "\x1b]52;c;")
	body, ends := strings.CutSuffix(body, "\x07")
	if !ok || !ends {
		t.Fatalf("no OSC 52: %.60q", seq)
	}
	text, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		t.Fatalf("%.60q: %v", seq, err)
	}
	return string(text)
}

const sample = "line one\n\t漢字 かな 👩‍👩‍👧‍👦 e\u0301 \u05d0\u05d1\n"

// TestRoutes verifies the route of a text in each environment, and the message for the user.
func TestRoutes(t *testing.T) {
	t.Parallel()
	wayland := map[string]string{"TERM": "xterm-256color", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
	overSSH := func(env map[string]string) map[string]string {
		all := map[string]string{"SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 22"}
		for k, v := range env {
			all[k] = v
		}
		return all
	}
	tests := []struct {
		name  string
		env   map[string]string
		setUp func(*desk)
		say   string
		wire  string // wrapping of the text sent to the terminal
		held  string // place that holds the text: "clipboard", "buffer", or ""
	}{
		{"a terminal", map[string]string{"TERM": "xterm-256color"}, nil,
			"Copied 59 bytes via the terminal (OSC 52), not confirmed", "plain", ""},
		{"wayland", wayland, func(d *desk) { d.keeper("wl-copy", "wl-paste") },
			"Copied 59 bytes to wl-copy; also via the terminal (OSC 52)", "plain", "clipboard"},
		{"wayland over ssh", overSSH(wayland), func(d *desk) { d.keeper("wl-copy", "wl-paste") },
			"Copied 59 bytes via the terminal (OSC 52), not confirmed", "plain", ""},
		{"X", map[string]string{"TERM": "xterm-256color", "DISPLAY": ":0"}, func(d *desk) { d.install("xclip", xclip) },
			"Copied 59 bytes to xclip; also via the terminal (OSC 52)", "plain", "clipboard"},
		{"X with xsel only", map[string]string{"TERM": "xterm-256color", "DISPLAY": ":0"},
			func(d *desk) {
				d.install("xsel", `case "$*" in *--input) cat > $held/clipboard ;; *) cat $held/clipboard ;; esac`)
			},
			"Copied 59 bytes to xsel; also via the terminal (OSC 52)", "plain", "clipboard"},
		{"wayland whose wl-copy fails, with X", wayland, func(d *desk) { d.install("wl-copy", "exit 3"); d.install("xclip", xclip) },
			"Copied 59 bytes to xclip; also via the terminal (OSC 52)", "plain", "clipboard"},
		{"a clipboard that gives back something else", wayland,
			func(d *desk) {
				d.expire(getTimeout, "asked", 2) // it is asked again
				d.install("wl-copy", "cat > $held/clipboard")
				d.install("wl-paste", "echo other; echo >> $held/asked")
			},
			"Copied 59 bytes via the terminal (OSC 52), not confirmed; wl-copy: returned another text", "plain", "clipboard"},
		{"the console of linux", map[string]string{"TERM": "linux"}, nil, "Could not copy 59 bytes; saved to FILE", "", ""},
		{"macOS", map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"},
			func(d *desk) { d.System = "darwin"; d.keeper("pbcopy", "pbpaste") },
			"Copied 59 bytes to pbcopy", "", "clipboard"},
		{"WSL", map[string]string{"TERM": "xterm-256color", "WSL_DISTRO_NAME": "Debian"},
			func(d *desk) { d.install("clip.exe", "cat > $held/clipboard") },
			"Copied 59 bytes via the terminal (OSC 52) and clip.exe, not confirmed", "plain", ""},
		{"tmux as it comes", nil, func(d *desk) { d.tmux("external", "0", "256,clipboard,title", "-SSH_CONNECTION\n") },
			"Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", "", "buffer"},
		{"tmux that knows no clipboard", nil, func(d *desk) { d.tmux("external", "0", "256", "") },
			"Copied 59 bytes to tmux buffer", "", "buffer"},
		{"tmux that passes on", nil, func(d *desk) { d.tmux("external", "1", "256", "") },
			"Copied 59 bytes to tmux buffer; also via the terminal through tmux", "tmux", "buffer"},
		{"tmux of old, without the option", nil, func(d *desk) { d.tmux("external", "", "", "") },
			"Copied 59 bytes to tmux buffer; also via the terminal through tmux", "tmux", "buffer"},
		{"tmux that takes OSC 52", nil, func(d *desk) {
			d.tmux("on", "0", "256,clipboard", "")
			buffer := filepath.Join(d.held, "buffer")
			send := d.Terminal
			d.Terminal = func(seq string) {
				send(seq)
				d.write(buffer, decoded(d.t, seq))
			}
		}, "Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", "plain", "buffer"},
		{"tmux on the desktop", map[string]string{"WAYLAND_DISPLAY": "wayland-0"},
			func(d *desk) {
				d.tmux("external", "0", "clipboard", "-SSH_CONNECTION\n")
				d.keeper("wl-copy", "wl-paste")
			},
			"Copied 59 bytes to tmux buffer and wl-copy; also via the terminal (OSC 52)", "", "clipboard"},
		{"tmux of the desktop, looked at over ssh", map[string]string{"WAYLAND_DISPLAY": "wayland-0"},
			func(d *desk) {
				d.tmux("external", "0", "clipboard", "SSH_CONNECTION=192.0.2.1 5 192.0.2.2 22\n")
				d.keeper("wl-copy", "wl-paste")
			},
			"Copied 59 bytes to tmux buffer; also via the terminal (OSC 52)", "", "buffer"},
		{"tmux begun over ssh, looked at from the desktop", overSSH(map[string]string{"WAYLAND_DISPLAY": "wayland-0"}),
			func(d *desk) {
				d.tmux("external", "0", "clipboard", "-SSH_CONNECTION\n")
				d.keeper("wl-copy", "wl-paste")
			},
			"Copied 59 bytes to tmux buffer and wl-copy; also via the terminal (OSC 52)", "", "clipboard"},
		{"tmux that is gone", map[string]string{"TMUX": "/tmp/gone,1,0", "TERM": "xterm-256color"}, nil,
			"Copied 59 bytes via the terminal (OSC 52), not confirmed", "plain", ""},
		{"screen", map[string]string{"STY": "1.pts-0.host", "TERM": "screen"}, nil,
			"Copied 59 bytes via the terminal through screen, not confirmed", "screen", ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, c.env)
			if c.setUp != nil {
				c.setUp(d)
			}
			got := d.copy(sample)
			say := strings.ReplaceAll(got.String(), filepath.Join(d.Directory, "copied.txt"), "FILE")
			if say != c.say {
				t.Errorf("says %q\nwant %q", say, c.say)
			}
			way, text := d.sent()
			if way != c.wire || way != "" && text != sample {
				t.Errorf("the terminal got %q by way of %q, want %q", text, way, c.wire)
			}
			if c.held != "" {
				if b, err := os.ReadFile(filepath.Join(d.held, c.held)); err != nil || string(b) != sample && got.Failures == nil {
					t.Errorf("%s holds %q, %v", c.held, b, err)
				}
			}
		})
	}
}

// On the other side of an ssh connection, it is unknown whether tmux passes sequences on.
func TestUnknownTmux(t *testing.T) {
	d := sit(t, map[string]string{"TERM": "tmux-256color", "SSH_TTY": "/dev/pts/1"})
	want := "Copied 2 bytes via the terminal (OSC 52) and the terminal through tmux, not confirmed"
	if got := d.copy("hi").String(); got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	if want := []string{"\x1b]52;c;aGk=\x07", "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"}; !reflect.DeepEqual(d.wire, want) {
		t.Errorf("the terminal got %q, want %q", d.wire, want)
	}
}

// If terminals may drop a long text, it takes another route, and this is reported.
func TestTooLong(t *testing.T) {
	long := strings.Repeat(sample, 2000)
	tests := []struct {
		name, term string
		setUp      func(*desk)
		say        string
	}{
		{"nothing else", "xterm-256color", nil,
			"Could not copy 118.0 KB; saved to FILE; too long for the terminal, which may drop more than 75.0 KB"},
		{"a command", "xterm-256color", func(d *desk) { d.env["DISPLAY"] = ":0"; d.install("xclip", xclip) }, "Copied 118.0 KB to xclip"},
		{"tmux", "", func(d *desk) { d.tmux("external", "0", "clipboard", "") }, "Copied 118.0 KB to tmux buffer"},
		{"a terminal that takes more", "xterm-ghostty", nil, "Copied 118.0 KB via the terminal (OSC 52), not confirmed"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, map[string]string{"TERM": c.term})
			if c.setUp != nil {
				c.setUp(d)
			}
			got := d.copy(long)
			path := filepath.Join(d.Directory, "copied.txt")
			if say := strings.ReplaceAll(got.String(), path, "FILE"); say != c.say {
				t.Errorf("says %q\nwant %q", say, c.say)
			}
			if got.File == "" {
				return
			}
			b, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			folder, _ := os.Stat(d.Directory)
			if err != nil || string(b) != long || info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
				t.Errorf("the file has %d bytes, %v, mode %v in %v", len(b), err, info.Mode(), folder.Mode())
			}
		})
	}
}

// Terminals that answer are asked; their answer decides.
func TestAsked(t *testing.T) {
	tests := []struct{ name, answer, say string }{
		{"it took it", "hi", "Copied 2 bytes to the terminal (OSC 52)"},
		{"it holds something else", "before", "Copied 2 bytes via the terminal (OSC 52), not confirmed"},
		{"it keeps silent", "", "Copied 2 bytes via the terminal (OSC 52), not confirmed"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, map[string]string{"TERM": "foot"})
			d.Answered("stale") // answer to an abandoned question
			asked := func() {}
			d.timeout = func(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
				ctx, asked = context.WithCancel(ctx)
				return ctx, asked
			}
			send := d.Terminal
			d.Terminal = func(seq string) {
				switch send(seq); {
				case seq != question:
				case c.answer != "":
					d.Answered(c.answer)
				default:
					asked()
				}
			}
			if got := d.copy("hi").String(); got != c.say {
				t.Errorf("says %q, want %q", got, c.say)
			}
		})
	}
}

// Kitty asks the user when a program reads, so it is not asked.
func TestNotAsked(t *testing.T) {
	for _, term := range []string{"xterm-kitty", "xterm-ghostty", "xterm-256color", "alacritty"} {
		d := sit(t, map[string]string{"TERM": term})
		d.copy("hi")
		if got := strings.Join(d.wire, ""); strings.Contains(got, "?") {
			t.Errorf("%s is asked: %q", term, got)
		}
	}
}

// The environment of a command contains no API key.
func TestEnvironment(t *testing.T) {
	d := sit(t, map[string]string{"DISPLAY": ":0", "OPENAI_API_KEY": "sk-canary-0123456789", "SSH_AUTH_SOCK": "/tmp/agent"})
	d.install("xclip", "env > $held/env; "+xclip)
	d.copy("hi")
	b, err := os.ReadFile(filepath.Join(d.held, "env"))
	if err != nil || strings.Contains(string(b), "canary") || strings.Contains(string(b), "agent") || !strings.Contains(string(b), "DISPLAY=:0") {
		t.Errorf("the command sees %s, %v", b, err)
	}
}

// Commands that somebody may have put into the workspace are not run.
func TestWorkspace(t *testing.T) {
	tests := []struct {
		name string
		path func(d *desk, workspace string) string
	}{
		{"a folder of it", func(d *desk, ws string) string { return ws + ":" + d.bin }},
		{"a folder below it", func(d *desk, ws string) string { return filepath.Join(ws, "node_modules/.bin") + ":" + d.bin }},
		{"a relative folder", func(d *desk, ws string) string { return ".:node_modules/.bin:" + d.bin }},
		{"an empty folder, which is the current one", func(d *desk, ws string) string { return ":" + d.bin }},
		{"a link into it", func(d *desk, ws string) string {
			link := filepath.Join(filepath.Dir(d.bin), "link")
			if err := os.Symlink(ws, link); err != nil {
				d.t.Fatal(err)
			}
			return link + ":" + d.bin
		}},
		{"a link of the command into it", func(d *desk, ws string) string {
			dir := filepath.Join(d.held, "links")
			if err := os.Mkdir(dir, 0o700); err != nil {
				d.t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(ws, "xclip"), filepath.Join(dir, "xclip")); err != nil {
				d.t.Fatal(err)
			}
			return dir + ":" + d.bin
		}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			d := sit(t, map[string]string{"DISPLAY": ":0"})
			ws := t.TempDir()
			t.Chdir(ws)
			if err := os.MkdirAll("node_modules/.bin", 0o700); err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{"xclip", "node_modules/.bin/xclip"} {
				d.write(at, "#!/bin/sh\n: > "+filepath.Join(d.held, "ran"))
			}
			d.Workspace = ws
			d.install("xclip", xclip)
			d.env["PATH"] = c.path(d, ws)
			if got, want := d.copy("hi").String(), "Copied 2 bytes to xclip"; got != want {
				t.Errorf("says %q, want %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(d.held, "ran")); err == nil {
				t.Error("the command in the workspace was run")
			}
		})
	}
}

// A command that hangs is killed with its children. A command whose child holds
// the clipboard, as on X and Wayland, is not waited for.
func TestHangs(t *testing.T) {
	t.Parallel()
	t.Run("killed", func(t *testing.T) {
		d := sit(t, map[string]string{"DISPLAY": ":0"})
		d.expire(putTimeout, "pid", 1)
		d.install("xclip", "sleep 60 & echo $! > $held/pid; sleep 60")
		got := d.copy("hi")
		if len(got.Failures) != 1 || got.Failures[0].Error() != "xclip: no answer in 2s" {
			t.Errorf("lost %v", got.Failures)
		}
		b, err := os.ReadFile(filepath.Join(d.held, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		state := func() string { // its end may not have been recorded yet
			out, _ := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(b))).Output()
			return strings.TrimPrefix(string(out), "Z")
		}
		for deadline := time.Now().Add(time.Minute); strings.ContainsAny(state(), "SRDT"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("its child lives on")
			}
		}
	})
	t.Run("kept", func(t *testing.T) {
		d := sit(t, map[string]string{"DISPLAY": ":0"})
		d.install("xclip", `case "$*" in
*-in) cat > $held/new; mv $held/new $held/clipboard; sleep 20 & echo $! > $held/pid ;;
*-out) cat $held/clipboard ;;
esac`)
		if got, want := d.copy("hi").String(), "Copied 2 bytes to xclip"; got != want {
			t.Errorf("says %q, want %q", got, want)
		}
		b, err := os.ReadFile(filepath.Join(d.held, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid := strings.TrimSpace(string(b))
		if out, err := exec.Command("kill", pid).CombinedOutput(); err != nil {
			t.Errorf("the keeper of the clipboard %s is gone: %s, %v", pid, out, err)
		}
	})
}

// Of two copies the later one wins, whichever reaches the commands first.
func TestLaterWins(t *testing.T) {
	d := sit(t, map[string]string{"DISPLAY": ":0"})
	d.install("xclip", xclip)
	first, second := d.Copy("first"), d.Copy("second")
	if got := second(context.Background()).String(); got != "Copied 6 bytes to xclip" {
		t.Errorf("the second says %q", got)
	}
	if got := first(context.Background()).String(); got != "" {
		t.Errorf("the first says %q", got)
	}
	if b, _ := os.ReadFile(filepath.Join(d.held, "clipboard")); string(b) != "second" {
		t.Errorf("the clipboard holds %q", b)
	}
}

// A failure of all routes is reported.
func TestNowhere(t *testing.T) {
	d := sit(t, nil)
	d.Directory = ""
	if got, want := d.copy("hi").String(), "Could not copy: no clipboard available"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	d.Directory = filepath.Join(d.held, "file")
	d.write(d.Directory, "")
	if got := d.copy("hi"); got.Err == nil {
		t.Errorf("says %q of a folder that cannot be made", got)
	}
}

func TestWide(t *testing.T) {
	for text, want := range map[string]string{"plain\n": "plain\n", "ä": "\xe4\x00", "a😀": "a\x00\x3d\xd8\x00\xde"} {
		if got := string(encodeUTF16(text)); got != want {
			t.Errorf("wide(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	d := sit(t, map[string]string{"DISPLAY": ":0"})
	d.tmux("external", "0", "256", "")
	d.install("xclip", xclip)
	got := (&Board{Getenv: d.Getenv}).Report(context.Background())
	want := []string{
		"tmux buffer: checked; for the terminal around it: set -as terminal-features ',*:clipboard'",
		"xclip: " + filepath.Join(d.bin, "xclip") + ", checked",
		"xsel: not installed",
		"else a file in parley's state folder, readable by you only",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("reports\n%q\nwant\n%q", got, want)
	}
}

// FuzzWraps verifies that any wrapped sequence can be unwrapped.
func FuzzWraps(f *testing.F) {
	f.Add(sample)
	f.Add("")
	f.Add("\x1b\\\x1bP\x07" + strings.Repeat("x", 500))
	f.Fuzz(func(t *testing.T, text string) {
		d := &desk{t: t}
		for _, wrap := range []func(string) string{throughTmux, throughScreen} {
			d.wire = []string{wrap(osc52(text))}
			if _, got := d.sent(); got != text {
				t.Errorf("%q came out as %q", text, got)
			}
		}
	})
}

// A canceled copy does not wait.
func TestCancelled(t *testing.T) {
	d := sit(t, map[string]string{"DISPLAY": ":0"})
	d.install("xclip", "sleep 60")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := d.Copy("hi")(ctx); len(got.Failures) != 1 || !errors.Is(got.Failures[0], context.Canceled) {
		t.Errorf("lost %v", got.Failures)
	}
}
