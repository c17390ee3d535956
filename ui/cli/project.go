package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/providers"
	"parley/session"
	"parley/session/config"
	"parley/session/hooks"
	"parley/session/instructions"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/format"
)

// project is the configuration from files of the working directory.
type project struct {
	offer    trust.Project // files that may be trusted; empty if the user declined
	found    trust.Project // the same, whether the user declined or not
	trusted  bool          // the user trusts the directory; otherwise no file is used
	model    string        // from the project's settings, like system
	system   string
	skills   skillSet
	tools    map[string]tools.CustomTool
	hooks    []hooks.Hook
	runner   hooks.Runner                  // runs all hooks; nil if there are none
	read     func() (trust.Project, error) // see projectReader; nil until it is called
	programs *tools.Set                    // see programSet; nil: not opened, or not needed
	own      string                        // the user's instructions for all projects; "" for none

	memories memories // nil in a build without them
}

// projectReader returns a function that reads the files of the working directory, once, so that callers can run it
// concurrently.
func projectReader(a *program) func() (trust.Project, error) {
	if a.project.read == nil {
		own, _ := a.config.Permissions.Rules(a.config.toolNames()...) // newPolicy reports the error
		policy := tools.NewPolicy(act.ModeAsk)
		if folder, err := filepath.EvalSymlinks(a.dir); err == nil {
			policy.SetWorkspace(folder)
		}
		policy.AddRules(own)
		a.project.read = sync.OnceValues(func() (trust.Project, error) { return trust.Load(a.dir, policy.HoldsBack, finders(a)...) })
	}
	return a.project.read
}

// finders returns the finders of prompts and skills, if this build has them.
func finders(a *program) (all []trust.Finder) {
	if a.prompts != nil {
		all = append(all, trust.Finder{Kind: trust.Prompts, Files: a.prompts.ProjectFiles})
	}
	if a.skills != nil {
		all = append(all, trust.Finder{Kind: trust.Skills, Files: a.skills.ProjectFiles})
	}
	return all
}

// texts returns the paths and texts of the files of a kind, if the user trusts the directory.
func (p *project) texts(kind trust.Kind) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		for _, f := range p.offer.FilesOfKind(kind) {
			if p.trusted && !yield(f.Path, f.Text) {
				return
			}
		}
	}
}

// ownInstructions reads the user's instructions for all projects, which are stored next to the configuration. The error
// says why they are not used.
func ownInstructions() (string, error) {
	path := inConfigDir(instructions.Names[0])
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, _ := tools.Sanitize(string(data))
	if len(text) > instructions.MaxTotal {
		return strings.ToValidUTF8(text[:instructions.MaxTotal], ""), fmt.Errorf("%s: only its first %d KB are sent", abbrevPath(path), instructions.MaxTotal>>10)
	}
	return strings.TrimSpace(text), nil
}

// loadProjectTrust reads the project's files and applies them if the user trusts the directory. Errors are reported and
// are not fatal.
func (a *program) loadProjectTrust(screen bool) error {
	var err error
	if a.project.own, err = ownInstructions(); err != nil {
		a.Note(format.ErrorText(err))
	}
	if a.project.offer, err = projectReader(a)(); err != nil {
		return err
	}
	a.project.found = a.project.offer
	decided, end, _ := openDecisions(a.library, a.flags.ephemeral)
	defer end()
	yes, known := trust.Decision(decided, a.project.offer)
	switch {
	case yes && known:
		return a.applyProjectConfig()
	case !known && !a.project.offer.Empty() && !screen:
		return fmt.Errorf("not used: %s; open parley here once to trust this folder", a.project.offer.Names())
	}
	if known {
		a.project.offer = trust.Project{} // the user declined
	}
	return nil
}

// openDecisions returns the store for decisions about directories and a function that closes it. The decisions persist
// even with --ephemeral, when library, the store of conversations, is in memory. After an error nothing can be decided.
func openDecisions(library *session.Store, ephemeral bool) (decided *session.Store, end func(), err error) {
	if !ephemeral {
		return library, func() {}, nil
	}
	lib, err := session.OpenStore(os.Getenv)
	return lib, func() { _ = lib.Close() }, err
}

// trustDecision gives access to the user's decision about the working directory.
func trustDecision(a *program) app.TrustDecision {
	found := a.project.found
	return app.TrustDecision{
		Review: found.Review,
		Get: func() bool {
			decided, end, _ := openDecisions(a.library, a.flags.ephemeral)
			defer end()
			yes, known := trust.Decision(decided, found.WithoutMemory()) // its lines may have changed since
			return yes && known
		},
		Set: func(yes bool) error {
			decided, end, err := openDecisions(a.library, a.flags.ephemeral)
			defer end()
			return cmp.Or(err, trust.SaveDecision(decided, found, yes))
		},
	}
}

// applyProjectConfig merges a trusted project's configuration; the user's own configuration and flags take precedence.
// The error describes invalid settings; the others are applied.
func (a *program) applyProjectConfig() error {
	a.project.trusted = true
	for _, f := range a.project.offer.FilesOfKind(trust.Hooks) {
		list, err := readHooks(f)
		if err != nil {
			return err
		}
		a.project.hooks = append(a.project.hooks, list...)
	}
	if a.project.runner != nil {
		a.project.runner.Add(a.project.hooks...)
	}
	for _, f := range a.project.offer.FilesOfKind(trust.Configuration) {
		var p Project
		if err := config.Decode(f.Text, &p); err != nil {
			return fmt.Errorf("%s:%w; a folder may set model, effort and system, [session] history and compact, and [tools]", f.Name, err)
		}
		if p.Model != "" && !providerReady(a, p.Model) {
			return fmt.Errorf("%s: model = %q: a folder can only choose a provider that you have set up", f.Name, p.Model)
		}
		a.project.model = p.Model
		a.config.Effort = cmp.Or(a.config.Effort, p.Effort)
		a.project.system, a.project.tools = p.System, p.Tools
		if h := p.Session.History; h != "" && a.config.Session.History == session.DefaultConfig().History {
			a.config.Session.History = h
		}
		a.config.Session.CompactAt = cmp.Or(a.config.Session.CompactAt, p.Session.Compact)
	}
	return nil
}

// providerReady reports whether the user has set up the provider of a model.
func providerReady(a *program, model string) bool {
	return slices.ContainsFunc(connectedChoices(a), func(choice providers.Choice) bool {
		provider, _, _ := strings.Cut(a.config.Resolve(model), "/")
		return choice.Ready && choice.Provider == provider
	})
}

// wholeSystem returns the system prompt: own, or else the configured one, or else parley's, with the additions of the
// user, added folders, skills and a trusted project.
func wholeSystem(a *program, own string) string {
	text := cmp.Or(own, a.config.System, session.Instructions)
	if notice := session.DirectoriesText(a.toolSet.Directories()); notice != "" {
		text += "\n\n" + notice
	}
	if a.project.own != "" {
		text += "\n\n<instructions file=\"" + instructions.Names[0] + "\" of=\"user\">\n" + a.project.own + "\n</instructions>"
	}
	if lines := a.project.remembered(); lines != "" {
		text += "\n\n" + lines
	}
	if a.project.skills.list != "" {
		text += "\n\n" + a.project.skills.list
	}
	if a.project.trusted {
		for _, more := range []string{a.project.system, a.project.offer.PromptContext()} {
			if more != "" {
				text += "\n\n" + more
			}
		}
	}
	return text
}
