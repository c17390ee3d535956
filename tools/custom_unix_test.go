//go:build unix

package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/tools/rule"
)

// own reads tools as the configuration has them.
func own(t *testing.T, text string) map[string]CustomTool {
	t.Helper()
	var c struct {
		Tools map[string]CustomTool `toml:"tools"`
	}
	meta, err := toml.Decode(text, &c)
	if err != nil {
		t.Fatal(err)
	}
	if rest := meta.Undecoded(); len(rest) > 0 {
		t.Fatalf("unknown keys: %v", rest)
	}
	return c.Tools
}

func TestOwnTools(t *testing.T) {
	t.Parallel() // it waits
	const schema = "schema = { type = \"object\", properties = { n = { type = \"integer\" } }, required = [\"n\"] }\n"
	tests := []struct {
		name, config, input string
		want                string
		failed, cut         bool // the text goes on
	}{
		{"arguments on standard input", "command = [\"cat\"]\n" + schema, `{"n": "7"}`, `{"n":7}`, false, false},
		{"a line for the shell", "command = \"read x; echo got $x | tr a-z A-Z\"", `{"a":"b"}`, `GOT {"A":"B"}`, false, false},
		{"one that does not read", "command = \"echo done\"", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "done", false, false},
		{"errors are left out of a result", "command = \"echo no >&2; echo yes\"", `{}`, "yes", false, false},
		{"and told of a failure", "command = \"echo some; echo why >&2; exit 3\"", `{}`, "some\nwhy\n[exit status 3]", true, false},
		{"nothing", "command = \"true\"", `{}`, "[no output]", false, false},
		{"hostile", "command = [\"printf\", '\\033]0;x\\007a\\033[31mb']", `{}`, "ab\n[2 control characters or escape sequences removed]", false, false},
		{"no such program", "command = [\"/no/such/program\"]", `{}`, "", true, false},
		{"too slow", "timeout = 1\ncommand = \"exec sleep 1000\"", `{}`, "[no output]\n[timed out after", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := open(t, nil)
			if err := f.AddCustomTools(own(t, "[tools.mine]\n"+tt.config), "", ""); err != nil {
				t.Fatal(err)
			}
			a, err := f.Plan(t.Context(), "mine", tt.input)
			if err != nil {
				t.Fatal(err)
			}
			out := a.Run(t.Context(), nil)
			if out.Failed != tt.failed || tt.want != "" && out.Text != tt.want && (!tt.cut || !strings.HasPrefix(out.Text, tt.want)) {
				t.Errorf("got %v, %q, want %v, %q", out.Failed, out.Text, tt.failed, tt.want)
			}
		})
	}
}

