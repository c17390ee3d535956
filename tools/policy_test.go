package tools

import (
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	var (
		read    = &Action{Tool: "read", Access: Reads, Path: "a.go"}
		edit    = &Action{Tool: "edit", Access: Writes, Path: "a.go"}
		create  = &Action{Tool: "write", Access: Writes, Path: "a.go"}
		other   = &Action{Tool: "edit", Access: Writes, Path: "b.go"}
		hook    = &Action{Tool: "edit", Access: Writes, Path: "sub/.GIT/hooks/pre-commit"}
		status  = &Action{Tool: "shell", Access: Runs, Command: "git status"}
		chained = &Action{Tool: "shell", Access: Runs, Command: "git status; rm -rf ~"}
	)
	remember := func(a *Action) func(*Policy) { return func(p *Policy) { p.Remember(a) } }
	grant := func(rule string) func(*Policy) {
		return func(p *Policy) {
			if err := p.Grant(rule); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
	tests := []struct {
		name    string
		mode    Mode
		prepare func(*Policy)
		action  *Action
		want    Verdict
	}{
		{"zero reads", "", nil, read, Allow},
		{"zero asks", "", nil, edit, Ask},
		{"a mode nobody knows asks", "sudo", nil, status, Ask},

		{"ask reads", ModeAsk, nil, read, Allow},
		{"ask edits", ModeAsk, nil, edit, Ask},
		{"ask runs", ModeAsk, nil, status, Ask},
		{"auto edits", ModeAuto, nil, edit, Allow},
		{"auto creates", ModeAuto, nil, create, Allow},
		{"auto runs", ModeAuto, nil, status, Ask},
		{"auto edits what others run", ModeAuto, nil, hook, Ask},
		{"read-only reads", ModeReadOnly, nil, read, Allow},
		{"read-only edits", ModeReadOnly, nil, edit, Deny},
		{"read-only runs", ModeReadOnly, nil, status, Deny},
		{"yolo runs", ModeYolo, nil, chained, Allow},
		{"yolo edits what others run", ModeYolo, nil, hook, Allow},

		{"the command that was allowed", ModeAsk, remember(status), status, Allow},
		{"more than was allowed", ModeAsk, remember(status), chained, Ask},
		{"the file that was allowed", ModeAsk, remember(edit), edit, Allow},
		{"another file", ModeAsk, remember(edit), other, Ask},
		{"the whole file, when edits were allowed", ModeAsk, remember(edit), create, Ask},
		{"what others run, allowed by name", ModeAuto, remember(hook), hook, Allow},
		{"read-only beats what was allowed", ModeReadOnly, remember(status), status, Deny},

		{"a granted tool", ModeAsk, grant("edit"), other, Allow},
		{"a granted tool is not another", ModeAsk, grant("edit"), create, Ask},
		{"a granted tool on what others run", ModeAsk, grant("edit"), hook, Ask},
		{"a granted shell", ModeAsk, grant("shell"), chained, Allow},
		{"a granted command", ModeAsk, grant("shell:git status"), status, Allow},
		{"a granted command is no prefix", ModeAsk, grant("shell:git status"), chained, Ask},
		{"a granted file", ModeAsk, grant("edit:./x/../a.go"), edit, Allow},
		{"a granted file is not another", ModeAsk, grant("edit:a.go"), other, Ask},
		{"read-only beats what was granted", ModeReadOnly, grant("shell"), status, Deny},
	}
	for _, test := range tests {
		p := NewPolicy(test.mode)
		if test.prepare != nil {
			test.prepare(p)
		}
		if got := p.Decide(test.action); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestGrantWhatIsNoRule(t *testing.T) {
	tests := []struct{ rule, want string }{
		{"wirte", `did you mean "write"?`},
		{"Shell", `did you mean "shell"?`},
		{"bash:ls", `the tools are read,`},
		{"", `the tools are read,`},
		{"shell:", `nothing follows the colon`},
		{"edit: ", `nothing follows the colon`},
	}
	for _, test := range tests {
		if err := new(Policy).Grant(test.rule); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.rule, err, test.want)
		}
	}
}

func TestModesGoAround(t *testing.T) {
	p := new(Policy)
	if p.Mode() != ModeAsk {
		t.Errorf("begins with %s", p.Mode())
	}
	for _, want := range []Mode{ModeAuto, ModeReadOnly, ModeAsk} {
		if got := p.Next(); got != want || p.Mode() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	p.SetMode(ModeYolo)
	if got := p.Next(); got != ModeAsk {
		t.Errorf("from yolo to %s", got)
	}
}
