package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/session/config"
	"parley/session/hooks"
	"parley/session/settings"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/app/flows"

	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/tui"
)

// Config is config.toml. Each field belongs to the package that acts on it.
type Config struct {
	Model       string                      `toml:"model"`
	ImageModel  string                      `toml:"image_model"`
	EmbedModel  string                      `toml:"embed_model"` // "" is the first connected one
	Fallback    []string                    `toml:"fallback"`
	Fallbacks   map[string][]string         `toml:"fallbacks"` // by model or provider, used instead of Fallback
	Effort      llm.Effort                  `toml:"effort"`
	System      string                      `toml:"system"`
	Web         bool                        `toml:"web"` // answers may search the web
	Mode        act.Mode                    `toml:"mode"`
	Background  int                         `toml:"background_after"` // seconds until a command moves to the background; 0: never
	MaxTurns    int                         `toml:"max_turns"`
	MaxCost     float64                     `toml:"max_cost"`
	UI          tui.Config                  `toml:"ui"`
	Session     session.Config              `toml:"session"`
	Keys        tui.Keys                    `toml:"keys"`
	Permissions tools.Permissions           `toml:"permissions"`
	Sandbox     tools.SandboxConfig         `toml:"sandbox"`
	MCP         map[string]mcp.Config       `toml:"mcp"`
	Tools       map[string]tools.CustomTool `toml:"tools"`
	Hooks       []hooks.Config              `toml:"hooks"`
	Budget      settings.Budget             `toml:"budget"`
	Search      tools.SearchConfig          `toml:"search"`
	Consult     session.Consult             `toml:"consult"`
	providers.Config
}

// Project is .parley/config.toml of a trusted directory: settings that a stranger may provide once the user has agreed.
// Endpoints, keys and commands that run without approval are excluded.
type Project struct {
	Model   string     `toml:"model"`
	Effort  llm.Effort `toml:"effort"`
	System  string     `toml:"system"` // appended to parley's or the user's own
	Session struct {
		History string  `toml:"history"`
		Compact float64 `toml:"compact"`
	} `toml:"session"`
	Tools map[string]tools.CustomTool `toml:"tools"` // each call needs approval
}

// Validate reports the first invalid value.
func (p *Project) Validate() error {
	c := Config{Effort: p.Effort, UI: tui.Default(), Config: providers.Default()}
	c.Session.History, c.Session.CompactAt = p.Session.History, p.Session.Compact
	return cmp.Or(c.Validate(), tools.ValidateCustomTools(p.Tools, true))
}

// Validate reports the first invalid value.
func (c *Config) Validate() error {
	if c.Effort != "" && !slices.Contains(llm.Efforts, c.Effort) {
		return fmt.Errorf("effort = %q: use one of %s", c.Effort, format.JoinComma(llm.Efforts))
	}
	if modes := append(slices.Clone(act.Modes), act.ModeYolo); c.Mode != "" && !slices.Contains(modes, c.Mode) {
		return fmt.Errorf("mode = %q: use one of %s", c.Mode, format.JoinComma(modes))
	}
	if c.Background < 0 {
		return fmt.Errorf("background_after = %d: give seconds; 0 means never", c.Background)
	}
	if c.MaxTurns < 0 || !(c.MaxCost >= 0) || math.IsInf(c.MaxCost, 0) {
		return errors.New("max_turns and max_cost cannot be negative; 0 means no limit")
	}
	if err := cmp.Or(c.UI.Validate(), c.Session.Validate(), c.Keys.Validate(flows.Commands()), tools.ValidateCustomTools(c.Tools, false), c.Permissions.Validate(c.toolNames()...), c.Sandbox.Validate(), c.Search.Validate(), mcp.Validate(c.MCP), hooks.Validate(c.Hooks), c.Budget.Validate(), c.Consult.Validate()); err != nil {
		return err
	}
	return c.Config.Validate()
}

// toolNames returns the names of the user's own tools.
func (c *Config) toolNames() []string { return slices.Sorted(maps.Keys(c.Tools)) }

// configDir returns the directory of the configuration and of stored keys; "" if there is no home.
func configDir() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // relative paths are ignored (XDG Base Directory)
		if dir, _ = os.UserConfigDir(); dir == "" {
			home, _ := os.UserHomeDir()
			dir = filepath.Join(home, ".config")
		}
	}
	if !filepath.IsAbs(dir) { // a relative path would be in the workspace, whose files are not trusted
		return ""
	}
	return filepath.Join(dir, "parley")
}

