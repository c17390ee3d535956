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
	whole, _ := skills.List(all[:1], skills.MaxList)
	for less := range 3 { // a line ends with a line break, which the last one loses
		if text, omitted := skills.List(all[:1], len(whole)+1-less); (text == whole) != (less == 0) || (omitted == 0) != (less == 0) {
			t.Errorf("%d bytes less: %q, %d", less, text, omitted)
		}
	}
	if text, omitted := skills.List(all[1:2], skills.MaxList); text != "" || omitted != 0 {
		t.Errorf("of none: %q, %d", text, omitted)
	}
}

// TestParse: what makes a skill, at the limits of its parts.
func TestParse(t *testing.T) {
	place := skills.Place{Dir: "/s"}
	file := func(name, description, more string) string {
		return "---\nname: " + name + "\ndescription: " + description + "\n" + more + "---\n\nBody \n"
	}
	described := "shown 'x' / \"its\" "
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, tt := range []struct {
		name, folder, text string
		want               string // name, length of the description, warning; or an error
	}{
		{"plain", "x", file("x", described, ""), "x, 17"},
		{"CRLF", "x", strings.ReplaceAll(file("x", "y", ""), "\n", "\r\n"), "x, 1"},
		{"another folder", "x", file("z", "y", ""), "z, 1, its folder is called x"},
		{"no name", "x", file("", "y", ""), `x, 1, its name "" is none by the specification: called by its folder`},
		{"dashes at the end", "x", file("x-", "y", ""), `x, 1, its name "x-" is none by the specification: called by its folder`},
		{"two dashes", "x", file("x--y", "y", ""), `x, 1, its name "x--y" is none by the specification: called by its folder`},
		{"capitals", "My_Skill", file("My_Skill", "y", ""), `My_Skill, 1, its name "My_Skill" is none by the specification: called by its folder`},
		{"longest name", long(64), file(long(64), "y", ""), long(64) + ", 1"},
		{"too long a name", "x", file(long(65), "y", ""), "x, 1, its name \"" + long(65) + "\" is none by the specification: called by its folder"},
		{"no name at all", "x y", file("x y", "y", ""), "/s/x y/SKILL.md: its name has other characters than letters, digits, - and _"},
		{"longest description", "x", file("x", long(1024), ""), "x, 1024"},
		{"too long a description", "x", file("x", long(1023)+"é", ""), "x, 1023, its description has more than 1024 characters: the rest is ignored"},
		{"no description", "x", file("x", "", ""), "/s/x/SKILL.md: it has no description, so no model can choose it"},
		{"hidden", "x", file("x", "y", "disable-model-invocation: true\n"), "x, 1, hidden"},
		{"not hidden", "x", file("x", "y", "disable-model-invocation: false\n"), "x, 1"},
		{"largest", "x", file("x", "y", "") + strings.Repeat("\n", skills.MaxFile-len(file("x", "y", ""))), "x, 1"},
		{"too large", "x", file("x", "y", "") + strings.Repeat("\n", skills.MaxFile-len(file("x", "y", ""))+1), "/s/x/SKILL.md: it has more than 256 KB"},
		{"bad front matter", "x", "---\nname: x\n", "/s/x/SKILL.md:1: the front matter does not end: a line of --- is missing"},
	} {
		s, err := skills.Parse(place, "/s/"+tt.folder+"/SKILL.md", []byte(tt.text))
		got := fmt.Sprintf("%s, %d", s.Name, len(s.Description))
		if s.Warning != "" {
			got += ", " + s.Warning
		}
		if s.Hidden {
			got += ", hidden"
		}
		if err != nil {
			got = err.Error()
		} else if s.Body != "Body" || s.Dir != "/s/"+tt.folder || s.Path != s.Dir+"/SKILL.md" || s.Project {
			t.Errorf("%s: %+v", tt.name, s)
		}
		if got != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	s := skills.Skill{Name: "pdf", Dir: "/s/my pdf", Body: "Do it"}
	want := "<skill name=\"pdf\" dir=\"/s/my pdf\">\nDo it\n</skill>\n\nIts files are below \"/s/my pdf\": read them with the tool read, run them with the tool shell."
	if got := s.Text(); got != want || !strings.HasPrefix(got, s.Mark()) {
		t.Errorf("got %s", got)
	}
}

func TestUserPlaces(t *testing.T) {
	for want, got := range map[string][]skills.Place{
		"[]":             skills.UserPlaces("", ""),
		"[{/own false}]": skills.UserPlaces("/own", ""),
		"[{/h/.claude/skills false} {/h/.agents/skills false}]":                        skills.UserPlaces("", "/h"),
		"[{/p/.parley/skills true} {/p/.claude/skills true} {/p/.agents/skills true}]": skills.ProjectPlaces("/p"),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// TestFiles: a project's links are not followed; hidden folders and links to files are skipped, and
// very many folders are told.
func TestFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"here/SKILL.md": "x", "here/a/SKILL.md": "x", "here/.hidden/SKILL.md": "x", "here/b/note.md": "x", "here/c/SKILL.md/x": "x",
		"else/d/SKILL.md": "x", "else/deep/e/SKILL.md": "x", "file.md": "x",
	})
	for from, to := range map[string]string{"here/linked": "else/d", "here/deep": "else/deep", "here/note": "file.md", "here/none": "missing", "here/b/below": "else/d", "here/f": "else/d/SKILL.md"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "here/g"), 0o755), os.Symlink(filepath.Join(dir, "file.md"), filepath.Join(dir, "here/g/SKILL.md"))); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		place skills.Place
		want  string
	}{
		{skills.Place{Dir: filepath.Join(dir, "here"), Project: true}, "/a/SKILL.md"},
		{skills.Place{Dir: filepath.Join(dir, "here")}, "/a/SKILL.md /c/SKILL.md /deep/e/SKILL.md /g/SKILL.md /linked/SKILL.md"},
		{skills.Place{Dir: filepath.Join(dir, "nowhere")}, ""},
		{skills.Place{Dir: filepath.Join(dir, "file.md")}, ""},
	} {
		got, err := tt.place.Files()
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], tt.place.Dir)
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("%+v: got %s, %v", tt.place, strings.Join(got, " "), err)
		}
	}
}

// TestManyFolders: 2000 folders are searched, here by 27 links to one with 73 in it.
func TestManyFolders(t *testing.T) {
	dir := write(t, map[string]string{"here/z/SKILL.md": "x"})
	for i := range 73 {
		if err := os.MkdirAll(filepath.Join(dir, "else", fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 27 {
		if err := os.Symlink(filepath.Join(dir, "else"), filepath.Join(dir, "here", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	place := skills.Place{Dir: filepath.Join(dir, "here")}
	if got, err := place.Files(); len(got) != 1 || err != nil {
		t.Errorf("2000 folders: %q, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(place.Dir, "y"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := place.Files(); len(got) != 0 || err == nil || !strings.HasSuffix(err.Error(), " has very many folders: skills in those at the end are ignored") {
		t.Errorf("2001 folders: %q, %v", got, err)
	}
}
