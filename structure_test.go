package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestImports checks the imports of every package. A package that is missing in the table is an error.
func TestImports(t *testing.T) {
	t.Parallel()
	const (
		llm      = "providers/llm"
		works    = "providers/llm/works" // vectors, images, videos
		share    = "providers/llm/share"
		catalog  = "providers/catalog"
		creds    = "providers/credentials"
		similar  = "providers/similar"
		safe     = "tools/sanitize"
		swar     = "tools/swar"
		lazy     = "tools/lazy"
		act      = "tools/act"
		gate     = "tools/act/mediagate"
		atomic   = "tools/atomicfile"
		proc     = "tools/process"
		diff     = "tools/diff"
		theme    = "ui/theme"
		md       = "ui/markdown"
		format   = "ui/format"
		fuzzy    = "ui/fuzzy"
		wrap     = "ui/textwrap"
		exchange = "ui/exchange"
		servers  = "providers/discover/discovertest"
		suite    = "providers/adapter/adaptertest"
		heap     = "providers/llmtest/heap"
		tests    = "providers/llmtest/parallel"
		closed   = "providers/llmtest/closed"
		copies   = "session/storetest/copies"
	)
	adapter := []string{llm, "providers/adapter", "providers/filter", "providers/schema", "providers/wire"}
	may := map[string][]string{
		"ui/cli/cmdutil":             {"ui/app", "ui/app/wording", "session", proc, theme, safe, llm, similar, "ui/cli/exit", "session/attach", format},
		"ui/cli/exit":                {"ui/app/wording", "session", llm},
		"ui/cli/ability":             {works, "ui/cli/cmdutil", format, "session", "session/attach", "providers", llm, "ui/cli/exit", safe},
		"ui/cli/cmd/embed":           {works, "ui/cli/ability", "ui/cli/cmdutil", format, safe, "session", "session/attach", "ui/cli/cmd/embed/vectors", "providers/media", "ui/cli/cmd/embed/embedding", llm, catalog, "ui/cli/exit"},
		"ui/cli/cmd/image":           {works, "ui/cli/ability", "ui/tui/termimage", "ui/cli/cmdutil", format, safe, "session", "session/attach", "providers", "providers/media", llm, catalog, "ui/cli/exit", "ui/app", "ui/app/wording"},
		"ui/cli/cmd/video":           {works, "ui/cli/ability", "ui/cli/cmdutil", "ui/app/wording", format, safe, "session", "session/attach", "providers/media", llm, catalog, "ui/cli/exit"},
		"ui/cli/cmd/completion":      {},
		"ui/cli/cmd/embed/embedding": {works, llm, catalog, "providers/retry"},
		"ui/cli/cmd/man":             {"ui/cli/cmdutil", wrap, atomic, "ui/cli/exit"},
		"ui/cli/cmd/sessions":        {"ui/cli/cmdutil", "ui/app/wording", "ui/usage", theme, md, format, safe, "session", "session/transfer", "ui/cli/cmd/sessions/*", llm},
		"ui/cli/cmd/models":          {"ui/cli/ability", "ui/cli/cmdutil", "ui/app/wording", "ui/report", format, safe, "providers", "providers/media", llm, catalog},

		"tools/mcp/client":             {act, "tools", "tools/mcp", "tools/mcp/client/oauth", "tools/proxy", proc, safe, llm, lazy},
		"tools/mcp/client/oauth":       {safe, "tools/proxy"},
		"tools/webpage":                {},
		"tools/undo/changes":           {"tools", "tools/diff", "tools/undo"},
		"tools/folders":                {"tools/openat", "tools/places"},
		"tools/undo/snapshot":          {act, "tools", "tools/undo", "tools/folders", "tools/gitignore", "tools/openat", "tools/places", atomic},
		"ui/cli/cmd/embed/vectors":     {"session/store", lazy},
		"providers/media/formats":      {works, llm, catalog, "providers/media", "providers/adapter", "providers/wire", safe, "tools/proxy"},
		"ui/cli/cmd/sessions/importer": {"session/store", "session/transfer", lazy},
		"ui/cli/cmd/config":            {"ui/app", "ui/cli/cmdutil"},
		"ui/cli/cmd/keys":              {"ui/cli/cmdutil", "ui/app/flows", "ui/tui"},
		"ui/cli/cmd/mcp":               {"ui/cli/cmdutil", "ui/app", format, safe, proc, "tools/mcp"},
		"ui/cli/cmd/connect":           {"ui/cli/ability", "ui/cli/cmdutil", "ui/app/access", "ui/tty", format, safe, "session", "providers"},
		"ui/cli/cmd/help":              {"ui/cli/cmdutil", "docs", wrap, similar},
		"ui/cli/cmd/prompts":           {"ui/cli/cmdutil", "ui/app", "ui/app/flows", "ui/app/promptfile", format, safe, similar, "session", "session/prompts", llm},
		"ui/cli/cmd/sandbox":           {"ui/cli/cmdutil", "tools", proc},
		"ui/cli/cmd/skills":            {"ui/cli/cmdutil", "ui/app", "ui/app/wording", catalog, "session/skills", safe},
		"ui/cli/cmd/doctor":            {"ui/cli/cmdutil", "ui/cli/exit", "ui/app", "ui/app/wording", "ui/crash", "ui/clip", "ui/tui", theme, format, safe, "session", "tools", "tools/mcp", proc, "providers", llm},
		"ui/cli/cmd/serve":             {"ui/cli/cmdutil", "ui/cli/ability", "ui/app/wording", "ui/crash", "ui/client", "ui/report", format, safe, "session", "session/attach", "session/settings", "session/transfer", act, "providers", llm},
		"ui/cli/cmd/version":           {"ui/cli/cmdutil", proc},
		"ui/cli/cmd/undo":              {"ui/cli/cmdutil", format, safe, "session", "tools/undo", "tools/undo/changes"},
		"ui/cli/cmd/backup":            {"ui/cli/cmdutil", format, safe, "session", "session/store", "tools/undo", llm, atomic},

		"":                         {"ui/cli", "tools", "tools/permission", "tools/sandbox", "ui/cli/exit", "ui/clip/routes", md, "ui/markdown/mathtext", "ui/markdown/mermaid", "ui/tui/composer/vim"},
		"ui/cli":                   {exchange, "ui/app", "ui/app/access", "ui/app/wording", "ui/app/flows", "ui/acp", "ui/client", "ui/clip", "ui/tui", "ui/tui/panels", "ui/plain", "ui/print", "ui/report", "ui/tty", "ui/cli/*", wrap, theme, format, safe, "session", "session/attach", "session/archive", "session/transfer", "session/config", "session/settings", "session/hooks", "session/hooks/runner", "session/instructions", "session/memory", "session/trust", "session/until", "tools", "tools/*", "tools/mcp/client", "tools/undo/snapshot", "providers", "providers/media/formats", "providers/schema/fit", "providers/wire/recording", creds, llm, catalog, similar},
		creds:                      {atomic},
		works:                      {llm},
		share:                      {llm},
		llm:                        {},
		similar:                    {},
		catalog:                    {works, llm, safe, atomic, lazy}, // prices of an llm.Usage; facts from lists of models
		"providers/demo":           {catalog, lazy},
		"providers/discover":       {catalog, safe},
		servers:                    {},
		"providers/adapter":        {llm, "providers/wire", proc, safe, swar, lazy},
		"providers/filter":         {llm, "providers/schema", lazy},
		"providers/retry":          {llm},
		"providers/token":          {proc},
		"providers/wire":           {llm, safe, "providers/token", "tools/proxy", lazy},
		"providers/wire/recording": {llm, "providers/wire", safe, lazy},
		"providers/llmtest":        {llm, heap},
		suite:                      {llm, "providers/llmtest"},
		heap:                       {},
		"providers/llmtest/canary": {"providers/wire"},
		closed:                     {},
		tests:                      {},
		"providers/openai":         append([]string{share, lazy}, adapter...),
		"providers/media":          {works, llm, catalog, "providers", "providers/adapter", "providers/wire", similar},
		"providers/gemini":         append([]string{lazy}, adapter...),
		"providers/anthropic":      append([]string{lazy}, adapter...),
		"providers/agentcli":       append([]string{proc, safe, lazy}, adapter...),
		"providers/schema":         {llm, lazy},
		"providers/schema/fit":     {llm, "providers/schema"},
		"providers/prompted":       {llm, "providers/filter", "providers/schema", lazy},
		"providers":                {"providers/*", proc},
		gate:                       {},
		act:                        {llm},
		"tools/rule":               {act, lazy},
		"tools":                    {gate, act, "tools/rule", llm, proc, safe, atomic, "tools/gitignore", "tools/openat", "tools/places"},
		"tools/sandbox":            {"tools/folders", "tools/openat", "tools/places", proc, lazy},
		proc:                       {},
		"tools/places":             {},
		atomic:                     {},
		"tools/permission":         {act, "tools/rule", lazy},
		"tools/undo":               {act},
		"tools/gitignore":          {"tools/openat"},
		"tools/openat":             {"tools/places"},
		diff:                       {},
		"tools/mcp":                {act, "tools", proc, safe, llm, lazy},
		"session":                  {gate, share, "session/settings", "session/store", "session/cachewatch", act, safe, llm},
		"session/hooks":            {act, proc},
		"session/hooks/runner":     {act, proc, safe, "session/hooks"},
		"session/memory":           {"session", "session/trust", "tools", act, atomic, proc, lazy, safe, llm},
		"session/until":            {"session", "session/attach", act, "tools/undo", llm, safe},
		"session/settings":         {llm, similar},
		"session/cachewatch":       {llm},
		"session/store":            {works, "session/cachewatch", "session/store/holder", llm, swar, lazy},
		"session/store/holder":     {},
		"session/storetest":        {"session/store", llm},
		copies:                     {"session/store"},
		"session/archive":          {"session/store", "session/transfer", diff, llm, lazy},
		"session/transfer":         {"session/attach", "session/store", llm, atomic},
		"session/attach":           {llm, atomic},
		"session/config":           {lazy, similar},
		"session/frontmatter":      {lazy},
		"session/prompts":          {"session/frontmatter", llm, atomic},
		"session/instructions":     {},
		"session/skills":           {"session/frontmatter"},
		"session/trust":            {"session/instructions", "tools", safe},
		"ui/tui":                   {"ui/app", "ui/app/wording", "ui/crash", "ui/app/classify", "ui/app/blocks", "ui/clip", "ui/edit", "ui/tui/*", theme, format, safe, "session", llm},
		"ui/tui/panels":            {"ui/app", "ui/app/wording", "ui/tui/*", exchange},
		"ui/tui/common":            {proc, "ui/tui/renderer", "ui/tui/statusbar", "ui/tui/termimage", "ui/clip", theme, format, safe, similar},
		"ui/tui/chat":              {"ui/tui/common", "ui/tui/renderer", "ui/tui/transcript", "ui/tui/termimage", "ui/app", "ui/app/wording", "ui/app/blocks", format, "session", "session/attach", llm},
		"ui/tui/overlay":           {"ui/tui/common", "ui/tui/composer", "ui/tui/dialog", theme, "session"},
		"ui/tui/input":             {theme, "ui/tui/band", "ui/tui/common", "ui/tui/composer", "ui/tui/files", "ui/tui/renderer", "ui/app", "ui/edit", format, safe, llm},
		"ui/tui/panel":             {"ui/tui/common", "ui/tui/dialog", "ui/app", theme, safe, lazy},
		"ui/tui/features":          {"ui/tui/panel", "ui/tui/common", "ui/tui/dialog", "ui/app", "ui/app/wording", theme, format, safe, "session", llm},
		"ui/tui/inspector":         {"ui/tui/common", "ui/tui/dialog", exchange, format},
		"ui/tui/compare":           {"ui/app/candidates", "ui/tui/panel", "ui/tui/common", "ui/tui/chat", "ui/tui/dialog", "ui/tui/transcript", "ui/app/wording", "ui/app/blocks", theme, safe, "session", llm},
		"ui/tui/terminal":          {"ui/tui/renderer", "ui/tty", "ui/clip", safe},
		"docs":                     {lazy},
		"docs/pictures":            {},
		"ui/print":                 {act, "ui/app", "ui/app/wording", "ui/app/blocks", theme, md, wrap, format, safe, "session", llm, "ui/cli/cmdutil", "ui/cli/exit"},
		"ui/report":                {"ui/cli/cmdutil", format, safe, "providers", catalog},
		"ui/client":                {"session", "tools", "ui/app"},
		"ui/acp":                   {act, "ui/app", "ui/app/wording", "ui/crash", "ui/app/blocks", "ui/client", "ui/describe", diff, format, safe, "session", "session/attach", "tools", llm},
		"ui/app":                   {"ui/app/access", "ui/app/drafts", "ui/app/mention", exchange, act, "session", "session/attach", llm, format, safe},
		"ui/app/blocks":            {act, "session", safe, llm, format},
		"ui/app/access":            {"session", llm, format},
		"ui/app/wording":           {act, "session", safe, llm, format},
		"ui/app/drafts":            {"session", "session/attach", llm, format},
		"ui/app/mention":           {"session/attach", act, llm},
		"ui/app/classify":          {"ui/app", fuzzy, similar},
		"ui/app/candidates":        {"ui/app", "ui/app/wording", "ui/app/blocks", "session", llm, format},
		"ui/app/flows/compare":     {"ui/app", "ui/app/candidates", "session"},
		"ui/app/flows":             {"ui/app", "ui/app/flows/*"},
		"ui/app/promptfile":        {"ui/app", "ui/app/mention", "session", "session/attach", "session/prompts", llm},
		"ui/usage":                 {"ui/app/wording", "ui/app/blocks", safe, format, "session"},
		"ui/app/flows/*":           {"ui/app", "ui/app/access", "ui/app/wording", "ui/app/mention", "ui/app/blocks", "ui/usage", "docs", act, "session", "session/*", "tools", "tools/*", md, theme, format, safe, llm, similar},
		"ui/plain":                 {act, "ui/app", "ui/app/wording", "ui/crash", "ui/app/classify", "ui/app/blocks", "ui/app/candidates", "ui/clip", "ui/edit", exchange, "ui/plain/console", "ui/describe", md, format, safe, "session", llm, similar},
		"ui/plain/console":         {"ui/tty", wrap, format, safe, lazy},
		"ui/edit":                  {proc},
		"ui/crash":                 {lazy, safe, format},
		"ui/describe":              {act, diff, safe, lazy},
		"ui/tty":                   {},
		"ui/tui/transcript":        {act, md, theme, format, wrap, diff, safe, "ui/describe", "ui/tui/diffview", lazy},
		"ui/tui/diffview":          {md, theme, wrap, diff},
		"ui/tui/band":              {theme},
		md:                         {theme, wrap, diff, safe, lazy},
		"ui/markdown/mathtext":     {wrap},
		"ui/markdown/mermaid":      {wrap, lazy, safe},
		"ui/tui/composer":          {theme, safe},
		"ui/tui/composer/vim":      {"ui/tui/composer"},
		"ui/tui/dialog":            {act, theme, format, wrap, fuzzy, safe, "ui/describe", "ui/tui/diffview", "ui/tui/band"},
		"ui/tui/beside":            {"ui/tui/panel", "ui/tui/common", "ui/tui/band", "ui/app", "ui/markdown", "session"},
		"ui/tui/sidebar":           {"ui/tui/panel", "ui/tui/common", "ui/app", "tools/act", theme, format, safe, "session", llm},
		"ui/tui/statusbar":         {theme, format, safe},
		"ui/tui/termimage":         {},
		"ui/clip":                  {format},
		"ui/clip/routes":           {"ui/clip", format, proc, atomic, safe},
		"ui/tui/files":             {"tools/gitignore", "tools/openat", fuzzy},
		"ui/tui/renderer":          {lazy},
		"ui/uitest/vt":             {},
		"ui/uitest":                {"ui/tty"},
		"ui/uitest/apptest":        {act, "ui/app", "ui/app/wording", "ui/app/classify", "session", "tools", llm, format},
		theme:                      {},
		format:                     {lazy},
		exchange:                   {format},
		fuzzy:                      {},
		wrap:                       {},
		safe:                       {swar, lazy},
		swar:                       {},
		lazy:                       {},
		"tools/proxy":              {},

		"ui/app/flows/prompts":     {"ui/app", "ui/app/wording", "ui/app/promptfile", "session", "session/prompts", format, safe, llm},
		"ui/app/flows/permissions": {"ui/app", "ui/app/wording", "ui/describe", act, "tools", "tools/rule", format},
	}
	for from, imports := range ownPackages(t) {
		allowed, known := may[from]
		if !known {
			allowed, known = may[path.Dir(from)+"/*"]
		}
		if !known {
			t.Errorf("package %q is not in the table of imports", from)
			continue
		}
		for _, to := range imports {
			if !slices.ContainsFunc(allowed, func(a string) bool {
				prefix, all := strings.CutSuffix(a, "*")
				return a == to || all && strings.HasPrefix(to, prefix)
			}) {
				t.Errorf("%q may not import %q", from, to)
			}
		}
	}
}