// inConfigDir returns the path of a file or directory of the user's configuration; "" if there is no home.
func inConfigDir(name string) string {
	if dir := configDir(); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

// backgroundAfter is the default number of seconds until a command moves to the background.
const backgroundAfter = 60

// defaultConfig returns the defaults of the configuration.
func defaultConfig(stored providers.KeyStore) Config {
	c := Config{Config: providers.Default(), UI: tui.Default(), Session: session.DefaultConfig(), Background: backgroundAfter, Budget: settings.DefaultBudget()}
	c.Stored, c.Facts = stored, fetchedFacts()
	return c
}

// load opens the log and reads the configuration: the default file if it exists, or the file of --config, which must
// exist. Errors carry the exit status for configuration errors.
func (a *program) load() error { return cmdutil.Config(a.readConfig()) }

func (a *program) readConfig() error {
	if a.flags.wire.debugFile != "" && a.debugLog == nil {
		if info, err := os.Stat(a.flags.wire.debugFile); err == nil && !info.Mode().IsRegular() {
			return cmdutil.Usagef("--debug: %s is not a regular file", a.flags.wire.debugFile)
		}
		f, err := os.OpenFile(a.flags.wire.debugFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			err = f.Chmod(0o600) // the file may have existed before
		}
		if err != nil {
			return cmdutil.Usagef("--debug: %w", err)
		}
		a.debugLog = slog.New(slog.NewJSONHandler(f, nil))
	}
	if openKeys != nil {
		a.credentials, a.mcp.logins = openKeys(configDir(), false), openKeys(inConfigDir("mcp"), true) // servers are not providers
		for _, store := range []ability.Keys{a.credentials, a.mcp.logins} {
			if exposed := store.Exposed(); exposed != "" {
				a.Note(exposed)
			}
		}
	}
	a.config = defaultConfig(a.credentials)
	usual := inConfigDir("config.toml")
	path := cmp.Or(a.flags.configFile, usual)
	if _, err := os.Stat(path); a.flags.configFile == "" && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	a.configPath = path
	text, mode, err := readFile(path)
	if err != nil && a.flags.configFile != "" {
		return fmt.Errorf("--config %w: name a file with settings, or leave --config out for %s", err, abbrevPath(usual))
	} else if err != nil {
		return fmt.Errorf("configuration %w: move it away, or name another file with --config", err)
	}
	if err := config.Decode(string(text), &a.config); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	a.config.resolveAliases(&a.flags)
	if changeable := changeableByAll(path); changeable != "" {
		a.Note(changeable)
	}
	for _, p := range a.config.Providers {
		if p.APIKey != "" && mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			a.Note(fmt.Sprintf("%s contains a key and can be read by others (mode %04o): chmod 600 %[1]s", path, mode.Perm()))
			break
		}
	}
	return nil
}

// readFile reads a configuration. Errors begin with its path.
func readFile(path string) (text []byte, mode os.FileMode, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: it is not a regular file", path)
	}
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, 0, errors.New(format.ErrorText(err))
	}
	return text, info.Mode(), nil
}

// changeableByAll returns a warning if other users of the machine can change the configuration, which names programs to
// run, or its directory, or that of the file it links to; "" otherwise.
func changeableByAll(path string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	paths := []string{path, filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, filepath.Dir(real))
	}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
			return fmt.Sprintf("%s can be changed by others (mode %04o): chmod o-w %[1]s", p, info.Mode().Perm())
		}
	}
	return ""
}

// resolveAliases replaces aliases by their models in the configuration and in the flags, so that answers, comparisons
// and fallbacks name the real models.
func (c *Config) resolveAliases(f *flags) {
	for _, name := range []*string{&c.Model, &c.ImageModel, &c.EmbedModel, &c.Session.TitleModel, &c.Session.SummaryModel, &f.settings.model} {
		*name = c.Resolve(*name)
	}
	lists := [][]string{c.Fallback, f.models, f.fallback}
	for _, name := range slices.Sorted(maps.Keys(c.Fallbacks)) {
		chain := c.Fallbacks[name]
		lists = append(lists, chain)
		if _, own := c.Fallbacks[c.Resolve(name)]; !own { // a chain under the model's own name takes precedence
			c.Fallbacks[c.Resolve(name)] = chain
		}
	}
	for _, names := range lists {
		for i, name := range names {
			names[i] = c.Resolve(name)
		}
	}
}

// configPath returns the path of the configuration, which may not exist; named is the value of --config, or "".
func configPath(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	if path := inConfigDir("config.toml"); path != "" {
		return path, nil
	}
	return "", cmdutil.Config(errors.New("no folder for the configuration: set HOME or XDG_CONFIG_HOME to an absolute path"))
}

// namedConfig is a configuration with existing models.
type namedConfig struct{ Config }

