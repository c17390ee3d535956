package demo

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// fence puts text into a code block. The fence is longer than any in the text,
// which comes from files and programs.
func fence(text, language string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}

// excerpt is the first lines of text in a code block, and how many follow.
func excerpt(text, language string, most int) string {
	all := lines(text)
	shown := fence(firstLines(text, most), language)
	if len(all) > most {
		shown += fmt.Sprintf("\n\n… and %s more.", count(len(all)-most, "line"))
	}
	return shown
}

// code is text as inline code; text with backticks or line ends is quoted.
func code(text string) string {
	if strings.ContainsAny(text, "`\n") {
		return quoted(text)
	}
	return "`" + text + "`"
}

// count is n of something, in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func lines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// firstLines are the first lines of text, none longer than a screen is wide
// twice over.
func firstLines(text string, most int) string {
	const widest = 160
	list := lines(text)
	list = slices.Clone(list[:min(len(list), most)])
	for i, line := range list {
		if utf8.RuneCountInString(line) > widest {
			list[i] = string([]rune(line)[:widest]) + "…"
		}
	}
	return strings.Join(list, "\n")
}

func firstLine(text string) string { return firstLines(strings.TrimSpace(text), 1) }

// unquote takes text out of the quotes a user put around it.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, pair := range []string{"``", `""`, "''", "“”"} {
		quotes := []rune(pair)
		if runes := []rune(text); len(runes) > 2 && runes[0] == quotes[0] && runes[len(runes)-1] == quotes[1] {
			return string(runes[1 : len(runes)-1])
		}
	}
	return text
}

// numbered is how read tools put numbers in front of lines.
var numbered = lazy(`(?m)^ *\d+[\t→]`)

// unnumbered is the text of a file without line numbers and remarks.
func unnumbered(output string) string {
	if !numbered().MatchString(output) {
		return output
	}
	var list []string
	for _, line := range lines(output) {
		if numbered().MatchString(line) {
			list = append(list, numbered().ReplaceAllString(line, ""))
		}
	}
	return strings.Join(list, "\n")
}

// entries are the names in a listing: sizes, targets and remarks are left out.
func entries(output string) []string {
	var names []string
	for _, line := range lines(output) {
		name, _, _ := strings.Cut(strings.TrimRight(line, "\r"), "\t")
		name, _, _ = strings.Cut(name, " -> ")
		if name = strings.TrimSpace(name); name != "" && !remark().MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

var remark = lazy(`^[\[(]|^(?:no|the folder|nothing|empty)\b`)

func bullets(names []string, most int) string {
	var b strings.Builder
	for _, name := range names[:min(len(names), most)] {
		b.WriteString("- " + code(name) + "\n")
	}
	if len(names) > most {
		fmt.Fprintf(&b, "- … and %d more\n", len(names)-most)
	}
	return strings.TrimRight(b.String(), "\n")
}

// listing tells what is in a directory: directories, and files by kind.
func listing(where string, names []string) string {
	if len(names) == 0 {
		return strings.ToUpper(where[:1]) + where[1:] + " is empty."
	}
	var folders, files []string
	kinds := map[string]int{}
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			folders = append(folders, name)
			continue
		}
		files = append(files, name)
		if ext := path.Ext(name); ext != "" && ext != name {
			kinds[ext]++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "There are **%s** and **%s** in %s", count(len(files), "file"), count(len(folders), "folder"), where)
	if kind, n := most(kinds); n > 1 {
		fmt.Fprintf(&b, "; %d of the files are `%s`", n, kind)
	}
	return b.String() + ":\n\n" + bullets(append(folders, files...), 25)
}

// most is the key that was counted most, the first by name among equals.
func most(counts map[string]int) (key string, n int) {
	for k, c := range counts {
		if c > n || c == n && k < key {
			key, n = k, c
		}
	}
	return key, n
}

// contents tells what files hold that were read in one round.
func contents(round []result) string {
	var sections []string
	for _, r := range round {
		name := r.path()
		if text := r.excuse("read `" + name + "`"); text != "" {
			sections = append(sections, text)
			continue
		}
		text := unnumbered(r.output)
		section := fmt.Sprintf("`%s` %s\n\n%s", name, outline(text, language(name)), excerpt(text, language(name), 15))
		if len(round) > 1 {
			section = "### " + name + "\n\n" + section
		}
		sections = append(sections, section)
	}
	return strings.Join(sections, "\n\n")
}

// landmarks are the lines that say what a file is about, by language.
var landmarks = map[string]struct {
	what string
	line func() *regexp.Regexp
}{
	"go":         {"It declares", lazy(`(?m)^(?:func (?:\([^)]*\) )?|type )(\w+)`)},
	"python":     {"It defines", lazy(`(?m)^(?:def|class) (\w+)`)},
	"javascript": {"It defines", lazy(`(?m)^(?:export )?(?:default )?(?:async )?(?:function|class|const) (\w+)`)},
	"typescript": {"It defines", lazy(`(?m)^(?:export )?(?:default )?(?:async )?(?:function|class|const|interface|type) (\w+)`)},
	"rust":       {"It defines", lazy(`(?m)^(?:pub )?(?:fn|struct|enum|trait) (\w+)`)},
	"markdown":   {"Its headings are", lazy(`(?m)^#+ +(.+)$`)},
	"toml":       {"Its tables are", lazy(`(?m)^\[+([^\]]+)\]`)},
}

// outline says how long text is and what stands out in it.
func outline(text, language string) string {
	size := fmt.Sprintf("has %s and %s.", count(len(lines(text)), "line"), count(len(strings.Fields(text)), "word"))
	mark, ok := landmarks[language]
	if !ok {
		return size
	}
	var names []string
	for _, m := range mark.line().FindAllStringSubmatch(text, -1) {
		if name := code(strings.TrimSpace(m[1])); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const shown = 8
	switch n := len(names); {
	case n == 0:
		return size
	case n > shown:
		return fmt.Sprintf("%s %s %s and %d more.", size, mark.what, strings.Join(names[:shown], ", "), n-shown)
	}
	return fmt.Sprintf("%s %s %s.", size, mark.what, strings.Join(names, ", "))
}

// languages of code blocks, by extension.
var languages = map[string]string{
	".go": "go", ".py": "python", ".js": "javascript", ".ts": "typescript", ".rs": "rust", ".md": "markdown",
	".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".html": "html", ".css": "css", ".sh": "sh",
	".c": "c", ".h": "c", ".java": "java", ".sql": "sql", ".rb": "ruby", ".mod": "go",
}

func language(name string) string { return languages[strings.ToLower(path.Ext(name))] }
