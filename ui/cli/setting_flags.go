package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/providers/llm"
	"parley/session"
	"parley/session/settings"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// settingFlags are the flags with an equivalent command in the chat. Their values are stored with the conversation that
// is started or opened, like those of the command; other flags apply to the run only. The zero value changes nothing.
type settingFlags struct {
	model       string            // provider/model; as /model
	effort      string            // as /effort
	system      string            // as /system
	personaName string            // prompt file, or "off"; as /persona
	persona     session.Persona   // the persona from that file
	addDirs     []string          // directories for tools beside the working directory; as /add-dir
	web         string            // on or off; as /web
	detail      string            // image detail; as /set detail
	options     []string          // NAME=VALUE each; as /set
	settings    map[string]string // options by name, with detail; "" resets one
}

// register adds the flags to the root command, except -m, which modelFlags adds.
func (f *settingFlags) register(root *cobra.Command, set *pflag.FlagSet) {
	cmdutil.ChoiceFlag(root, &f.effort, "effort", "", "reasoning effort, `LEVEL`: off, minimal, low, medium, high, max", cmdutil.Words(llm.Efforts))
	cmdutil.ChoiceFlag(root, &f.detail, "detail", "", "image detail, `LEVEL`: low, high, auto", llm.Details)
	set.StringVar(&f.web, "web", "", "let the provider search the web, `on|off`; without a value, on")
	set.Lookup("web").NoOptDefVal = on
	set.StringArrayVarP(&f.options, "option", "O", nil, "`NAME=VALUE` of a setting such as temperature=0.2, or a field of the provider's requests: top_k=40, provider.sort=price")
	set.StringVarP(&f.system, "system", "s", "", "use `TEXT` as system prompt instead of parley's own")
	set.StringVar(&f.personaName, "persona", "", "use the system prompt of the prompt file `NAME` for the conversation; off ends it")
	set.StringArrayVar(&f.addDirs, "add-dir", nil, "another `FOLDER` that tools may read and change; may be repeated")
}

// validate parses the settings and rejects invalid ones.
func (f *settingFlags) validate() error {
	switch {
	case f.web != "" && f.web != on && f.web != off:
		return fmt.Errorf("--web=%s: use on or off", f.web)
	case f.system != "" && f.personaName != "" && f.personaName != off:
		return errors.New("-s and --persona both replace the system prompt: use one of them")
	case len(f.system) > session.MaxPersona:
		return fmt.Errorf("-s: a system prompt may have %d KB", session.MaxPersona>>10)
	}
	f.settings = map[string]string{}
	for _, o := range f.options {
		name, value, err := settings.Parse(o)
		if err != nil {
			return fmt.Errorf("-O %w", err)
		}
		f.settings[name] = value
	}
	if f.detail != "" {
		f.settings["detail"] = f.detail
	}
	return nil
}

// apply restores the conversation's folders and persona and applies the flags. Values that are set already are not
// stored again. Notice describes settings of the conversation that cannot be used.
func (f *settingFlags) apply(a *program, s *session.Session) (notice string, err error) {
	folders, err := f.applyFolders(a, s)
	if err != nil {
		return "", err
	}
	persona, err := f.applyPersona(a, s)
	if err != nil {
		return "", err
	}
	_, err = s.OwnSettings.Change(func(own *session.Settings) error {
		for _, name := range slices.Sorted(maps.Keys(f.settings)) {
			if err := own.Set(name, f.settings[name]); err != nil {
				return err
			}
		}
		if f.web != "" {
			own.SetWeb(f.web == on)
		}
		return nil
	})
	return joinNotices(folders, persona), err
}

// applyFolders restores the conversation's folders for tools and adds those of --add-dir. Notice names folders that
// could not be restored.
func (f *settingFlags) applyFolders(a *program, s *session.Session) (notice string, err error) {
	if err := s.Directories.Restore(s.Directories.Stored()...); err != nil {
		notice = "Continuing without a folder: " + strings.ReplaceAll(format.ErrorText(err), "\n", "; ")
		if errors.Is(err, fs.ErrNotExist) {
			notice += " · used again once it is back"
		}
	}
	for _, dir := range f.addDirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && slices.Contains(s.Directories.Reachable(), real) && slices.Contains(s.Directories.Stored(), real) {
			continue
		}
		real, err := s.Directories.Check(dir)
		if err == nil {
			err = s.Directories.Add(real)
		}
		if err != nil && !slices.Contains(s.Directories.Reachable(), real) { // the error may be about other folders
			return "", fmt.Errorf("--add-dir: %w", err)
		}
	}
	added := s.Directories.Reachable()
	s.Next.SetSystem(wholeSystem(a, ""))            // the tools had the folders of the previous conversation
	if servers := a.mcp.running(); servers != nil { // started for the previous conversation
		servers.SetRoots(append([]string{a.dir}, added...)...)
	}
	return notice, nil
}

// applyPersona sets the persona of the flags, or restores the conversation's. A persona from a directory is used only
// if that is trusted; notice says if it is not.
func (f *settingFlags) applyPersona(a *program, s *session.Session) (notice string, err error) {
	kept, want := s.Personas.Current(), f.persona
	trusted := func(p session.Persona) bool {
		return p.Project == "" || a.project.trusted && p.Project == a.dir
	}
	s.Personas.Follow(func(p session.Persona) (string, bool) { return wholeSystem(a, p.System), trusted(p) })
	switch {
	case f.system != "":
		want = session.Persona{Name: session.TypedPersona, System: f.system}
	case f.personaName == off:
		return "", s.Personas.Set(session.Persona{Ended: kept.Name}, wholeSystem(a, ""))
	}
	switch {
	case want.Name != "" && (want.Name != kept.Name || want.System != kept.System || !slices.Equal(want.Tools, kept.Tools)):
		return "", s.Personas.Set(want, wholeSystem(a, want.System))
	case kept.Name == "":
	case !trusted(kept):
		return fmt.Sprintf("The persona %s is not used: it came with %s, which is not trusted here", kept.Name, abbrevPath(kept.Project)), nil
	default:
		s.Personas.Restore(kept, wholeSystem(a, kept.System))
	}
	return "", nil
}