// A canceled tool is gone with everything it started, and what it leaves in the background ends.
func TestOwnToolEnds(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	if err := f.AddCustomTools(own(t, "[tools.mine]\ncommand = \"sleep 1000 & echo $!; wait\""), "", ""); err != nil {
		t.Fatal(err)
	}
	a, err := f.Plan(t.Context(), "mine", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var pid string
	out := a.Run(ctx, func(text string) { pid += text; cancel() })
	if !out.Failed || !strings.Contains(out.Text, "canceled") {
		t.Errorf("got %+v", out)
	}
	gone(t, strings.TrimSpace(pid))
}

// The question to the user shows the command, and the model gets the schema.
func TestOwnToolIsShown(t *testing.T) {
	f := open(t, nil)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "s.json"), `{"type":"object","properties":{"q":{"type":"string"}}}`)
	if err := f.AddCustomTools(own(t, "[tools.find]\ndescription = \"Finds\"\ncommand = [\"./find it\", \"-x\"]\nschema = \"s.json\""), dir, ""); err != nil {
		t.Fatal(err)
	}
	a, err := f.Plan(t.Context(), "find", `{"q":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Command != "'./find it' -x" || string(a.Input) != `{"q":"a"}` || a.Access != act.AccessRun {
		t.Errorf("got %+v", a)
	}
	for _, tool := range f.Tools() {
		if tool.Name == "find" && (tool.Description != "Finds" || !strings.Contains(string(tool.Schema), `"q"`)) {
			t.Errorf("told %+v", tool)
		}
	}
	if err := f.AddCustomTools(own(t, "[tools.bad]\ncommand = \"x\"\nschema = \"none.json\""), dir, ""); err == nil || !strings.Contains(err.Error(), "tools.bad.schema") {
		t.Errorf("a schema that is not there: %v", err)
	}
}

func TestOwnRules(t *testing.T) {
	const base = "[tools.mine]\ncommand = \"true\"\n"
	tests := []struct {
		name, config, project string
		mode                  act.Mode
		more                  []permission.Rule
		held                  bool // there is a sandbox
		want                  act.Verdict
	}{
		{"nothing said", base, "", act.ModeAsk, nil, true, act.Ask},
		{"as commands in auto", base, "", act.ModeAuto, nil, true, act.Allow},
		{"not outside the sandbox", base, "", act.ModeAuto, nil, false, act.Ask},
		{"nor with network", base + "sandbox = \"network\"", "", act.ModeAuto, nil, true, act.Ask},
		{"ask", base + "rule = \"ask\"", "", act.ModeAuto, nil, true, act.Ask},
		{"allow", base + "rule = \"allow\"", "", act.ModeAsk, nil, true, act.Allow},
		{"allow without a sandbox", base + "rule = \"allow\"", "", act.ModeAsk, nil, false, act.Ask},
		{"allow outside", base + "rule = \"allow\"\nsandbox = \"off\"", "", act.ModeAsk, nil, true, act.Ask},
		{"a rule that denies", base + "rule = \"allow\"", "", act.ModeAsk, []permission.Rule{{Effect: permission.Deny, Tool: "mine"}}, true, act.Deny},
		{"read-only", base + "rule = \"allow\"", "", act.ModeReadOnly, nil, true, act.Deny},
		{"of a project", base, ".parley/config.toml", act.ModeYolo, []permission.Rule{{Effect: permission.Allow, Tool: "mine", Source: rule.FromConfig}}, true, act.Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, nil)
			if f.EnableSandbox(SandboxConfig{Off: !tt.held}); tt.held && !f.cmdSandbox.isActive() {
				t.Skip("no sandbox here")
			}
			tools := own(t, tt.config)
			if err := f.AddCustomTools(tools, "", tt.project); err != nil {
				t.Fatal(err)
			}
			a, err := f.Plan(t.Context(), "mine", "")
			if err != nil {
				t.Fatal(err)
			}
			p := NewPolicy(tt.mode)
			p.AddRules(append(CustomToolRules(tools), tt.more...))
			if got := p.Decide(a); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if tt.want == act.Ask && tt.project == "" && !strings.Contains(tt.config, "rule") {
				p.AllowForSession(a)
				if got := p.Decide(a); got != act.Allow {
					t.Errorf("allowed for the session: %s", got)
				}
			}
		})
	}
}

func TestValidateOwn(t *testing.T) {
	tests := []struct {
		config  string
		project bool
		want    string // "": it is fine
	}{
		{"[tools.a]\ncommand = \"x\"", false, ""},
		{"[tools.a]\ncommand = \"x\"\nrule = \"allow\"\nsandbox = \"network\"\ntimeout = \"1m\"", false, ""},
		{"[tools.a]\ncommand = [\"x\"]", true, ""},
		{"[tools.a]\n", false, "tools.a: command is missing"},
		{"[tools.shell]\ncommand = \"x\"", false, "a tool of this name"},
		{"[tools.ask_user]\ncommand = \"x\"", false, "a tool of this name"},
		{"[tools.mcp__a__b]\ncommand = \"x\"", false, "a tool of this name"},
		{"[tools.\"a b\"]\ncommand = \"x\"", false, "a name has letters"},
		{"[tools.a]\ncommand = \"x\"\nrule = \"never\"", false, `rule = "never"`},
		{"[tools.a]\ncommand = \"x\"\nsandbox = \"half\"", false, `sandbox = "half"`},
		{"[tools.a]\ncommand = \"x\"\nrule = \"allow\"", true, "asks each time"},
		{"[tools.a]\ncommand = \"x\"\nsandbox = \"off\"", true, "asks each time"},
		{"[tools.a]\ncommand = \"x\"\nschema = \"/etc/passwd\"", true, "asks each time"},
	}
	for _, tt := range tests {
		err := ValidateCustomTools(own(t, tt.config), tt.project)
		if got := errorText(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.config, got, tt.want)
		}
	}
	for _, text := range []string{"command = 3", "command = [1]", "timeout = -1", "timeout = \"soon\"", "schema = 3"} {
		if _, err := toml.Decode(text, &CustomTool{}); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// In the sandbox a tool changes the workspace and nothing else, and no key reaches it.
func TestOwnToolIsHeld(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-8f3a")
	f := open(t, nil)
	if f.EnableSandbox(SandboxConfig{}); !f.cmdSandbox.isActive() {
		t.Skip("no sandbox here")
	}
	outside := filepath.Join(t.TempDir(), "x")
	start := time.Now()
	r := f.RunProgram(t.Context(), process.Run{Command: process.CommandLine{Words: []string{"echo in >here; env; echo out >" + outside}, Shell: true}, Timeout: time.Minute, RequireSandbox: true})
	if r.Err != nil || strings.Contains(string(r.Stdout), "canary") || time.Since(start) > time.Minute {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(f.Root(), "here")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside")
	}
}

// A program that did not start is named once, with the system's reason.
func TestProgramThatDoesNotStart(t *testing.T) {
	f := open(t, nil)
	for program, want := range map[string]string{
		"/nowhere/format":      "/nowhere/format did not start: no such file or directory",
		"no-such-program-4711": "no-such-program-4711 is not on PATH",
	} {
		r := f.RunProgram(t.Context(), process.Run{Command: process.CommandLine{Words: []string{program}}, Timeout: time.Minute})
		if got := errorText(r.Err); got != want || r.Exit != -1 {
			t.Errorf("%s: %q with %d, want %q", program, got, r.Exit, want)
		}
	}
}