// onlyTested are modules that tests compare ours with, with the build tag oracle. docs/dependencies.md says how much
// they would add to the program.
var onlyTested = []string{"charm.land/glamour/v2", "github.com/anthropics/anthropic-sdk-go", "google.golang.org/genai"}

// TestOraclesAreNotLinked checks that the program does not link them: on this system or, with PARLEY_LONG=1, on all
// supported systems.
func TestOraclesAreNotLinked(t *testing.T) {
	t.Parallel()
	systems := []string{runtime.GOOS}
	if long {
		systems = []string{"linux", "darwin", "windows"}
	}
	for _, system := range systems {
		list := exec.Command("go", "list", "-tags", "oracle", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		linked := strings.Fields(string(out))
		if !slices.Contains(linked, "charm.land/bubbletea/v2") {
			t.Fatalf("on %s the program is linked with %q", system, linked)
		}
		for _, module := range onlyTested {
			if slices.Contains(linked, module) {
				t.Errorf("on %s the program is linked with %s", system, module)
			}
		}
	}
}

// TestDependenciesAreExplained checks that docs/dependencies.md has a row for each direct requirement of go.mod, and no
// others.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var required, explained []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		required = append(required, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(string(doc), -1) {
		explained = append(explained, m[1])
	}
	slices.Sort(required)
	slices.Sort(explained)
	if len(required) == 0 || !slices.Equal(required, explained) {
		t.Errorf("docs/dependencies.md explains\n%q\ngo.mod requires\n%q", explained, required)
	}
}

