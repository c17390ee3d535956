package agentcli

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/tools/sanitize"
)

// A run holds the arguments, input and directory of one run of the program.
type run struct {
	model    string
	effort   llm.Effort
	settings llm.Settings
	system   string // system prompt, unless it is part of the prompt

	file       string   // file with the system prompt; "" for none
	promptFile string   // file with the prompt, for a program that does not read stdin
	attached   []string // files named in arguments, relative to dir

	schema        json.RawMessage // answer schema that the program enforces; nil for none
	prompt        prompt
	resume        state // session to resume; zero for a new one
	historyDigest string
	dir           string
	ownDir        bool // parley created dir, which is empty
	args          []string
	env           []string
	stdin         []byte
	notices       []string
	temps         []string // files and directories to remove after the run
}

// maxArgument is the longest text that is passed as an argument, in bytes: Linux allows 128 KiB for
// one, Windows 32 Ki characters for all.
const maxArgument = 16 << 10

// compile returns the run for req. It resumes a session if there is one, unless newSession is set, or
// req is an aside and the program would add it to the session. The caller must call cleanUp.
func (m *Model) compile(req llm.Request, newSession bool) (r *run, err error) {
	req = req.VerbosityInPrompt()
	r = &run{
		model: m.o.Model, effort: req.Effort, settings: req.Settings,
		system:        strings.ToValidUTF8(strings.ReplaceAll(req.System, "\x00", ""), "\uFFFD"),
		historyDigest: digest(req.Messages),
	}
	defer func() {
		if err != nil {
			r.cleanUp()
			r, err = nil, &llm.Error{Fault: llm.Unknown, Message: "cannot prepare the run: " + err.Error(), Err: err}
		}
	}()
	m.applySettings(r, req)
	messages := req.Messages
	if past, from, ok := resumable(req.Messages, m.Origin()); ok && !newSession && (!req.Aside || m.flavor.forksSession) && m.claimSession(past) {
		r.resume, messages = past, req.Messages[from:]
	}
	if err := m.setDir(r); err != nil {
		return r, err
	}
	if r.prompt, err = m.writePrompt(r, messages); err != nil {
		return r, err
	}
	if err := m.placeSystem(r); err != nil {
		return r, err
	}
	if err := m.deliver(r); err != nil {
		return r, err
	}
	r.args = m.supportedArgs(m.flavor.args(r))
	r.env = m.environment(r)
	return r, nil
}

// applySettings applies the answer schema and adds notices for settings that the program does not
// support.
func (m *Model) applySettings(r *run, req llm.Request) {
	if req.AnswerSchema != nil {
		r.addInstruction("Answer with JSON only, without a code fence, that fits this JSON Schema:\n" + string(req.AnswerSchema.JSON))
		if m.flavor.answerSchema && !m.isRefused("--json-schema") && len(req.AnswerSchema.JSON) <= maxArgument {
			r.schema = req.AnswerSchema.JSON
		}
	}
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"temperature", req.Temperature != nil},
		{"top_p", req.TopP != nil},
		{"frequency_penalty", req.FrequencyPenalty != nil},
		{"presence_penalty", req.PresencePenalty != nil},
		{"seed", req.Seed != nil},
		{"stop", len(req.Stop) > 0},
		{"max_tokens", req.MaxTokens > 0},
		{"effort", req.Effort != "" || req.Budget > 0 && !m.flavor.settings["budget"]},
	} {
		if s.set && !m.flavor.settings[s.name] {
			r.notices = append(r.notices, adapter.LeftOut(m.flavor.program, s.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Options)) {
		r.notices = append(r.notices, adapter.LeftOut(m.flavor.program, name))
	}
}

// appendFlags adds pairs of a flag and its value, except those without a value.
func appendFlags(args []string, pairs ...string) []string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args = append(args, pairs[i]+pairs[i+1])
		}
	}
	return args
}

// effortName returns OpenAI's name of an effort; most is the name of the largest one.
func effortName(e llm.Effort, most string) string {
	switch e {
	case llm.EffortOff:
		return "none"
	case llm.EffortMax:
		return most
	}
	return string(e)
}

func (r *run) addInstruction(instruction string) {
	if r.system != "" {
		r.system += "\n\n"
	}
	r.system += instruction
}

// setDir sets the directory to run in. Unless the user has set one, parley creates it. It is always
// the same, since programs store sessions by directory, and empty, since they read files around them.
func (m *Model) setDir(r *run) error {
	if m.o.Workdir != "" {
		r.dir = m.o.Workdir
		return nil
	}
	r.ownDir = true
	if cache, err := os.UserCacheDir(); err == nil {
		r.dir = filepath.Join(cache, "parley", m.o.Kind)
		if os.MkdirAll(r.dir, 0o700) == nil && os.Chmod(r.dir, 0o700) == nil {
			return nil
		}
	}
	dir, err := os.MkdirTemp("", "parley-"+m.o.Kind+"-")
	if err != nil {
		return err
	}
	r.dir, r.temps = dir, append(r.temps, dir)
	return nil
}

// placeSystem puts the system prompt where the program reads it. If it only remains in r.system, it
// becomes an argument.
func (m *Model) placeSystem(r *run) (err error) {
	place, short := m.flavor.system, len(r.system) <= maxArgument && !m.isRefused("--system-prompt-override")
	switch {
	case r.system == "" || short && (place == systemInArg || place == systemInArgOrWords):
	case place == systemInFile || place == systemInArg:
		r.file, err = r.writeTemp("parley-system-*.md", r.system)
	default:
		r.prompt.text = "Instructions for your answer:\n\n" + escapeMentions(r.system) + "\n\nThe message to answer:\n\n" + r.prompt.text
		r.system = ""
	}
	return err
}

// deliver puts the prompt where the program reads it. It always sets r.stdin, since recordings
// contain it.
func (m *Model) deliver(r *run) (err error) {
	r.stdin = r.prompt.stdin()
	switch m.flavor.prompt {
	case asEvent:
		r.stdin = append(mustMarshal(map[string]any{"event": "user", "message": map[string]any{"content": r.prompt.text}}), '\n')
	case inPromptFile:
		r.promptFile, err = r.writeTemp("parley-prompt-*.txt", r.prompt.text)
	}
	return err
}

// mustMarshal returns v as JSON. v may contain only strings and bytes.
func mustMarshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// writeTemp writes text to a temporary file, readable only by the user and removed by cleanUp, and
// returns its path.
func (r *run) writeTemp(pattern, text string) (string, error) {
	f, err := os.CreateTemp("", pattern) // mode 0600
	if err != nil {
		return "", err
	}
	r.temps = append(r.temps, f.Name())
	_, err = f.WriteString(text)
	return f.Name(), cmp.Or(err, f.Close())
}

func (r *run) cleanUp() {
	for _, path := range r.temps {
		os.RemoveAll(path) // errors are ignored: nothing can be done
	}
}

// minSecret is the shortest environment value, in bytes, that counts as a secret.
const minSecret = 8

// credentials returns the texts to mask in the output of the program.
func (m *Model) credentials() []string {
	secrets := slices.Clone(m.o.Secrets)
	for _, v := range append(os.Environ(), m.o.Env...) {
		if name, value, _ := strings.Cut(v, "="); len(value) >= minSecret && sanitize.IsSecretVariable(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
