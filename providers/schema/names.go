package schema

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"parley/tools/lazy"
)

// MatchTool returns the entry of names that a model meant by name: an exact match, else the only
// one that differs in case, separators or a prefix such as "functions.", else the only one for a
// well-known alias. It returns "" if there is none, or if several match.
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
	return cmp.Or(match(bare, names, nil), match(toolPrefix.ReplaceAllString(bare, ""), names, toolAliases))
}

// CutHarmony returns the tool name without harmony's tokens and words, as in
// "read<|channel|>commentary" and "commentary to=functions.read".
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

// foldName returns name without the differences that models confuse: case and separators.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// match returns the only one of names that equals name except for case and separators, or else the
// only one that name is an alias of; "" if there is not exactly one.
func match(name string, names []string, aliases map[string]string) string {
	key := foldName(name)
	var found, known []string
	for _, n := range names {
		switch {
		case foldName(n) == key:
			found = append(found, n)
		case slices.Contains(strings.Fields(aliases[n]), key):
			known = append(known, n)
		}
	}
	if len(found) == 0 {
		found = known
	}
	if len(found) != 1 || key == "" {
		return ""
	}
	return found[0]
}

// toolAliases lists the names of parley's tools in other programs, folded.
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

// argumentAliases lists the names that models use for arguments of tools, folded.
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

// RenameArguments returns arguments, a JSON object, with unknown names replaced by the properties
// of a tool's schema that they mean: the only property that differs in case and separators, or one
// with a well-known alias. If the schema allows other names, only required properties are
// considered. A property that is already set, or that two names match, is not used.
func RenameArguments(schema, arguments json.RawMessage) json.RawMessage {
	tool, _ := decode(schema)
	v, _ := decode(arguments)
	root, ok := tool.(*object)
	given, is := v.(*object)
	if !ok || !is || root.object("properties") == nil {
		return arguments
	}
	properties := root.object("properties")
	open := root.values["additionalProperties"] != false
	free := slices.DeleteFunc(slices.Clone(properties.keys), func(name string) bool {
		return given.has(name) || open && !slices.Contains(root.list("required"), any(name))
	})
	meant, count := map[string]string{}, map[string]int{}
	for _, name := range given.keys {
		if !properties.has(name) {
			meant[name] = match(name, free, argumentAliases)
			count[meant[name]]++
		}
	}
	renamed, changed := newObject(), false
	for _, name := range given.keys {
		to := meant[name]
		if fits := to != "" && count[to] == 1; !fits {
			to = name
		}
		renamed.set(to, given.values[name])
		changed = changed || to != name
	}
	if !changed {
		return arguments
	}
	return encode(renamed)
}