// Limits of sizes. Sizes above their limit are listed in testdata/ratchets.txt, and should fall. A feature may raise a
// number of tokens there: its commit says by how many, and why they are worth it.
const (
	productTokens = 960_000 // Go tokens outside tests and test kits, without comments
	spineTokens   = 540_000 // tokens of packages that are part of the program without any wing
	roomTokens    = 20_000
	typeFields    = 40 // including embedded types
	operations    = 80 // methods, including those of embedded types, and functions that take a pointer to the type
	exportedNames = 80
	functionLines = 60
)

// standsOn limits the tokens of all direct and indirect imports of a package.
var standsOn = map[string]int{"session": 120_000, "ui/app": 150_000, "ui/tui/inspector": 200_000, "ui/tui": 380_000}

// testKits matches directories that only tests import.
var testKits = regexp.MustCompile(`(^|/)(adaptertest|llmtest|storetest|discovertest|uitest)(/|$)|^docs/pictures$`)

var updateRatchets = flag.Bool("ratchets", false, "write the sizes into testdata/ratchets.txt as they are")

// TestRatchets checks current sizes against the limits and against testdata/ratchets.txt. "go test . -run Ratchets
// -ratchets" updates that file; a commit that raises a size says why it is worth that.
func TestRatchets(t *testing.T) {
	t.Parallel()
	over := map[string]int{}
	sizes := measure(t)
	for name, size := range sizes {
		if size.got > size.limit {
			over[name] = size.got
		}
	}
	const path = "testdata/ratchets.txt"
	was := map[string]int{}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			t.Fatalf("%s: %q is not KIND NAME SIZE", path, line)
		}
		if was[fields[0]+" "+fields[1]], err = strconv.Atoi(fields[2]); err != nil {
			t.Fatal(err)
		}
	}
	if *updateRatchets {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(over)) {
			fmt.Fprintf(&b, "%s %d\n", name, over[name])
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		switch before, known := was[name]; {
		case !known:
			t.Errorf("%s: %d, at most %d: see \"The rooms\" in docs/architecture.md", name, over[name], sizes[name].limit)
		case over[name] > before:
			t.Errorf("%s: %d, and may not rise above %d (limit %d)", name, over[name], before, sizes[name].limit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if over[name] < was[name]*99/100 { // small reductions need not be recorded
			t.Errorf("%s: %d, no longer %d: lower it with -ratchets", name, over[name], was[name])
		}
	}
}

// A size is the size of something, with its limit.
type size struct{ got, limit int }

// measure returns all sizes that have a limit, by "KIND NAME".
func measure(t *testing.T) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	add := func(kind, name string, n, limit int) {
		key := kind + " " + cmp.Or(name, ".")
		sizes[key] = size{sizes[key].got + n, limit}
	}
	source := readSource(t)
	wings := readWings(t)
	tokens := map[string]int{} // by package
	for name, f := range source.files {
		dir := path.Dir(name)
		if testKits.MatchString(dir) {
			continue
		}
		n := countTokens(t, name)
		tokens[dir] += n
		add("tokens", "", n, productTokens)
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || isTable(d) {
				continue
			}
			name := dir + "." + d.Name.Name
			if d.Recv != nil {
				name = dir + "." + receiver(d.Recv.List[0].Type) + "." + d.Name.Name
			}
			lines := source.positions.Position(d.End()).Line - source.positions.Position(d.Pos()).Line + 1
			add("function", name, max(0, lines-sizes["function "+name].got), functionLines) // the longest of its builds
		}
	}
	imports := ownPackages(t)
	for dir := range spineOf(imports, wings) {
		add("spine", "", tokens[dir], spineTokens)
	}
	for name, n := range tokens {
		if name != "." {
			add("room", name, n, roomTokens)
		}
		if limit := standsOn[name]; limit > 0 {
			below := 0
			for _, dir := range reached(imports, name) {
				below += tokens[dir]
			}
			add("stands-on", name, below, limit)
		}
	}
	names, types := declared(source)
	for name, n := range names {
		limit := exportedNames
		if name == "providers/llm" {
			limit = 150
		}
		add("exported", name, n, limit)
	}
	for name := range types {
		whole := types.whole(name, map[string]bool{})
		add("fields", name, whole.fields, typeFields)
		add("operations", name, whole.operations+types[name].taken, operations)
	}
	return sizes
}

