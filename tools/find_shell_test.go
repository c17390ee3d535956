package tools

import (
	"encoding/base64"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// odd is text that shells and the programs of Windows read in many ways.
const odd = "a\\b \\\\c \\\"d\" 'e' $HOME `f` %G% *.h {i,j} ~k ü\nl\tm"

// A line reaches the shell as it is.
func TestLinesStayAsTheyAre(t *testing.T) {
	quoted := "'" + strings.ReplaceAll(odd, "'", `'\''`) + "'"
	f := open(t, nil)
	if got := f.must("shell", "command", "printf '%s' "+quoted); !strings.HasPrefix(got, odd) {
		t.Errorf("got %q", got)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	line := encodePOSIX("printf '%s' " + quoted)
	if strings.ContainsAny(line, "\"\n") || strings.Contains(line, `\\`) {
		t.Errorf("a program of Windows may read %s otherwise", line)
	}
	if got, err := exec.Command(bash, "-c", line).Output(); string(got) != odd || err != nil {
		t.Errorf("bash: got %q, %v", got, err)
	}
}

func TestEncodePowerShell(t *testing.T) {
	wide, err := base64.StdEncoding.DecodeString(encodePowerShell(odd))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(wide), "\x00", ""), "\na\\b \\\\c \\\"d\" 'e' $HOME `f` %G% *.h {i,j} ~k \xfc\nl\tm\n$ok = $?;") {
		t.Errorf("%q, %v", wide, err)
	}
}

// Git's bash comes before others on Windows, and the one that starts WSL is left out.
func TestBashDirectories(t *testing.T) {
	for _, tt := range []struct {
		git  string
		path []string
		env  map[string]string
		want []string
	}{
		{git: `C:\Program Files\Git\cmd\git.exe`, path: []string{`C:\Windows\System32`, `C:\msys64\usr\bin`}, want: []string{"C:/Program Files/Git/bin", `C:\msys64\usr\bin`}},
		{git: `D:\Git\mingw64\bin\git.exe`, want: []string{"D:/Git/bin"}},
		{git: `D:\Git\bin\git.exe`, want: []string{"D:/Git/bin"}},
		{path: []string{`C:\WINDOWS\system32`, `C:\Windows\Sysnative`, `C:\Users\me\AppData\Local\Microsoft\WindowsApps`}},
		{
			env:  map[string]string{"ProgramFiles": `C:\Program Files`, "LOCALAPPDATA": `C:\Users\me\AppData\Local`, "USERPROFILE": `C:\Users\me`},
			want: []string{"C:/Program Files/Git/bin", "C:/Users/me/AppData/Local/Programs/Git/bin", "C:/Users/me/scoop/apps/git/current/bin"},
		},
	} {
		if got := bashDirectories(tt.path, tt.git, func(name string) string { return tt.env[name] }); !slices.Equal(got, tt.want) {
			t.Errorf("%q with %q: got %q, want %q", tt.git, tt.path, got, tt.want)
		}
	}
}

// The description says which shell runs a line, and no description names bash where it is none.
func TestShellsAreDescribed(t *testing.T) {
	text, err := descriptions.ReadFile(shellTool + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range shells("windows") {
		got := shell.describe.Replace(string(text))
		if got == string(text) || shell.foreign == strings.Contains(got, "bash") {
			t.Errorf("%s: %.200s", shell.names, got)
		}
	}
}
