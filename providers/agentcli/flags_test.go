package agentcli

import (
	"fmt"
	"strings"
	"testing"

	"parley/providers/llm"
)

// Versions that lack a flag run without it from then on, if they can.
func TestUnknownFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind    string
		says    []step
		refuses []string
		without []string
		notices int
	}{
		{"claude-cli", claudeSays, []string{"error: unknown option '--effort=high'\n(Did you mean --help?)\n", "error: unknown option '--include-partial-messages'\n"},
			[]string{"--effort", "--include-partial-messages"}, 2},
		{"gemini-cli", geminiSays, []string{"Invalid values:\n  Argument: output-format, Given: \"stream-json\", Choices: \"text\", \"json\"\n" + help}, []string{"--output-format"}, 2},
	} {
		var scripts [][]step
		for _, said := range tt.refuses {
			scripts = append(scripts, []step{{Err: said, Exit: 1}})
		}
		s := script(t, append(scripts, tt.says)...)
		m := s.model(tt.kind)
		req := asking("Hi")
		req.Effort = llm.EffortHigh
		got := take(t, m.Stream(t.Context(), req))
		check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
		if len(got.notices) != tt.notices {
			t.Errorf("%q: notices %q", tt.refuses, got.notices)
		}
		again := take(t, m.Stream(t.Context(), req))
		v := s.visits()
		if len(v) != len(tt.refuses)+2 || len(again.notices) > 0 {
			t.Fatalf("%q: %d runs, notices %q", tt.refuses, len(v), again.notices)
		}
		for _, flag := range tt.without {
			if strings.Contains(strings.Join(v[len(v)-1].Args, " "), flag) {
				t.Errorf("%s is still there: %q", flag, v[len(v)-1].Args)
			}
		}
	}
}

// help is the usage text that yargs prints after an error.
var help = strings.Repeat("  --flag  does something\n", 400)

// TestProtectiveFlags: a program is never run without a flag that keeps it from doing more than
// answering: the error names both, and how to update.
func TestProtectiveFlags(t *testing.T) {
	t.Parallel()
	commander, clap, goFlags := "error: unknown option '%s'\n", "error: unexpected argument '%s' found\n\nUsage: x\n", "flag provided but not defined: -%s\nUsage of agy:\n"
	yargs := func(flags string) string { return "Unknown arguments: " + flags + "\n" + help }
	for _, tt := range []struct{ kind, flag, refuses string }{
		{"claude-cli", "--tools", fmt.Sprintf(commander, "--tools=")},
		{"claude-cli", "--strict-mcp-config", fmt.Sprintf(commander, "--strict-mcp-config")},
		{"claude-cli", "--setting-sources", fmt.Sprintf(commander, "--setting-sources=")},
		{"claude-cli", "--disable-slash-commands", fmt.Sprintf(commander, "--disable-slash-commands")},
		{"codex-cli", "--ignore-user-config", fmt.Sprintf(clap, "--ignore-user-config")},
		{"codex-cli", "--ignore-rules", fmt.Sprintf(clap, "--ignore-rules")},
		{"codex-cli", "--sandbox", fmt.Sprintf(clap, "--sandbox")},
		{"gemini-cli", "--extensions", yargs("extensions, allowed-mcp-server-names, allowedMcpServerNames")},
		{"gemini-cli", "--allowed-mcp-server-names", yargs("allowed-mcp-server-names, allowedMcpServerNames")},
		{"gemini-cli", "--approval-mode", "Invalid values:\n  Argument: approval-mode, Given: \"default\", Choices: \"a\"\n" + help},
		{"antigravity-cli", "--sandbox", fmt.Sprintf(goFlags, "sandbox")},
		{"copilot-cli", "--available-tools", fmt.Sprintf(commander, "--available-tools=none")},
		{"copilot-cli", "--disable-builtin-mcps", fmt.Sprintf(commander, "--disable-builtin-mcps")},
		{"copilot-cli", "--no-custom-instructions", fmt.Sprintf(commander, "--no-custom-instructions")},
		{"copilot-cli", "--no-remote-export", fmt.Sprintf(commander, "--no-remote-export")},
		{"grok-cli", "--sandbox", fmt.Sprintf(clap, "--sandbox")},
		{"grok-cli", "--permission-mode", fmt.Sprintf(clap, "--permission-mode")},
		{"grok-cli", "--disallowed-tools", fmt.Sprintf(clap, "--disallowed-tools")},
		{"grok-cli", "--no-subagents", fmt.Sprintf(clap, "--no-subagents")},
		{"qwen-cli", "--approval-mode", yargs("approval-mode, approvalMode")},
		{"qwen-cli", "--extensions", yargs("extensions")},
		{"qwen-cli", "--allowed-mcp-server-names", yargs("include-partial-messages, allowed-mcp-server-names")},
		{"qwen-cli", "--core-tools", yargs("core-tools, coreTools")},
		{"qwen-cli", "--exclude-tools", yargs("exclude-tools, excludeTools")},
	} {
		t.Run(tt.kind+tt.flag, func(t *testing.T) {
			t.Parallel()
			s := script(t, []step{{Err: tt.refuses, Exit: 1}}, []step{{Out: hello[tt.kind]}})
			got := take(t, s.model(tt.kind).Stream(t.Context(), asking("Hi")))
			f := flavors[tt.kind]
			want := fmt.Sprintf("this version of %s does not know %s and is not used without it: update it with %q", f.program, tt.flag, f.install)
			if llm.FaultOf(got.err) != llm.Unsupported || !strings.Contains(got.err.Error(), want) {
				t.Errorf("%v, want %s", got.err, want)
			}
			if len(s.visits()) != 1 || len(got.notices) > 0 {
				t.Errorf("%d runs, notices %q", len(s.visits()), got.notices)
			}
		})
	}
}
