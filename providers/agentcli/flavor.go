package agentcli

import (
	"syscall"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// Kinds lists the supported kinds of programs.
var Kinds = []string{"claude-cli", "codex-cli", "gemini-cli", "antigravity-cli", "copilot-cli", "grok-cli", "qwen-cli"}

// Programs lists the usual names of the programs.
func Programs() (names []string) {
	for _, kind := range Kinds {
		names = append(names, flavors[kind].program)
	}
	return names
}

// A flavor describes one program.
type flavor struct {
	program string // its usual name
	install string // command that installs it
	login   string // command that logs in
	key     string // variable that can hold a key for it

	keepsTools bool     // it has no flag to switch off its tools, which can only read, since nothing else is approved
	variables  []string // variables that the program documents as its own
	loggedIn   login    // where it stores its login

	endSignal syscall.Signal // signal that ends it after saving its session

	args     func(r *run) []string
	env      func(r *run) []string // additional variables; nil for none
	optional map[string]bool       // flags that a version may lack: they only change what is shown or stored
	decoder  func(a *answer) decoder
	sparse   bool // its output is undocumented: the last line may be missing, and an unknown format is an error

	system       place           // where it reads a system prompt
	prompt       delivery        // how it gets the prompt
	media        attachment      // how it gets images and documents
	settings     map[string]bool // supported settings of a request
	answerSchema bool            // supports an answer schema
	forksSession bool            // resumes a session as a copy with a new id

	stderrRetry *lazy.Regexp // matches retries on stderr, with the groups of stderrTry; nil if they are on stdout
	lostSession *lazy.Regexp // matches the error for a missing session; nil if sessions end with the run

	exitStatuses map[int]exitMeaning
	codes        map[string]llm.Fault // faults by the program's error codes
}

// A place is where a program reads a system prompt from.
type place int

const (
	systemInPrompt place = iota // not supported: it is put before the prompt
	systemInFile
	systemInArg        // an argument, or a file if it is too long
	systemInArgOrWords // an argument, or before the prompt if it is too long
)

// A delivery is the way in which a prompt reaches a program.
type delivery int

const (
	onStdin      delivery = iota
	asEvent               // on stdin, as a user event of Antigravity CLI
	inPromptFile          // in a file named by an argument
)

// An attachment is the way in which files are passed with a prompt.
type attachment int

const (
	leftOut   attachment = iota // not supported
	mentioned                   // as files on disk, with @path in the text
	inBlocks                    // in the prompt, as Anthropic content blocks
	imageArgs                   // images as files on disk, with paths in arguments
	fileArgs                    // any file on disk, with paths in arguments
)

// An exitMeaning is the meaning of an exit status.
type exitMeaning struct {
	fault llm.Fault
	words string
}

// A decoder turns the lines of one answer into events.
type decoder interface {
	// line handles one line of stdout, a JSON object with a type or event. It skips unknown types.
	line(data []byte)
}

// flavors holds the programs, by kind.
var flavors = map[string]flavor{
	"claude-cli": {
		program:   "claude",
		install:   "npm install -g @anthropic-ai/claude-code",
		login:     "claude /login",
		key:       "ANTHROPIC_API_KEY",
		variables: []string{"ANTHROPIC_", "CLAUDE_", "DISABLE_", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"},
		loggedIn: login{
			env: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, home: "CLAUDE_CONFIG_DIR", dir: ".claude",
			files: []loginFile{{path: ".credentials.json"}, {path: ".claude.json", inHome: true, words: []string{`"oauthAccount"`}, system: "darwin"}},
		},
		endSignal:    syscall.SIGINT, // on SIGTERM it does not save its session
		args:         claudeArgs,
		env:          claudeEnv,
		optional:     set("--include-partial-messages", "--effort", "--thinking", "--max-thinking-tokens", "--json-schema"),
		decoder:      newClaude,
		system:       systemInArg,
		media:        inBlocks,
		settings:     set("effort", "budget", "max_tokens"),
		answerSchema: true,
		forksSession: true,
		lostSession:  lazy.NewRegexp(`(?i)no conversation found|unknown option '?--(resume|fork-session)`),
		exitStatuses: map[int]exitMeaning{
			130: {llm.Unknown, "it was interrupted"},
			143: {llm.Unknown, "it was terminated"},
		},
		codes: map[string]llm.Fault{
			"oauth_org_not_allowed": llm.Permission,
			"invalid_request":       llm.InvalidRequest,
			"error_max_budget_usd":  llm.Quota,
		},
	},
	"codex-cli": {
		program:   "codex",
		install:   "npm install -g @openai/codex",
		login:     "codex login",
		key:       "CODEX_API_KEY",
		variables: []string{"OPENAI_", "CODEX_"},
		loggedIn: login{
			env: []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN"}, home: "CODEX_HOME", dir: ".codex",
			files: []loginFile{{path: "auth.json"}},
		},
		endSignal: syscall.SIGINT,
		args:      codexArgs,
		optional:  set("--ephemeral"),
		decoder:   newCodex,
		system:    systemInFile,
		media:     imageArgs,
		settings:  set("effort"),
	},
	"gemini-cli": {
		program:   "gemini",
		install:   "npm install -g @google/gemini-cli",
		login:     "gemini",
		key:       "GEMINI_API_KEY",
		variables: []string{"GEMINI_", "GOOGLE_", "CLOUDSDK_CONFIG"},
		loggedIn: login{
			env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, dir: ".gemini", files: []loginFile{{path: "oauth_creds.json"}},
		},
		endSignal:   syscall.SIGTERM,
		args:        geminiArgs,
		env:         geminiEnv,
		optional:    set("--output-format"),
		decoder:     newGemini,
		system:      systemInFile,
		media:       mentioned,
		stderrRetry: lazy.NewRegexp(`(?m)^Attempt (\d+) failed(?: with (?:status )?(\d{3}|5xx).*|: (.*))?\. Retrying(?: after (\d+)ms)?`),
		lostSession: lazy.NewRegexp(`(?i)error resuming session|invalid session identifier|no previous sessions|unknown arguments?:.*resume`),
		exitStatuses: map[int]exitMeaning{
			41:  {llm.Authentication, "it is not logged in"},
			42:  {llm.InvalidRequest, "it refused the input"},
			44:  {llm.Unknown, "its sandbox failed"},
			52:  {llm.InvalidRequest, "its configuration is wrong"},
			53:  {llm.Unknown, "it reached its limit of turns"},
			54:  {llm.Unknown, "one of its tools failed"},
			55:  {llm.Permission, "it does not trust the folder it runs in"},
			130: {llm.Unknown, "it was interrupted"},
		},
		codes: map[string]llm.Fault{
			"FatalAuthenticationError":     llm.Authentication,
			"FatalInputError":              llm.InvalidRequest,
			"FatalConfigError":             llm.InvalidRequest,
			"FatalUntrustedWorkspaceError": llm.Permission,
		},
	},
	// Antigravity CLI has no flag to switch off its tools. They can only read: it runs in its
	// sandbox and an empty directory, and nobody approves their requests.
	"antigravity-cli": {
		program: "agy",
		install: "curl -fsSL https://antigravity.google/cli/install.sh | bash",
		login:   "agy",
		key:     "ANTIGRAVITY_API_KEY",

		keepsTools: true,
		variables:  []string{"ANTIGRAVITY_", "GEMINI_", "GOOGLE_", "CLOUDSDK_CONFIG"},
		loggedIn:   login{env: []string{"ANTIGRAVITY_API_KEY"}, keyring: true},
		endSignal:  syscall.SIGTERM,
		args:       antigravityArgs,
		optional:   set("--print-timeout"),
		decoder:    newAntigravity,
		sparse:     true,
		prompt:     asEvent,
	},
	"copilot-cli": {
		program:   "copilot",
		install:   "npm install -g @github/copilot",
		login:     "copilot login",
		key:       "COPILOT_GITHUB_TOKEN",
		variables: []string{"COPILOT_", "GH_", "GITHUB_"},
		loggedIn: login{
			env: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"}, home: "COPILOT_HOME", dir: ".copilot",
			files: []loginFile{
				{path: "config.json", words: []string{`"loggedInUsers"`, `"logged_in_users"`, `"lastLoggedInUser"`, `"last_logged_in_user"`}},
				{path: ".config/gh/hosts.yml", inHome: true, words: []string{"user:", "oauth_token:"}},
			},
		},
		endSignal: syscall.SIGINT,
		args:      copilotArgs,
		optional:  set("--no-ask-user", "--no-auto-update", "--reasoning-effort", "--attachment"),
		decoder:   newCopilot,
		media:     fileArgs,
		settings:  set("effort"),
		codes:     map[string]llm.Fault{"authentication": llm.Authentication, "quota": llm.Quota, "rate_limit": llm.RateLimit},
	},
	"grok-cli": {
		program:   "grok",
		install:   "curl -fsSL https://x.ai/cli/install.sh | bash",
		login:     "grok login",
		key:       "XAI_API_KEY",
		variables: []string{"XAI_", "GROK_"},
		loggedIn:  login{env: []string{"XAI_API_KEY"}, home: "GROK_HOME", dir: ".grok", files: []loginFile{{path: "auth.json"}}},
		endSignal: syscall.SIGTERM,
		args:      grokArgs,
		optional:  set("--no-auto-update", "--system-prompt-override"),
		decoder:   newGrok,
		sparse:    true,
		system:    systemInArgOrWords,
		prompt:    inPromptFile,
	},
	"qwen-cli": {
		program:   "qwen",
		install:   "npm install -g @qwen-code/qwen-code",
		login:     "qwen auth",
		key:       "DASHSCOPE_API_KEY",
		variables: []string{"QWEN_", "DASHSCOPE_", "BAILIAN_", "OPENAI_"},
		loggedIn: login{
			env: []string{"OPENAI_MODEL"}, home: "QWEN_HOME", dir: ".qwen",
			files: []loginFile{{path: "oauth_creds.json"}, {path: "settings.json", words: []string{`"selectedType"`}}},
		},
		endSignal: syscall.SIGTERM,
		args:      qwenArgs,
		env:       qwenEnv,
		optional:  set("--include-partial-messages", "--chat-recording"),
		decoder:   newQwen,
		system:    systemInFile,
		media:     mentioned,
	},
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, name := range names {
		m[name] = true
	}
	return m
}

// unknownFlagRE matches the messages of commander, yargs, clap and Go's flag package about an unknown
// flag or value.
var unknownFlagRE = lazy.NewRegexp(`(?i)unknown option '?(--[a-z-]+)|unknown arguments?: ([a-z, -]+)|argument: ([a-z-]+), given` +
	`|unexpected argument '(--[a-z-]+)|flag provided but not defined: (-{1,2}[a-z-]+)`)
