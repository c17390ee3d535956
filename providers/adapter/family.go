package adapter

import (
	"context"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/process"
)

// A Family speaks one wire format, to services of some kinds.
type Family struct {
	Kinds    []string
	New      func(Options) llm.Model
	Traits   func(Options) Traits            // of the model that the options describe
	Headers  func(Options) map[string]string // of every request; nil puts the key into Authorization
	BaseURL  func(string) string             // adds the version to a base URL; nil if it has none
	Programs *Programs                       // that answer in place of servers; nil for servers
	// CheckDialect returns the keys of dialect tables for services of a kind, nil if they have none, and what
	// is wrong with the values of one. It is nil for families without dialects.
	CheckDialect func(kind string, table map[string]any) (keys []string, err error)
}

// Traits tell what a model at a service can do, as far as its kind, its address and its id show.
type Traits struct {
	Origin      string   // of its messages; see llm.Message.Origin
	Files       []string // that it takes beside text and images; see llm.Endpoint.Files
	SearchesWeb bool
	HasSchema   bool // it holds answers to a schema
	Guided      bool // it does so by guided decoding, whatever the model
	Candidates  bool // one request can ask for several answers
}

// Limits that callers know by name; see LearnedLimits.
const (
	LimitImages     = "messages: images" // of a model that takes no images
	LimitCandidates = "n"                // of a server that gives one answer to a request: the field that asks for several
)

// Programs runs the programs of other agents.
type Programs struct {
	Open    func(ProgramOptions) Program
	Find    func(kind string, command process.CommandLine, path string) (argv []string, err error)
	Version func(ctx context.Context, provider, kind string, argv []string) (string, error)
	Login   func(kind string, getenv func(string) string) ProgramLogin
	Names   func() []string // what the programs are usually called
}

// A Program is a model that a program asks.
type Program interface {
	llm.Model
	// Preview returns what Stream would run for a request, as text. It runs nothing.
	Preview(llm.Request) (string, error)
}

// ProgramOptions say which program a Program runs.
type ProgramOptions struct {
	Provider    string              // as configured, for errors
	Model       string              // as the program calls it
	Kind        string              // one of the family's
	Command     process.CommandLine // path or name of the program, with first arguments; zero is the usual name, on PATH
	Key         string              // API key for the program; "" leaves it to its login and the environment
	KeyName     string              // where Key comes from, such as "ANTHROPIC_API_KEY"; for errors
	IdleTimeout time.Duration       // longest silence; 0 is 300 s
	Grace       time.Duration       // between the end signal and the kill; 0 is 5 s
	Env         []string            // NAME=value, in addition to the program's own environment
	Workdir     string              // where the program runs; "" is an empty directory of parley's own
	Tap         *wire.Tap           // records exchanges; nil for none
	Replay      *wire.Replay        // answers instead of the program; nil for none
	Secrets     []string            // masked in recordings, in addition to those of the environment
}

// A ProgramLogin is what is known of the login of a program without running it.
type ProgramLogin struct {
	LoggedIn     bool   // as far as its files tell
	LoginUnknown bool   // its files do not tell whether it is logged in
	Login        string // command that logs in
	KeepsTools   bool   // no flag disables its tools: it runs in its own sandbox, in an empty directory
}
