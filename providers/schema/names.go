package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"parley/tools/lazy"
)

// MatchTool returns which of names a model meant by name: that very one, else the only one that
// differs in case, separators or a prefix such as "functions.", else the one that a well-known
// name stands for. It returns "" if there is none, or if several fit.
func MatchTool(name string, names []string) string {
	if slices.Contains(names, name) {
		return name
	}
	bare := CutHarmony(name)
	if n := strings.LastIndexByte(bare, ':'); n > 0 && strings.Trim(bare[n+1:], "0123456789") == "" { // Kimi numbers calls
		bare = bare[:n]
	}
	if slices.Contains(names, bare) {
		return bare
	}
	short := toolPrefix.ReplaceAllString(bare, "")
	for _, n := range []string{bare, short} {
		if found := near(n, names); len(found) > 0 {
			return only(found)
		}
	}
	return only(aliased(short, toolAliases, names))
}

// CutHarmony returns the name of a tool without harmony's tokens and the words that belong to
// them, as in "read<|channel|>commentary" and "commentary to=functions.read".
func CutHarmony(name string) string {
	if at := strings.Index(name, "to="); at >= 0 {
		name, _, _ = strings.Cut(name[at+len("to="):], " ")
	}
	bare, rest, found := strings.Cut(name, "<|")
	if bare = strings.TrimSpace(bare); found && bare == "" {
		_, rest, _ = strings.Cut(rest, "|>")
		return CutHarmony(rest)
	}
	return bare
}

var toolPrefix = lazy.NewRegexp(`^(?i:functions?|default_api|default_functions|tools?|api|builtins?|repo_browser|container|assistant)(?:[.:/]|__)`)

// foldName returns name without what models confuse: case and separators.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// near returns those of names that differ from name in case and separators only.
func near(name string, names []string) (found []string) {
	key := foldName(name)
	for _, n := range names {
		if key != "" && foldName(n) == key {
			found = append(found, n)
		}
	}
	return found
}

// aliased returns those of names that stand for name in a table of aliases.
func aliased(name string, table map[string]string, names []string) (found []string) {
	key := foldName(name)
	for _, n := range names {
		if slices.Contains(strings.Fields(table[n]), key) {
			found = append(found, n)
		}
	}
	return found
}

// only returns the one element of list; "" if there is not one.
func only(list []string) string {
	if len(list) != 1 {
		return ""
	}
	return list[0]
}

// toolAliases holds the names that other programs have for parley's tools, folded.
var toolAliases = map[string]string{
	"read":  "readfile view viewfile openfile cat fileread getfile",
	"write": "writefile createfile create savefile filewrite writetofile filecreate",
	"edit":  "strreplace editfile replace searchreplace replaceinfile fileedit strreplaceedit",
	"list":  "ls listdir listdirectory listfiles listfolder printtree",
	"glob":  "findfiles globfiles filesearch globfilesearch searchfilesbyname",
	"grep":  "grepsearch searchfiles searchfilecontent ripgrep rg searchtext searchcode",
	"shell": "bash sh exec execute run terminal runcommand runshellcommand runshell runterminalcmd runterminalcommand runinterminal executecommand executebash executeshell execcommand shellcommand localshell shellexec bashtool",
	"fetch": "webfetch fetchurl fetchwebpage urlfetch readurl openurl browse fetchpage",
}

// argumentAliases holds the names that models have for arguments of tools, folded.
var argumentAliases = map[string]string{
	"path":        "filepath file filename absolutepath relativepath targetfile targetpath pathname dir directory dirpath directorypath folder relativeworkspacepath",
	"content":     "contents text filetext filecontent code body data newcontent",
	"old":         "oldstr oldstring oldtext search find",
	"new":         "newstr newstring newtext replace replacement replacewith",
	"all":         "replaceall",
	"pattern":     "query regex regexp searchpattern searchterm search globpattern expression",
	"glob":        "include includepattern filepattern fileglob",
	"command":     "cmd commandline script shellcommand bash input",
	"background":  "runinbackground isbackground",
	"description": "explanation",
	"offset":      "startline line linestart",
	"limit":       "maxlines numlines linecount",
	"ignore_case": "caseinsensitive i",
	"url":         "uri link address href",
}

// MatchArguments returns which properties of a tool's schema were meant by the names of arguments
// that it does not have: the only property that differs in case and separators, or one that a
// well-known name stands for. Where others are allowed, only properties that are required are
// meant. A property that is given, or that two names fit, is not.
func MatchArguments(schema json.RawMessage, given []string) map[string]string {
	v, _ := decode(schema)
	root, ok := v.(*object)
	if !ok || root.object("properties") == nil {
		return nil
	}
	open := root.values["additionalProperties"] != false
	var free []string // properties that are not given
	for _, name := range root.object("properties").keys {
		if !slices.Contains(given, name) && (!open || slices.Contains(root.list("required"), any(name))) {
			free = append(free, name)
		}
	}
	meant, taken := map[string]string{}, map[string]string{}
	for _, name := range given {
		if root.object("properties").has(name) {
			continue
		}
		found := near(name, free)
		if len(found) == 0 {
			found = aliased(name, argumentAliases, free)
		}
		to := only(found)
		if other := taken[to]; to == "" || other != "" {
			delete(meant, other)
			continue
		}
		meant[name], taken[to] = to, name
	}
	return meant
}

// RenameArguments returns arguments, a JSON object, with the names that MatchArguments returns.
func RenameArguments(schema, arguments json.RawMessage) json.RawMessage {
	v, _ := decode(arguments)
	given, ok := v.(*object)
	if !ok {
		return arguments
	}
	meant := MatchArguments(schema, given.keys)
	if len(meant) == 0 {
		return arguments
	}
	renamed := newObject()
	for _, name := range given.keys {
		to := name
		if meant[name] != "" {
			to = meant[name]
		}
		renamed.set(to, given.values[name])
	}
	return encode(renamed)
}
