package agentcli

import (
	"regexp"
	"syscall"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// Kinds lists the programs that there are.
var Kinds = []string{"claude-cli", "gemini-cli"}

// A flavor is what one program does differently from another.
type flavor struct {
	program   string         // its usual name
	install   string         // command that installs it
	key       string         // variable that can hold a key for it
	endSignal syscall.Signal // asks it to end and to keep what it has

	args     func(r *run) []string
	env      func(r *run) []string
	optional map[string]bool // flags it can do without, for versions that lack them
	decoder  func(a *answer) decoder

	systemArg     bool // takes a system prompt as an argument; else as a file alone
	contentBlocks bool // takes media inside the prompt, as Anthropic content blocks; else as files beside it
	answerSchema  bool // can be held to an answer schema
	hasEffort     bool // can be told how much to think and to write
	forksSession  bool // a session that goes on does so as a copy, under an id of its own

	lostSession  func() *regexp.Regexp // what it says if it does not have a session
	exitStatuses map[int]exit          // what its exit statuses mean
	codes        map[string]llm.Fault  // what the codes in its errors mean, where they are its own
}

// An exit is what an exit status means.
type exit struct {
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
		program:   "claude",
		install:   "npm install -g @anthropic-ai/claude-code",
		key:       "ANTHROPIC_API_KEY",
		endSignal: syscall.SIGINT, // it then writes its session; after SIGTERM it does not
		args:      claudeArgs,
		env:       claudeEnv,
		optional: set("--include-partial-messages", "--disable-slash-commands", "--effort", "--thinking",
			"--max-thinking-tokens", "--json-schema"),
		decoder:       newClaude,
		systemArg:     true,
		contentBlocks: true,
		answerSchema:  true,
		hasEffort:     true,
		forksSession:  true,
		lostSession:   adapter.Pattern(`(?i)no conversation found|unknown option '?--(resume|fork-session)`),
		exitStatuses: map[int]exit{
			130: {llm.Unknown, "it was interrupted"},
			143: {llm.Unknown, "it was terminated"},
		},
		codes: map[string]llm.Fault{
			"oauth_org_not_allowed": llm.Permission,
			"invalid_request":       llm.InvalidRequest,
			"error_max_budget_usd":  llm.Quota,
		},
	},
	"gemini-cli": {
		program:     "gemini",
		install:     "npm install -g @google/gemini-cli",
		key:         "GEMINI_API_KEY",
		endSignal:   syscall.SIGTERM,
		args:        geminiArgs,
		env:         geminiEnv,
		optional:    set("--output-format", "--approval-mode", "--extensions", "--allowed-mcp-server-names"),
		decoder:     newGemini,
		lostSession: adapter.Pattern(`(?i)error resuming session|invalid session identifier|no previous sessions|unknown arguments?:.*resume`),
		exitStatuses: map[int]exit{
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
}

func set(flags ...string) map[string]bool {
	m := map[string]bool{}
	for _, f := range flags {
		m[f] = true
	}
	return m
}

// unknownFlagRE matches how the two argument parsers in use, commander and yargs, say
// that they do not know a flag, or a value of it.
var unknownFlagRE = adapter.Pattern(`(?i)unknown option '?(--[a-z-]+)|unknown arguments?: ([a-z, -]+)|argument: ([a-z-]+), given`)