// spineOf returns the packages that the program imports without its wings.
func spineOf(imports map[string][]string, wings map[string]registration) map[string]bool {
	imports = maps.Clone(imports)
	maps.DeleteFunc(imports, func(dir string, _ []string) bool { return isWing(wings, dir) })
	spine := map[string]bool{}
	for _, dir := range reached(imports, "") {
		if !isWing(wings, dir) {
			spine[dir] = true
		}
	}
	return spine
}

// reached returns the direct and indirect imports of a package.
func reached(imports map[string][]string, from string) (all []string) {
	seen := map[string]bool{from: true}
	var walk func(name string)
	walk = func(name string) {
		for _, to := range imports[name] {
			if !seen[to] {
				seen[to] = true
				all = append(all, to)
				walk(to)
			}
		}
	}
	walk(from)
	return all
}

// A declaredType counts the parts of a type that a reader sees.
type declaredType struct {
	fields, operations int      // without embedded types
	embeds             []string // embedded types of the module
	taken              int      // functions of any package that take a pointer to it
}

// declaredTypes holds the types of the module by DIRECTORY.NAME.
type declaredTypes map[string]*declaredType

// whole returns the fields and methods of a type, including those of embedded types.
func (types declaredTypes) whole(name string, seen map[string]bool) (sum declaredType) {
	typ := types[name]
	if typ == nil || seen[name] {
		return sum
	}
	seen[name] = true
	sum.fields, sum.operations = typ.fields, typ.operations
	for _, embedded := range typ.embeds {
		inner := types.whole(embedded, seen)
		sum.fields, sum.operations = sum.fields+inner.fields, sum.operations+inner.operations
	}
	return sum
}

