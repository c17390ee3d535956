package tools_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/act"
)

// TestSkillTool: a skill is loaded without a question, once.
func TestSkillTool(t *testing.T) {
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	text := func(name string) (string, string, error) {
		if name == "gone" {
			return "", "", errors.New("it is gone")
		}
		return "<skill name=\"" + name + "\">do \x1b[31mit", "<skill name=\"" + name + "\"", nil
	}
	if err := set.AddExternal(tools.SkillTool([]string{"pdf", "gone"}, text)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		input, want string
		shown       bool
	}{
		{`{"name":"pdf"}`, "<skill name=\"pdf\">do it", false},
		{`{"name":"pdf"}`, "The skill pdf is in this conversation already, above.", true},
		{`{"name":"gone"}`, "it is gone", false},
		{`{"name":"none"}`, "name", false},
		{`{}`, "name", false},
	} {
		action, err := set.Plan(t.Context(), "skill", tt.input)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.input, err)
			}
			continue
		}
		if verdict := tools.NewPolicy(act.ModeReadOnly).Decide(action); verdict != act.Allow {
			t.Errorf("%s: %s", tt.input, verdict)
		}
		ctx := act.WithShown(t.Context(), func(string) bool { return tt.shown })
		if out := action.Run(ctx, nil); !strings.HasPrefix(out.Text, tt.want) {
			t.Errorf("%s: %q, want %q", tt.input, out.Text, tt.want)
		}
	}
}

// TestAllowReading: the directories of skills can be read from, and no link leads out of them.
func TestAllowReading(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{"work/a.txt": "inside", "skill/form.md": "the form", "skill/deep/x.md": "deep", "skill/.netrc": "password", "skill/keys.toml": "keys", "secret.txt": "the key"} {
		path := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret.txt"), filepath.Join(base, "skill/link.md")); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(filepath.Join(base, "work"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	set.ProtectFiles(filepath.Join(real, "skill", "keys.toml"))
	set.AllowReading(filepath.Join(base, "skill"), filepath.Join(base, "none"))
	read := func(path string) string {
		action, err := set.Plan(context.Background(), "read", `{"path":"`+path+`"}`)
		if err != nil {
			return err.Error()
		}
		return action.Run(context.Background(), nil).Text
	}
	for path, want := range map[string]act.Verdict{"skill/form.md": act.Allow, "skill/.netrc": act.Ask, "skill/keys.toml": act.Ask} {
		action, err := set.Plan(context.Background(), "read", `{"path":"`+filepath.ToSlash(base)+"/"+path+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []act.Mode{act.ModeAsk, act.ModePlan, act.ModeYolo} {
			if got := tools.NewPolicy(mode).Decide(action); got != want {
				t.Errorf("%s in mode %s: %s, want %s", path, mode, got, want)
			}
		}
	}
	for path, want := range map[string]string{
		"skill/form.md": "the form", "skill/deep/x.md": "deep", "work/a.txt": "inside",
		"skill/link.md": "outside the workspace", "secret.txt": "outside the workspace", "skill/../secret.txt": "outside the workspace", "skill": "outside the workspace", "skill/none.md": "outside the workspace",
	} {
		if got := read(filepath.ToSlash(base) + "/" + path); !strings.Contains(got, want) || strings.Contains(got, "the key") {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
