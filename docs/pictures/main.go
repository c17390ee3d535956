// Pictures draws the pictures of the manual: it builds parley, drives it in a
// terminal as a person would, and writes what is to be seen as SVG.
//
//	go run ./docs/pictures          every picture, into docs/
//	go run ./docs/pictures ask      those whose names hold "ask"
//
// The program is the real one, with the demo model or models that answer as a
// scene says, in a home and a folder of its own. The terminal is tmux, which has to be installed: what it shows with
// -e is text and colours, and nothing else is drawn. A picture is a scene in the
// table below: what is typed, what has to be on the screen before the next key,
// and how large the window is.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A scene is one picture.
type scene struct {
	name          string
	width, height int
	light         bool
	script        []line
	replies       []reply // of the models; none: the demo model answers
}

// A line of a script types keys, as tmux names them, once the screen shows until.
// An empty until waits for the screen to rest.
type line struct {
	until string
	keys  []string
}

func typed(text string) []string { return []string{"-l", text} }

// scenes are the pictures there are.
var scenes = []scene{
	{name: "first", width: 92, height: 26, script: []line{{"select", nil}, {"", nil}}},
	{name: "screen", width: 92, height: 30, script: []line{
		{"Ask anything", typed("replace wrold with world in hello.go")}, {"hello.go", []string{"Enter"}},
		{"Allow once", nil}, {"", []string{"y"}}, {" in · ", nil},
	}},
	{name: "ask", width: 92, height: 18, script: []line{
		{"Ask anything", typed("run go vet ./...")}, {"go vet", []string{"Enter"}}, {"Allow once", nil}, {"", nil},
	}},
	{name: "models", width: 92, height: 22, script: []line{
		{"Ask anything", []string{"C-x", "m"}}, {"esc", nil}, {"", nil},
	}},
	{name: "light", width: 92, height: 24, light: true, script: []line{
		{"Ask anything", typed("/theme light")}, {"theme", []string{"Enter"}},
		{"", typed("which shortcuts are there?")}, {"shortcuts", []string{"Enter"}}, {" in · ", nil}, {"", nil},
	}},
	{name: "aside", width: 92, height: 18, script: []line{
		{"Ask anything", typed("is the greeting tested anywhere?")}, {"tested", []string{"Enter"}}, {"cover", nil},
		{"", typed("/btw -m lab/reviewer what is the difference between Println and Print?")}, {"and Print?", []string{"Enter"}}, {"operands", nil}, {"", nil},
	}, replies: []reply{
		{to: `"model":"reviewer"`, text: "`Println` puts spaces between all its operands and a newline after the last one. `Print` adds a space only between operands of which neither is a string, and no newline."},
		{to: "the greeting", text: "There is no test beside `hello.go`. A test can run `main` with the output in a pipe, or the greeting moves to a function of its own, which is easier to cover:", hangs: true},
	}},
	{name: "question", width: 92, height: 28, script: []line{
		{"Ask anything", typed("the greeting looks wrong, fix it")}, {"fix it", []string{"Enter"}}, {"Another answer", nil}, {"", nil},
	}, replies: []reply{
		{to: "You are asked for a second opinion", text: "`wrold` is a typo for `world`. Nothing else reads the text, so it is safe to change; ask whether the capital letters of the Go tour are wanted."},
		{to: `"role":"tool","tool_call_id":"read_2_0"`, text: "The greeting is in hello.go:6, once. There is no test, and no other file has the text."},
		{to: `"model":"scout"`, calls: []call{{"read", `{"path":"hello.go"}`}, {"grep", `{"pattern":"wrold"}`}}},
		{to: `"role":"tool"`, calls: []call{{"ask_user", `{"questions":[{"question":"Which greeting do you want?","choices":["hello, world: only the typo is corrected","Hello, World!: as in the Go tour"]}]}`}}},
		{to: "the greeting", text: "I'll find where the greeting is used, and get a second opinion.", calls: []call{{"explore", `{"task":"find where the greeting is printed or tested"}`}, {"consult", `{"question":"Is wrold a typo, and is it safe to change?"}`}}},
	}},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	top, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	root := strings.TrimSpace(string(top))
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "parley")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	for _, s := range scenes {
		if len(names) > 0 && !wanted(s.name, names) {
			continue
		}
		shown, err := s.play(ctx, program, filepath.Join(dir, s.name))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		path := filepath.Join(root, "docs", s.name+".svg")
		if err := os.WriteFile(path, []byte(draw(shown, s.width, s.light)), 0o644); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

func wanted(name string, among []string) bool {
	for _, part := range among {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// hello is what the folder of each scene holds.
const hello = `package main

import "fmt"

func main() {
	fmt.Println("hello, wrold")
}
`

// play acts the script out in a terminal of its own, and returns its last screen.
func (s scene) play(ctx context.Context, program, dir string) (shown string, err error) {
	home := filepath.Join(dir, "home")
	folder := filepath.Join(home, "hello")
	config := filepath.Join(home, ".config", "parley")
	for _, d := range []string{home, folder, config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", err
		}
	}
	theme := "dark" // tmux tells no background
	if s.light {
		theme = "light"
	}
	text := ""
	if len(s.replies) > 0 {
		models := httptest.NewServer(scripted(s.replies))
		defer models.Close()
		text = fmt.Sprintf(settings, models.URL)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(text+"[ui]\ntheme = \""+theme+"\"\n"), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "hello.go"), []byte(hello), 0o644); err != nil {
		return "", err
	}
	t := terminal{ctx, filepath.Join(dir, "socket"), []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=tmux-256color", "COLORTERM=truecolor",
	}}
	if err := t.start(folder, program, s.width, s.height); err != nil {
		return "", err
	}
	defer func() {
		if _, end := t.tmux("kill-server"); err == nil {
			err = end
		}
	}()
	for _, l := range s.script {
		if err := t.await(l.until); err != nil {
			return "", err
		}
		if len(l.keys) == 0 {
			continue
		}
		if _, err := t.tmux(append([]string{"send-keys"}, l.keys...)...); err != nil {
			return "", err
		}
	}
	if err := t.await(""); err != nil {
		return "", err
	}
	return t.tmux("capture-pane", "-p", "-e", "-N")
}

// A terminal is a tmux server that nobody else knows.
type terminal struct {
	ctx    context.Context
	socket string
	env    []string
}

func (t terminal) tmux(args ...string) (string, error) {
	cmd := exec.CommandContext(t.ctx, "tmux", append([]string{"-S", t.socket, "-f", os.DevNull}, args...)...)
	cmd.Env = t.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

func (t terminal) start(folder, program string, width, height int) error {
	_, err := t.tmux("new-session", "-d", "-c", folder, "-x", fmt.Sprint(width), "-y", fmt.Sprint(height),
		"env", "-u", "TMUX", "TERM=xterm-256color", program) // of tmux itself, programs expect 256 colors
	return err
}

const (
	patience = 30 * time.Second       // for a text to come
	rest     = 600 * time.Millisecond // without a change, longer than an approval is deaf
	look     = 100 * time.Millisecond
)

// await waits for a text on the screen, or, without one, for the screen to rest.
func (t terminal) await(text string) error {
	last, since := "", time.Now()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(look) {
		now, err := t.tmux("capture-pane", "-p")
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if text != "" && strings.Contains(now, text) || text == "" && time.Since(since) > rest {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("waited for %q, got:\n%s", text, last), t.ctx.Err())
}