// declared returns the number of exported names of each package, and the types of the module.
func declared(source source) (names map[string]int, types declaredTypes) {
	names, types = map[string]int{}, declaredTypes{}
	for file, f := range source.files {
		dir := path.Dir(file)
		if testKits.MatchString(dir) {
			continue
		}
		local := map[string]string{}
		for _, spec := range f.Imports {
			if to, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "parley/"); ours {
				local[path.Base(to)] = to
				if spec.Name != nil {
					local[spec.Name.Name] = to
				}
			}
		}
		typeOf := func(e ast.Expr) *declaredType {
			name := qualified(e, dir, local)
			if types[name] == nil {
				types[name] = &declaredType{}
			}
			return types[name]
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
					names[dir]++
				}
				if d.Recv != nil {
					typeOf(d.Recv.List[0].Type).operations++
					continue
				}
				for _, p := range d.Type.Params.List {
					if star, ok := p.Type.(*ast.StarExpr); ok && qualified(star.X, dir, local) != "" {
						typeOf(star.X).taken++
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, name := range s.Names {
							if name.IsExported() {
								names[dir]++
							}
						}
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							names[dir]++
						}
						structure, ok := s.Type.(*ast.StructType)
						if !ok {
							continue
						}
						typ := typeOf(s.Name)
						for _, field := range structure.Fields.List {
							typ.fields += max(1, len(field.Names))
							if name := qualified(field.Type, dir, local); len(field.Names) == 0 && name != "" {
								typ.embeds = append(typ.embeds, name)
							}
						}
					}
				}
			}
		}
	}
	return names, types
}

