//go:build unix

package tools

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/rule"
	"parley/tools/sanitize"
)

func TestShell(t *testing.T) {
	killed := "[signal: killed]"
	if runtime.GOOS == "linux" { // its helper ends as a shell does
		killed = "[exit status 137]"
	}
	tests := []struct {
		command string
		want    string
		failed  bool
	}{
		{command: "echo hello", want: "hello\n[exit status 0]"},
		{command: "true", want: "[no output]\n[exit status 0]"},
		{command: "echo a; echo b >&2; echo c", want: "a\nb\nc\n[exit status 0]"},
		{command: "printf x; exit 3", want: "x\n[exit status 3]", failed: true},
		{command: "kill -9 $$", want: "[no output]\n" + killed, failed: true},
		{command: "cat sub/f; cd sub; pwd | grep -c sub", want: "text\n1\n[exit status 0]"},
		{command: "read x; echo \"status $?\"", want: "status 1\n[exit status 0]"}, // there is no input
		{command: "(: </dev/tty) 2>/dev/null || echo no terminal", want: "no terminal\n[exit status 0]"},
		{command: `printf '\033[31mred\033[0m\n'`, want: "red\n[2 control characters or escape sequences removed]\n[exit status 0]"},
		{command: `printf '\377\n'`, want: "\uFFFD\n[1 byte shown as \uFFFD: not UTF-8]\n[exit status 0]"},
		{command: "if true\nthen echo lines\nfi", want: "lines\n[exit status 0]"},
		{command: "(", failed: true},
	}
	f := open(t, map[string]string{"sub/f": "text\n"})
	for _, test := range tests {
		a, err := f.Plan(t.Context(), "shell", args("command", test.command))
		if err != nil {
			t.Errorf("%s: %v", test.command, err)
			continue
		}
		out := a.Run(t.Context(), nil)
		if out.Failed != test.failed || test.want != "" && out.Text != test.want {
			t.Errorf("%s: got %v, %q, want %q", test.command, out.Failed, out.Text, test.want)
		}
		if notes := test.want[max(strings.Index(test.want, "["), 0):]; test.want != "" && out.Notes != notes { // no command here writes a bracket
			t.Errorf("%s: its notes are %q, want %q", test.command, out.Notes, notes)
		}
	}
	f.fails("shell", []any{"command", " \n"}, "the command is empty")
	f.fails("shell", []any{"command", "a\x00b"}, "NUL byte")
}

// Without a sandbox, a command that the user chose for itself runs only if the policy allows it without asking.
func TestRunConfinedWithoutSandbox(t *testing.T) {
	rules := func(mode act.Mode, effect act.Verdict, text string) *Policy {
		p := NewPolicy(mode)
		if r, err := ParseRule(text); err != nil {
			t.Fatal(err)
		} else {
			r.Effect = effect
			p.AddRules([]rule.Rule{r})
		}
		return p
	}
	for name, test := range map[string]struct {
		policy *Policy
		err    string
	}{
		"no policy":    {nil, `there is no sandbox: it is turned off (sandbox.off). Let it run without one by a rule, such as --allow "shell:echo x > made"`},
		"asking":       {NewPolicy(act.ModeAsk), "such as --allow"},
		"auto":         {rules(act.ModeAuto, act.Allow, "edit"), "such as --allow"},
		"read-only":    {NewPolicy(act.ModeReadOnly), "there is no sandbox, and the approval mode is read-only."},
		"allowed":      {rules(act.ModeAsk, act.Allow, "shell"), ""},
		"yolo":         {NewPolicy(act.ModeYolo), ""},
		"yolo, denied": {rules(act.ModeYolo, act.Deny, "shell:echo"), `there is no sandbox, and the rule "shell:echo" denies it.`},
	} {
		f := open(t, nil)
		f.EnableSandbox(SandboxConfig{Off: true})
		f.SetPolicy(test.policy)
		_, err := f.RunConfined(t.Context(), "echo x > made", func(string) {})
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
		if _, made := os.Stat(f.at("made")); (made == nil) != (test.err == "") {
			t.Errorf("%s: the command ran: %v", name, made == nil)
		}
	}
}

