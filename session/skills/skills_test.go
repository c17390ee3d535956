package skills_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/skills"
)

func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFind: skills are found where programs keep them; what is not by the specification is told,
// and what cannot be chosen is none.
func TestFind(t *testing.T) {
	dir := write(t, map[string]string{
		"config/skills/pdf/SKILL.md":            "---\nname: pdf\ndescription: Use when: there is a PDF\nallowed-tools: Bash(pdf:*) Read\nmetadata:\n  author: me\n---\n# How\n",
		"config/skills/pdf/scripts/SKILL.md":    "---\nname: below\ndescription: x\n---\n",
		"config/skills/group/one/SKILL.md":      "---\nname: Other Name\ndescription: >\n  folded\n  text\n---\nGo",
		"config/skills/a/b/c/d/SKILL.md":        "---\nname: d\ndescription: four deep\n---\n",
		"config/skills/a/b/c/e/f/SKILL.md":      "---\nname: f\ndescription: too deep\n---\n",
		"config/skills/silent/SKILL.md":         "---\nname: silent\n---\nx",
		"config/skills/broken/SKILL.md":         "---\nname: broken\n\tx\n---\nx",
		"config/skills/plain/SKILL.md":          "no front matter",
		"config/skills/node_modules/x/SKILL.md": "---\nname: x\ndescription: x\n---\n",
		"home/.claude/skills/pdf/SKILL.md":      "---\nname: pdf\ndescription: Claude's\n---\n",
		"home/.claude/skills/mine/SKILL.md":     "---\nname: mine\ndescription: by hand\ndisable-model-invocation: true\n---\n",
		"home/.agents/skills/long/SKILL.md":     "---\nname: long\ndescription: " + strings.Repeat("word ", 300) + "\n---\n",
		"elsewhere/linked/SKILL.md":             "---\nname: linked\ndescription: by a link\n---\n",
		"project/.agents/skills/own/SKILL.md":   "---\nname: own\ndescription: the project's\n---\n",
	})
	for _, at := range []string{"home/.agents/skills/linked", "project/.agents/skills/linked"} {
		if err := os.Symlink(filepath.Join(dir, "elsewhere/linked"), filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	places := append(skills.ProjectPlaces(filepath.Join(dir, "project")), skills.UserPlaces(filepath.Join(dir, "config/skills"), filepath.Join(dir, "home"))...)
	found, problems := skills.Find(places)
	var got []string
	for _, s := range skills.Unique(found) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s: %.30s %v %s", s.Name, s.Description, s.Project, s.Warning)))
	}
	want := []string{
		"own: the project's true", "d: four deep false", `one: folded text false its name "Other Name" is none by the specification: called by its folder`,
		"pdf: Use when: there is a PDF false", "mine: by hand false", "linked: by a link false", "long: word word word word word word  false its description has more than 1024 characters: the rest is ignored",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var wrong []string
	for _, err := range problems {
		wrong = append(wrong, strings.TrimPrefix(err.Error(), dir))
	}
	if want := "/config/skills/broken/SKILL.md:3: it is indented with a tab: use spaces · /config/skills/plain/SKILL.md: it has no description, so no model can choose it · /config/skills/silent/SKILL.md: it has no description, so no model can choose it"; strings.Join(wrong, " · ") != want {
		t.Errorf("problems %s\nwant     %s", strings.Join(wrong, " · "), want)
	}
}

func TestList(t *testing.T) {
	all := []skills.Skill{{Name: "a", Description: "first"}, {Name: "b", Description: "by hand", Hidden: true}, {Name: "c", Description: strings.Repeat("x", 500)}, {Name: "d", Description: "last"}}
	if text, omitted := skills.List(all, skills.MaxList); omitted != 0 || !strings.Contains(text, "- a: first\n- c: xxx") || strings.Contains(text, "by hand") {
		t.Errorf("%d, %s", omitted, text)
	}
	if text, omitted := skills.List(all, 400); omitted != 1 || len(text) > 400 || !strings.HasSuffix(text, "- a: first\n- d: last") {
		t.Errorf("%d, %s", omitted, text)
	}
	if text, omitted := skills.List(all[1:2], skills.MaxList); text != "" || omitted != 0 {
		t.Errorf("of none: %q, %d", text, omitted)
	}
}