// qualified returns DIRECTORY.NAME for a type of the module or a pointer to one; "" for others.
func qualified(typ ast.Expr, dir string, local map[string]string) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return qualified(typ.X, dir, local)
	case *ast.IndexExpr:
		return qualified(typ.X, dir, local)
	case *ast.IndexListExpr:
		return qualified(typ.X, dir, local)
	case *ast.Ident:
		return dir + "." + typ.Name
	case *ast.SelectorExpr:
		if pkg, ok := typ.X.(*ast.Ident); ok && local[pkg.Name] != "" {
			return local[pkg.Name] + "." + typ.Sel.Name
		}
	}
	return ""
}

// A registration is the place of the line that adds a wing to the program.
type registration struct{ file, word string }

// readWings returns the wings in testdata/wings.txt by directory. Each line has a directory, a file, and a word of the
// line in that file that registers the wing.
func readWings(t *testing.T) map[string]registration {
	t.Helper()
	text, err := os.ReadFile("testdata/wings.txt")
	if err != nil {
		t.Fatal(err)
	}
	wings := map[string]registration{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 {
			t.Fatalf("testdata/wings.txt: %q is not DIRECTORY FILE WORD", line)
		}
		wings[fields[0]] = registration{fields[1], strings.Join(fields[2:], " ")}
	}
	return wings
}

// isWing reports whether dir is one of wings or below one.
func isWing(wings map[string]registration, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := wings[dir]; ok {
			return true
		}
	}
	return false
}

// TestMap checks that each room of the program stands in the right table of docs/architecture.md: packages of the spine in
// the first, and in the second those that only wings import.
func TestMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, spineTable, _ := strings.Cut(string(text), "### The spine\n")
	spineTable, wingsTable, _ := strings.Cut(spineTable, "### The wings\n")
	wingsTable, _, _ = strings.Cut(wingsTable, "###")
	name := regexp.MustCompile("`([a-z_/]+)(/…)?`")
	named := func(table string) map[string]bool {
		rooms := map[string]bool{}
		for line := range strings.Lines(table) {
			if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
				for _, m := range name.FindAllStringSubmatch(cell, -1) {
					rooms[m[1]+m[2]] = true
				}
			}
		}
		return rooms
	}
	spine := spineOf(ownPackages(t), readWings(t))
	inSpine, inWings := named(spineTable), named(wingsTable)
	for dir := range ownPackages(t) {
		mine, other, table := inSpine, inWings, "spine"
		if !spine[dir] || inWings[path.Dir(dir)+"/…"] { // a flow or a subcommand that is not in testdata/wings.txt yet
			mine, other, table = inWings, inSpine, "wings"
		}
		if other[dir] || dir != "" && !testKits.MatchString(dir) && !mine[dir] && !mine[path.Dir(dir)+"/…"] {
			t.Errorf("docs/architecture.md: %s belongs to the table of the %s", dir, table)
		}
	}
	for dir := range inSpine {
		if _, ok := ownPackages(t)[dir]; !ok && !strings.HasSuffix(dir, "/…") {
			t.Errorf("docs/architecture.md names %s, which does not exist", dir)
		}
	}
}

