package tools

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"

	"parley/tools/process"
)

// A commandShell is a shell that runs command lines.
type commandShell struct {
	names    []string                 // of the program; the first one found is used
	options  []string                 // before the line
	encode   func(line string) string // returns the line as an argument
	describe *strings.Replacer        // adapts the description of the shell tool; nil if none is needed
	foreign  bool                     // it does not read POSIX syntax, by which rules match commands
}

// shells returns the shells of a system, the best first. cmd is not used: no quoting passes a line to it
// unchanged.
func shells(system string) []commandShell {
	same := func(line string) string { return line }
	if system != "windows" {
		return []commandShell{{names: []string{"bash", "sh"}, options: []string{"-c"}, encode: same}}
	}
	options := []string{"-NoProfile", "-NonInteractive", "-OutputFormat", "Text", "-EncodedCommand"}
	return []commandShell{
		{names: []string{"bash", "sh"}, options: []string{"-c"}, encode: encodePOSIX, describe: strings.NewReplacer("bash (sh where there is none)", "bash on Windows (write paths as C:/folder)")},
		{names: []string{"pwsh"}, options: options, encode: encodePowerShell, foreign: true, describe: strings.NewReplacer("bash (sh where there is none)", "PowerShell 7, whose syntax it needs,")},
		{names: []string{"powershell"}, options: options, encode: encodePowerShell, foreign: true, describe: strings.NewReplacer(
			"bash (sh where there is none)", "Windows PowerShell 5.1, whose syntax it needs,", "`a && b`", "`a; if ($?) { b }`")},
	}
}

// encodePOSIX returns a command that evaluates line. Each program on Windows splits its command line
// itself, and bash treats backslashes, double quotes and wildcards differently from others: the command has
// neither double quotes nor pairs of backslashes, and a space, which makes Go quote it.
func encodePOSIX(line string) string {
	return "eval $'" + strings.NewReplacer(`\`, `\x5c`, `"`, `\x22`, `'`, `\x27`, "\n", `\n`, "\r", `\r`).Replace(line) + "'"
}

// encodePowerShell returns line as an argument of -EncodedCommand. Output is UTF-8, and the exit status is
// that of the last program or command.
func encodePowerShell(line string) string {
	line = "[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false); $ProgressPreference = 'SilentlyContinue'\n" + line +
		"\n$ok = $?; if ($LASTEXITCODE) { exit $LASTEXITCODE }; if (-not $ok) { exit 1 }"
	var b []byte
	for _, unit := range utf16.Encode([]rune(line)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// findShell returns the shell of command lines and its program, which is not in the workspace: a
// command may have put a program there.
func findShell() (shell commandShell, file string, err error) {
	list := process.OutsideWorkspace(os.Getenv("PATH"))
	for _, shell := range shells(runtime.GOOS) {
		path := list
		if runtime.GOOS == "windows" && !shell.foreign {
			path = process.OutsideWorkspace(strings.Join(bashDirectories(list.Directories(), list.Find("git"), os.Getenv), ";"))
		}
		for _, name := range shell.names {
			if file := path.Find(name); file != "" {
				return shell, file, nil
			}
		}
	}
	return commandShell{}, "", errors.New("no shell on PATH")
}

// shellOnWindows returns the shell of command lines there; zero on other systems.
func shellOnWindows() (shell commandShell, file string) {
	if runtime.GOOS == "windows" {
		shell, file, _ = findShell()
	}
	return shell, file
}

// ShellOnWindows returns the program that runs command lines there; "" if there is none, and on other
// systems.
func ShellOnWindows() string {
	_, file := shellOnWindows()
	return file
}

// shellArgv returns the program and arguments that run a command line.
func shellArgv(line string) ([]string, error) {
	shell, file, err := findShell()
	if err != nil {
		return nil, err
	}
	return append(append([]string{file}, shell.options...), shell.encode(line)), nil
}

// bashDirectories returns where bash may be on Windows: beside git, where Git is usually installed, and
// on PATH, except for the bash that starts WSL, which has other files and programs.
func bashDirectories(onPath []string, git string, getenv func(string) string) (all []string) {
	slashed := func(dir string) string { return strings.ReplaceAll(dir, `\`, "/") }
	if git != "" { // Git/cmd/git.exe, Git/bin/git.exe or Git/mingw64/bin/git.exe
		root := path.Dir(path.Dir(slashed(git)))
		if name := path.Base(root); strings.HasPrefix(name, "mingw") || strings.HasPrefix(name, "clang") {
			root = path.Dir(root)
		}
		all = append(all, root+"/bin")
	}
	for _, usual := range [][2]string{
		{"ProgramFiles", "Git/bin"}, {"ProgramW6432", "Git/bin"}, {"LOCALAPPDATA", "Programs/Git/bin"}, {"USERPROFILE", "scoop/apps/git/current/bin"},
	} {
		if dir := getenv(usual[0]); dir != "" {
			all = append(all, path.Join(slashed(dir), usual[1]))
		}
	}
	for _, dir := range onPath {
		switch strings.ToLower(path.Base(slashed(dir))) {
		case "system32", "sysnative", "windowsapps":
		default:
			all = append(all, filepath.Clean(dir))
		}
	}
	return all
}
