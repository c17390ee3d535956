package features

import (
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// suggestions holds the suggestions of the first screen for a directory. Its texts are sanitized.
type suggestions struct {
	examples []string   // prompts to try, shown if there is space
	recent   []app.Item // conversations to continue, latest first; Value is the id, Detail the age, Cells the changed lines
}

// maxSuggested is the maximum number of examples, and of conversations.
const maxSuggested = 3

// recentSessions returns the latest conversations in the directory or, if there are none, in all directories.
func recentSessions(o app.Options) (rows []app.Item) {
	list, _ := o.Library.List(session.Query{Dir: o.Directory, Limit: maxSuggested})
	if len(list) == 0 {
		list, _ = o.Library.List(session.Query{Limit: maxSuggested})
	}
	for _, s := range list {
		changed, _ := o.Library.Get(app.ChangesKey(s.ID))
		rows = append(rows, app.Item{Title: sanitize.Line(wording.ListTitle(s)), Detail: ago(o.Now().Sub(s.Updated)), Cells: strings.Fields(sanitize.Line(changed)), Value: s.ID})
	}
	return rows
}

// ago returns the time since an event: "now", "12 min ago".
func ago(d time.Duration) string {
	if age := format.Age(d); age != "now" {
		return age + " ago"
	}
	return "now"
}

// demoExamples are prompts that the demo can answer.
var demoExamples = []string{"How do I add a key?", "Which files are here?", "Show me what you can do"}

// An example is a prompt for directories that contain a file with one of the given names.
// FILE in the prompt stands for that file.
type example struct {
	files  []string // patterns of path.Match; nil for every directory
	git    bool     // only in repositories
	prompt string
}

// examples lists the prompts, the most helpful ones in an unknown directory first.
var examples = []example{
	{files: []string{"go.mod", "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "pom.xml", "build.gradle*", "CMakeLists.txt", "Makefile", "Gemfile", "composer.json", "mix.exs", "*.csproj", "*.sln", "dune-project", "*.cabal"}, prompt: "Explain how this project is built and where to start reading"},
	{git: true, prompt: "Suggest a commit message for my changes"},
	{files: []string{"*_test.go", "test", "tests", "spec", "__tests__", "*.test.ts", "*.test.js", "go.mod", "Cargo.toml"}, prompt: "Run the tests and explain what fails"},
	{files: []string{"README*", "readme*"}, prompt: "Summarize @FILE in five points"},
	{files: []string{"*.csv", "*.tsv"}, prompt: "Summarize @FILE as a short table"},
	{files: []string{"*.log"}, prompt: "Find the first error in @FILE and explain it"},
	{files: []string{"*.md", "*.txt", "*.tex"}, prompt: "Suggest three improvements to @FILE"},
	{files: []string{"*.py", "*.sh", "*.js", "*.rb", "*.c"}, prompt: "Review @FILE for bugs"},
	{prompt: "Which files here are the largest, and what are they?"},
	{prompt: "Write a shell command that finds files changed today"},
	{prompt: "Compare SQLite and PostgreSQL in a table"},
}

// maxLooked is the maximum number of directory entries that are read.
const maxLooked = 500

// examplesFor returns prompts that suit the content of dir.
func examplesFor(dir string, git bool) (prompts []string) {
	names := listed(dir)
	for _, e := range examples {
		if len(prompts) == maxSuggested {
			break
		}
		file, ok := e.match(names)
		if ok && (git || !e.git) {
			prompts = append(prompts, strings.ReplaceAll(e.prompt, "FILE", file))
		}
	}
	return prompts
}

// match returns the first file that matches e.
func (e example) match(names []string) (file string, ok bool) {
	for _, pattern := range e.files {
		for _, name := range names {
			if is, err := path.Match(pattern, name); is && err == nil {
				return name, true
			}
		}
	}
	return "", len(e.files) == 0
}

// listed returns, in order, the names in dir that can be mentioned without quoting.
func listed(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxLooked)
	names = slices.DeleteFunc(names, func(n string) bool {
		return strings.HasPrefix(n, ".") || strings.ContainsAny(n, " \"'`@") || n != sanitize.Line(n)
	})
	slices.Sort(names)
	return names
}