// TestWings builds the program without each wing: without its directory, its import and the line that registers it. The
// rest must answer a prompt.
func TestWings(t *testing.T) {
	if !long {
		t.Skip("PARLEY_LONG=1 builds the program once for each wing")
	}
	for dir, at := range readWings(t) {
		t.Run(dir, func(t *testing.T) {
			tmp := t.TempDir()
			replaced := map[string]string{}
			for name := range readSource(t).files {
				if strings.HasPrefix(name, dir+"/") {
					replaced[absolute(t, name)] = ""
				}
			}
			if len(replaced) == 0 {
				t.Fatalf("%s has no files", dir)
			}
			text, err := os.ReadFile(at.file)
			if err != nil {
				t.Fatal(err)
			}
			var kept strings.Builder
			lines := 0
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, at.word) || strings.Contains(line, "/"+dir+`"`) {
					lines++
					continue
				}
				kept.WriteString(line)
			}
			if lines != 2 {
				t.Errorf("%d lines of %s name the wing, not its import and its registration alone", lines, at.file)
			}
			shorter := filepath.Join(tmp, "shorter.go")
			replaced[absolute(t, at.file)] = shorter
			overlay, err := json.Marshal(map[string]any{"Replace": replaced})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{shorter: kept.String(), filepath.Join(tmp, "overlay.json"): string(overlay)} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(tmp, "parley")
			if out, err := exec.Command("go", "build", "-overlay", filepath.Join(tmp, "overlay.json"), "-o", program, ".").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if dir == "providers/demo" || dir == "providers/openai" {
				return // without a model nothing answers, and the demo uses OpenAI's wire formats
			}
			cmd := exec.Command(program, "-p", "--ephemeral", "-m", "demo", "hello")
			cmd.Dir, cmd.Env = tmp, []string{"HOME=" + tmp, "PATH=" + os.Getenv("PATH")}
			if out, err := cmd.Output(); err != nil || len(out) == 0 {
				t.Errorf("answered %q, %v", out, err)
			}
		})
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// isTable reports whether a function only returns a list of rows; such functions may have any length.
func isTable(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	only, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(only.Results) != 1 {
		return false
	}
	_, ok = only.Results[0].(*ast.CompositeLit)
	return ok
}

// countTokens returns the number of tokens in a file, without comments and inserted semicolons.
func countTokens(t *testing.T, name string) (n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return n
		case kind != token.SEMICOLON || literal != "\n":
			n++
		}
	}
}

// receiver returns the name of a method's type.
func receiver(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return receiver(typ.X)
	case *ast.IndexExpr:
		return receiver(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return "?"
}

// A source holds all Go files of the module, for any system.
type source struct {
	positions *token.FileSet
	files     map[string]*ast.File // without tests, by slash-separated path
	tests     map[string]string    // text of tests, by slash-separated path
}

// ourSource is the source of this module, read once.
var ourSource = sync.OnceValues(func() (source, error) {
	s := source{token.NewFileSet(), map[string]*ast.File{}, map[string]string{}}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			s.tests[filepath.ToSlash(path)] = string(text)
			return err
		case strings.HasSuffix(path, ".go"):
			s.files[filepath.ToSlash(path)], err = parser.ParseFile(s.positions, path, nil, parser.SkipObjectResolution)
		}
		return err
	})
	return s, err
})

// readSource returns ourSource.
func readSource(t *testing.T) source {
	t.Helper()
	s, err := ourSource()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLazyExpressions checks that regular expressions compiled on first use are valid.
func TestLazyExpressions(t *testing.T) {
	t.Parallel()
	files := readSource(t).files
	values := map[string]ast.Expr{} // constants and variables, by directory and name
	for name, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, id := range spec.Names {
					values[path.Dir(name)+" "+id.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	var textOf func(dir string, e ast.Expr) (text string, known bool)
	textOf = func(dir string, e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		case *ast.Ident:
			value, ok := values[dir+" "+e.Name]
			if !ok {
				return "", false
			}
			return textOf(dir, value)
		case *ast.BinaryExpr:
			x, known := textOf(dir, e.X)
			y, alsoKnown := textOf(dir, e.Y)
			return x + y, known && alsoKnown
		}
		return "", false
	}
	checked, unknown := 0, 0
	for name, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "NewRegexp" {
				return true
			}
			text, known := textOf(path.Dir(name), call.Args[0])
			if !known {
				unknown++
				return true
			}
			checked++
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", readSource(t).positions.Position(call.Pos()), err)
			}
			return true
		})
	}
	if checked < 100 || unknown > 4 { // these are parameters of functions
		t.Errorf("%d expressions were checked, and %d not", checked, unknown)
	}
}