// No key or password reaches a command, whatever it is called; what programs
// need does.
func TestShellEnvironment(t *testing.T) {
	const canary = "canary-8f3a"
	for _, name := range []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MY_PASSWORD",
		"DATABASE_URL", "SSH_AUTH_SOCK", "BASH_ENV", "ENV", "LD_PRELOAD_X", "PATH_KEY", "XDGKEY", "LC",
	} {
		t.Setenv(name, canary)
	}
	t.Setenv("LC_TIME", "C")
	t.Setenv("PAGER", "less")
	f := open(t, nil)
	got := f.must("shell", "command", "env; cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'")
	if strings.Contains(got, canary) {
		t.Errorf("got %s", got)
	}
	for _, want := range []string{"PATH=" + os.Getenv("PATH"), "LC_TIME=C", "PAGER=cat", "TERM=dumb", "NO_COLOR=1"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

func TestShellOutputIsCapped(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	got := f.must("shell", "command", "echo first; head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo last")
	if len(got) > maxText+100 || !strings.HasPrefix(got, "first\nxxx") || !strings.HasSuffix(got, "xxx\nlast\n[exit status 0]") || !strings.Contains(got, "characters left out …]") {
		t.Errorf("%d bytes: %.100q … %q", len(got), got, got[max(0, len(got)-100):])
	}
}

// However much a command prints, memory stays bounded and the deadline holds.
func TestShellFlood(t *testing.T) {
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	const most = 4 // pieces of live output, before it is canceled
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown, pieces := 0, 0
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	out := a.Run(ctx, func(text string) {
		shown += len(text)
		if pieces++; pieces == most {
			cancel()
		}
	})
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if !out.Failed || !strings.Contains(out.Text, "[canceled after") || len(out.Text) > maxText {
		t.Errorf("%d bytes, ends with %q", len(out.Text), out.Text[len(out.Text)-50:])
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	if shown == 0 || shown > pieces*(maxLiveOutput+100) || pieces > int(took/liveInterval)+1 {
		t.Errorf("%d bytes were shown live, in %d pieces and %s", shown, pieces, took)
	}
}

func TestShellTimeout(t *testing.T) {
	t.Parallel() // it waits
	f := open(t, nil)
	began := time.Now()
	f.fails("shell", []any{"command", "exec sleep 1000", "timeout", 1}, "[timed out after ")
	if took := time.Since(began); took < time.Second {
		t.Errorf("it took %s", took)
	}
	a, err := f.Plan(t.Context(), "shell", args("command", "echo a; exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	out := a.Run(ctx, func(string) { cancel(context.DeadlineExceeded) }) // its time is over once it printed something
	if !out.Failed || !strings.HasPrefix(out.Text, "a\n[timed out after ") {
		t.Errorf("got %+v", out)
	}
}

func TestShellProgress(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", "echo 1; until [ -e seen ]; do sleep 0.01; done; echo 2; echo 3", "timeout", 60))
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	out := a.Run(t.Context(), func(text string) {
		pieces = append(pieces, text)
		write(t, f.at("seen"), "")
	})
	if got := strings.Join(pieces, ""); got != "1\n2\n3\n" || len(pieces) < 2 {
		t.Errorf("got %q", pieces)
	}
	if out.Text != "1\n2\n3\n[exit status 0]" {
		t.Errorf("got %q", out.Text)
	}
}

// Output is played: the user sees live what the model gets at the end.
func TestShellProgressIsPlayed(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", `printf 'a 1%%\nb 1%%\nfetch \342\200\256 1%%'; until [ -e seen ]; do sleep 0.01; done
		printf '\r\033[2A\033[2Ka done\n\033[Kb done\n'; for i in $(seq 200); do printf '\r\033[Kfetch %d%%' $i; done; printf '\r\033[Kfetched\nend\n'`, "timeout", 60))
	if err != nil {
		t.Fatal(err)
	}
	var live []byte
	var stream sanitize.Stream
	out := a.Run(t.Context(), func(text string) {
		if live = stream.Append(live, text); strings.Contains(string(live), "> 1%") {
			write(t, f.at("seen"), "")
		}
	})
	const want = "a done\nb done\nfetched\nend\n"
	if out.Text != want+"[exit status 0]" || string(live) != want {
		t.Errorf("the model gets %q, the user saw %q", out.Text, live)
	}
}

// A panic of the progress function ends the command as well.
func TestShellAfterPanic(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", "echo $$ > pid; echo x; exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if out := a.Run(t.Context(), func(string) { panic("boom") }); !out.Failed || !strings.Contains(out.Text, "boom") {
		t.Errorf("got %+v", out)
	}
	gone(t, strings.TrimSpace(f.content("pid")))
}

// gone fails if a process stays. One that was killed may take a moment to end.
func gone(t *testing.T, pids ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := exec.Command("ps", "-o", "stat=", "-o", "pid=", "-o", "args=", "-p", strings.Join(pids, ",")).Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) { // it fails where there is none
			t.Fatal(err)
		}
		var living []string
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "Z") {
				living = append(living, line)
			}
		}
		if len(living) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("still there: %q", living)
			return
		}
	}
}

// stubborn starts processes that try to stay, and writes their ids to pids.
const stubborn = `
record() { echo $1 >> pids; }
sleep 1000 & record $!
trap '' TERM
`

const stubbornLinux = stubborn + `
setsid sleep 1000 & record $!
nohup sleep 1000 >/dev/null 2>&1 & record $!
(setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 </dev/null &)
setsid sh -c '(sh -c "echo \$\$ >> pids; trap \"\" TERM HUP; while :; do sleep 1; done" &) >/dev/null 2>&1'
(env -i PATH="$PATH" sh -c 'echo $$ >> pids; exec sleep 1000' &)
disown -a 2>/dev/null
`

func script() (text string, processes int) {
	if runtime.GOOS == "linux" {
		return stubbornLinux, 6
	}
	return stubborn, 1
}

// wait waits until a file has this many lines, and returns them.
func (f fixture) wait(name string, lines int) []string {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(f.at(name))
		if err == nil && strings.Count(string(b), "\n") >= lines {
			return strings.Fields(string(b))
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("waited a minute for %d lines of %s: %q, %v", lines, name, b, err)
		}
	}
}

func TestCancelEndsEverything(t *testing.T) {
	t.Parallel() // it waits
	f := open(t, nil)
	text, n := script()
	a, err := f.Plan(t.Context(), "shell", args("command", text+"echo started; sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out act.Outcome
	var running sync.WaitGroup
	running.Go(func() { out = a.Run(ctx, nil) })
	pids := f.wait("pids", n)
	cancel()
	running.Wait() // the command would take a thousand seconds
	gone(t, pids...)
	if !out.Failed || !strings.Contains(out.Text, "[canceled after") {
		t.Errorf("got %+v", out)
	}
}

// A process that stays in the background when the shell is done is ended too, and does
// not keep the call waiting, also if it holds the output.
func TestNothingOutlivesItsCall(t *testing.T) {
	t.Parallel() // it waits
	f := open(t, nil)
	text, n := script()
	got := f.must("shell", "command", text+"while [ $(wc -l < pids) -lt "+string(rune('0'+n))+" ]; do sleep 0.05; done; echo done")
	gone(t, f.wait("pids", n)...)
	if !strings.Contains(got, "done\n[ended ") || !strings.HasSuffix(got, "[exit status 0]") {
		t.Errorf("got %q", got)
	}
}

// Children of other parts of the program are neither ended nor waited for.
func TestOtherChildrenAreLeftAlone(t *testing.T) {
	t.Parallel() // it waits
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	other := exec.Command(sleep, "1000")
	process.Detach(other) // a session of its own, as a command has
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	short := exec.Command(sleep, "0")
	process.Detach(short)
	if err := short.Start(); err != nil {
		t.Fatal(err)
	}
	f := open(t, nil)
	text, _ := script()
	f.must("shell", "command", text)
	if err := short.Wait(); err != nil {
		t.Errorf("the one that ended: %v", err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the one that runs: %v", err)
	}
	other.Process.Kill()
	other.Wait()
}