// Validate reports the first invalid value.
func (c *namedConfig) Validate() error { return cmp.Or(c.Config.Validate(), c.checkNames()) }

// configFile returns config.toml for the flow that changes it.
func configFile(a *program) app.ConfigFile {
	path, err := configPath(a.flags.configFile)
	if err != nil {
		return app.ConfigFile{}
	}
	return app.ConfigFile{
		Path: path, Undo: &a.lastSetting,
		New: func() interface{ Validate() error } { return &namedConfig{defaultConfig(a.credentials)} },
		Sources: func() (over, under map[string]string) {
			return flagSettings(&a.flags), folderSettings(a.project, a.library)
		},
		Words: func(setting string) []string { return settingWords(setting, a.config.UI) },
	}
}

// settingWords returns the possible values of a setting, if there are few.
func settingWords(setting string, screen tui.Config) []string {
	name, ui := strings.CutPrefix(setting, "ui.")
	switch {
	case ui:
		return screen.Words(name)
	case setting == "effort", strings.HasPrefix(setting, "providers.") && strings.HasSuffix(setting, ".effort"):
		return cmdutil.Words(llm.Efforts)
	case setting == "mode":
		return cmdutil.Words(append(slices.Clone(act.Modes), act.ModeYolo))
	case setting == "session.history":
		return []string{"full", "dynamic", "stateless"}
	case setting == "search.kind":
		return []string{"searxng", "brave", "tavily", "command"}
	case setting == "mcp.NAME.sampling":
		return []string{"off", mcp.SamplingAsk}
	case strings.HasSuffix(setting, ".strategy"):
		return providers.Strategies
	}
	return nil
}

// flagSettings returns the settings that flags decide, with the flag.
func flagSettings(f *flags) map[string]string {
	over := map[string]string{}
	for _, flag := range []struct {
		given         bool
		setting, name string
	}{
		{f.settings.model != "", "model", "-m"}, {f.settings.effort != "", "effort", "--effort"}, {f.settings.web != "", "web", "--web"},
		{f.settings.system != "", "system", "--system"}, {f.yolo, "mode", "--yolo"}, {f.maxTurns > 0, "max_turns", "--max-turns"},
		{f.maxCost > 0, "max_cost", "--max-cost"}, {len(f.fallback) > 0, "fallback", "--fallback"}, {f.noFallback, "fallback", "--no-fallback"},
		{f.screenReader, "ui.screen_reader", "--screen-reader"}, {os.Getenv("NO_COLOR") != "", "ui.theme", "NO_COLOR"},
	} {
		if flag.given {
			over[flag.setting] = flag.name
		}
	}
	return over
}

// folderSettings returns the settings that a trusted project decides where the file does not.
func folderSettings(p project, library *session.Store) map[string]string {
	under := map[string]string{}
	if library != nil {
		if theme, _ := library.Get("theme"); theme != "" {
			under["ui.theme"] = "/theme: " + theme
		}
	}
	if !p.trusted {
		return under
	}
	for _, f := range p.offer.FilesOfKind(trust.Configuration) {
		var own Project
		if config.Decode(f.Text, &own) != nil {
			continue // it was reported when the folder was opened
		}
		for setting, value := range map[string]string{"model": own.Model, "effort": string(own.Effort), "session.history": own.Session.History} {
			if value != "" {
				under[setting] = "this folder: " + value
			}
		}
		if own.Session.Compact > 0 {
			under["session.compact"] = fmt.Sprintf("this folder: %v", own.Session.Compact)
		}
	}
	return under
}

// checkNames returns an error for the first setting that names an impossible model.
func (c *Config) checkNames() error {
	check := func(setting string, names ...string) error {
		for _, name := range names {
			if name == "" || name == autoFallback && strings.HasPrefix(setting, "fallback") {
				continue
			}
			if err := c.CheckName(name, os.Getenv); err != nil {
				return fmt.Errorf("%s = %q: %w", setting, name, err)
			}
		}
		return nil
	}
	err := cmp.Or(check("model", c.Model), check("session.title", c.Session.TitleModel), check("session.summary_model", c.Session.SummaryModel), check("session.small_model", c.Session.SmallModel), check("consult.model", c.Consult.Model), check("fallback", c.Fallback...))
	for _, of := range slices.Sorted(maps.Keys(c.Fallbacks)) {
		err = cmp.Or(err, check("fallbacks."+of, c.Fallbacks[of]...))
	}
	return err
}

// openKeys opens the store in dir, or in "" one that cannot store anything; nil in a build that stores no keys.
var openKeys func(dir string, logins bool) ability.Keys