// ownPackages returns the imports of each of our packages within the module, on any system, by paths below the module;
// "" is the program.
func ownPackages(t *testing.T) map[string][]string {
	t.Helper()
	module := modulePath(t)
	imports := map[string][]string{}
	for name, f := range readSource(t).files {
		from := path.Dir(name)
		if from == "." {
			from = ""
		}
		if _, known := imports[from]; !known {
			imports[from] = nil // it may have no imports
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, ours := strings.CutPrefix(imported+"/", module+"/")
			if to = strings.TrimSuffix(to, "/"); ours && !slices.Contains(imports[from], to) {
				imports[from] = append(imports[from], to)
			}
		}
	}
	return imports
}

// modulePath returns the name of this module, which its owner may change.
func modulePath(t *testing.T) string {
	t.Helper()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	return strings.TrimPrefix(line, "module ")
}

// TestInitIsCheap limits the work of packages before main, which every run pays for, even one that prints the version.
// Expressions, tables and documents must be made on first use. A package with any initialization brings 64 KB of the
// program's file into memory.
func TestInitIsCheap(t *testing.T) {
	t.Parallel()
	const most = 200 // allocations per package; one expression takes about 60
	may := []string{ // packages that have initialization; no other may
		"providers", "providers/adapter", "providers/agentcli", "providers/anthropic", "providers/catalog", "providers/credentials",
		"providers/demo", "providers/filter", "providers/gemini", "providers/llm", "providers/openai", "providers/schema", "providers/wire",
		"session", "session/archive", "session/store", "tools", "tools/mcp/client", "tools/permission", "tools/places", "tools/sandbox", "tools/sanitize",
		"ui/app/wording", "ui/cli", "ui/clip/routes", "ui/markdown", "ui/plain", "ui/tui/renderer", "ui/tui/transcript",
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("parley", "--version")
	cmd.Path, cmd.Err = exe, nil
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GODEBUG=inittrace=1"}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(fmt.Errorf("%w\n%s", err, trace.String()))
	}
	packages := 0
	for _, m := range regexp.MustCompile(`(?m)^init (`+regexp.QuoteMeta(modulePath(t))+`/\S+) .* (\d+) allocs$`).FindAllStringSubmatch(trace.String(), -1) {
		if strings.Contains(m[1], "test") { // a package of this test, not of the program
			continue
		}
		packages++
		if _, name, _ := strings.Cut(m[1], "/"); !slices.Contains(may, name) {
			t.Errorf("%s makes variables before main: use a switch for a map, sync.OnceValue for what is computed and tools/lazy for an expression", m[1])
		}
		if allocs, err := strconv.Atoi(m[2]); err != nil || allocs > most {
			t.Errorf("%s: got %s allocations before main, want %d at most", m[1], m[2], most)
		}
	}
	if packages == 0 {
		t.Errorf("no package is in the trace:\n%s", trace.String())
	}
}

// isTest matches tests, fuzz tests and benchmarks, but not TestMain.
var isTest = regexp.MustCompile(`^func ((?:Test|Fuzz|Benchmark)(?:[^a-z(]\w*)?)\(`)

// namedTests returns all tests, fuzz tests and benchmarks, as "folder Test".
func namedTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for name, text := range readSource(t).tests {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "func ") { // faster than the expression
				continue
			}
			if m := isTest.FindStringSubmatch(line); m != nil {
				tests[path.Dir(name)+" "+m[1]] = m[1] != "TestMain"
			}
		}
	}
	return tests
}

// checkNamedTest reports a test named by what that does not exist. Test is "folder Test", "script NAME: a piece of it"
// for testdata/script, or "ci: a piece of it" for .ci/run.
func checkNamedTest(t *testing.T, tests map[string]bool, what, test string) {
	t.Helper()
	name, piece, text := strings.Cut(test, ": ")
	script, isScript := strings.CutPrefix(name, "script ")
	path := filepath.Join("testdata/script", script+".txtar")
	switch {
	case !text:
		if !tests[test] {
			t.Errorf("%s: there is no %s", what, test)
		}
		return
	case name == "ci":
		path = ".ci/run"
	case !isScript:
		t.Errorf("%s: %q is no test", what, test)
		return
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), piece) {
		t.Errorf("%s: %s says nothing of %q: %v", what, path, piece, err)
	}
}

// TestPromisesHaveTests checks that the tests named in testdata/reliability.txt exist.
func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/reliability.txt")
	if err != nil {
		t.Fatal(err)
	}
	tests := namedTests(t)
	promises := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		promise, named, ok := strings.Cut(line, " | ")
		if !ok || promise == "" || named == "" {
			t.Errorf("%q is not RULE | TEST; TEST", line)
			continue
		}
		promises++
		for test := range strings.SplitSeq(named, "; ") {
			checkNamedTest(t, tests, promise, test)
		}
	}
	t.Logf("%d promises", promises)
}
