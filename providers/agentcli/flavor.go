package agentcli

import (
	"regexp"
	"syscall"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// Kinds lists the programs that there are.
var Kinds = []string{"claude-cli", "codex-cli", "gemini-cli", "antigravity-cli", "copilot-cli", "grok-cli", "qwen-cli"}

// Programs lists what they are usually called.
func Programs() (names []string) {
	for _, kind := range Kinds {
		names = append(names, flavors[kind].program)
	}
	return names
}

// KeepsTools reports whether no flag takes the tools of the program of a kind away: they can
// read at most, for nobody approves more, in its sandbox and a folder that is empty.
func KeepsTools(kind string) bool { return flavors[kind].keepsTools }

// A flavor is what one program does differently from another.
type flavor struct {
	programInfo
	endSignal syscall.Signal // asks it to end and to keep what it has

	args     func(r *run) []string
	env      func(r *run) []string // nil for nothing of its own
	optional map[string]bool       // flags that a version may lack: they change what is shown or kept; no other can be left out
	decoder  func(a *answer) decoder
	sparse   bool // its output is not documented: an end without a last line is one, and an unknown form is told

	system       place           // of a system prompt
	prompt       delivery        // of what it reads
	media        attachment      // of images and documents
	settings     map[string]bool // settings of a request that it obeys
	answerSchema bool            // can be held to an answer schema
	forksSession bool            // a session that goes on does so as a copy, under an id of its own

	patterns
	exitStatuses map[int]exitMeaning  // what its exit statuses mean
	codes        map[string]llm.Fault // what the codes in its errors mean, where they are its own
}

// patterns find what a program says in words alone.
type patterns struct {
	stderrRetry func() *regexp.Regexp // what it says on stderr when it tries again: see stderrTry; nil if it says that on stdout
	lostSession func() *regexp.Regexp // what it says if it does not have a session; nil if sessions end with the run
}

// programInfo are what one program is called, how one gets it, and what to know of it.
type programInfo struct {
	program string // its usual name
	install string // command that installs it
	login   string // command that logs in
	key     string // variable that can hold a key for it

	keepsTools bool // no flag takes its tools away
}

// A place is where a program takes a system prompt from.
type place int

const (
	systemInPrompt place = iota // nowhere: it stands in front of the prompt
	systemInFile
	systemInArg        // an argument; a file if it is too long for one
	systemInArgOrWords // an argument; in front of the prompt if it is too long for one
)

// A delivery is how a prompt reaches a program.
type delivery int

const (
	onStdin      delivery = iota
	asEvent               // on stdin, as the user's event of Antigravity CLI
	inPromptFile          // in a file, which an argument names
)

// An attachment is how files go with a prompt.
type attachment int

const (
	leftOut   attachment = iota // the program takes none
	mentioned                   // beside it on disk, as @file in the text
	inBlocks                    // inside of it, as Anthropic content blocks
	imageArgs                   // images, beside it on disk, as arguments
	fileArgs                    // any, beside it on disk, as arguments
)

// An exitMeaning is what an exit status means.
type exitMeaning struct {
	fault llm.Fault
	words string
}

// A decoder turns the lines of one answer into events.
type decoder interface {
	// line takes one line of stdout that holds a JSON object with a type.
	// Types it does not know are skipped.
	line(data []byte)
}

// flavors holds the programs, by kind.
var flavors = map[string]flavor{
	"claude-cli": {
		programInfo: programInfo{
			program: "claude",
			install: "npm install -g @anthropic-ai/claude-code",
			login:   "claude /login",
			key:     "ANTHROPIC_API_KEY",
		},
		endSignal:    syscall.SIGINT, // it then writes its session; after SIGTERM it does not
		args:         claudeArgs,
		env:          claudeEnv,
		optional:     set("--include-partial-messages", "--effort", "--thinking", "--max-thinking-tokens", "--json-schema"),
		decoder:      newClaude,
		system:       systemInArg,
		media:        inBlocks,
		settings:     set("effort", "budget", "max_tokens"),
		answerSchema: true,
		forksSession: true,
		patterns:     patterns{lostSession: adapter.Pattern(`(?i)no conversation found|unknown option '?--(resume|fork-session)`)},
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
		programInfo: programInfo{
			program: "codex",
			install: "npm install -g @openai/codex",
			login:   "codex login",
			key:     "CODEX_API_KEY",
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
		programInfo: programInfo{
			program: "gemini",
			install: "npm install -g @google/gemini-cli",
			login:   "gemini",
			key:     "GEMINI_API_KEY",
		},
		endSignal: syscall.SIGTERM,
		args:      geminiArgs,
		env:       geminiEnv,
		optional:  set("--output-format"),
		decoder:   newGemini,
		system:    systemInFile,
		media:     mentioned,
		patterns: patterns{
			stderrRetry: adapter.Pattern(`(?m)^Attempt (\d+) failed(?: with (?:status )?(\d{3}|5xx).*|: (.*))?\. Retrying(?: after (\d+)ms)?`),
			lostSession: adapter.Pattern(`(?i)error resuming session|invalid session identifier|no previous sessions|unknown arguments?:.*resume`),
		},
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
	// Antigravity CLI has no flag against its tools. What protects is its sandbox, that nobody
	// approves what they ask for, and the empty folder it runs in: they can read at most.
	"antigravity-cli": {
		programInfo: programInfo{
			program: "agy",
			install: "curl -fsSL https://antigravity.google/cli/install.sh | bash",
			login:   "agy",
			key:     "ANTIGRAVITY_API_KEY",

			keepsTools: true,
		},
		endSignal: syscall.SIGTERM,
		args:      antigravityArgs,
		decoder:   newAntigravity,
		sparse:    true,
		prompt:    asEvent,
	},
	"copilot-cli": {
		programInfo: programInfo{
			program: "copilot",
			install: "npm install -g @github/copilot",
			login:   "copilot login",
			key:     "COPILOT_GITHUB_TOKEN",
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
		programInfo: programInfo{
			program: "grok",
			install: "curl -fsSL https://x.ai/cli/install.sh | bash",
			login:   "grok login",
			key:     "XAI_API_KEY",
		},
		endSignal: syscall.SIGTERM,
		args:      grokArgs,
		optional:  set("--no-auto-update", "--system-prompt-override"),
		decoder:   newGrok,
		sparse:    true,
		system:    systemInArgOrWords,
		prompt:    inPromptFile,
	},
	"qwen-cli": {
		programInfo: programInfo{
			program: "qwen",
			install: "npm install -g @qwen-code/qwen-code",
			login:   "qwen auth",
			key:     "DASHSCOPE_API_KEY",
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

// unknownFlagRE matches how the argument parsers in use, commander, yargs, clap and that of
// Go, say that they do not know a flag, or a value of it.
var unknownFlagRE = adapter.Pattern(`(?i)unknown option '?(--[a-z-]+)|unknown arguments?: ([a-z, -]+)|argument: ([a-z-]+), given` +
	`|unexpected argument '(--[a-z-]+)|flag provided but not defined: (-{1,2}[a-z-]+)`)
