package adapter

import (
	"context"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/process"
)

// A Family implements one wire format, for services of some kinds.
type Family struct {
	Kinds    []string
	New      func(Options) llm.Model
	Traits   func(Options) Traits            // traits of the model that the options describe
	Headers  func(Options) map[string]string // headers of every request; nil puts the key into Authorization
	BaseURL  func(string) string             // adds the version to a base URL; nil if there is none
	Programs *Programs                       // programs that replace servers; nil for servers
	// CheckDialect returns the keys of dialect tables, and an error for invalid values in table. It is nil
	// for families without dialects.
	CheckDialect func(table map[string]any) (keys []string, err error)
}

// Traits describe the features of a model at a service, derived from its kind, address and id.
type Traits struct {
	Origin      string   // origin of its messages; see llm.Message.Origin
	Files       []string // accepted types besides text and images; see llm.Endpoint.Files
	SearchesWeb bool
	HasSchema   bool // it constrains answers to a schema
	Guided      bool // it does so by guided decoding, for all models
	Candidates  bool // one request can ask for several answers
}

// Names of limits that callers use; see LearnedLimits.
const (
	LimitImages     = "messages: images" // the model takes no images
	LimitCandidates = "n"                // the server gives one answer per request: the field for several
)

// Programs runs the programs of other agents.
type Programs struct {
	Open    func(ProgramOptions) Program
	Find    func(kind string, command process.CommandLine, path string) (argv []string, err error)
	Version func(ctx context.Context, provider, kind string, argv []string) (string, error)
	Login   func(kind string, getenv func(string) string) ProgramLogin
	Names   func() []string // usual names of the programs
}

// A Program is a model that is used through a program.
type Program interface {
	llm.Model
	// Preview returns what Stream would run for a request, as text. It runs nothing.
	Preview(llm.Request) (string, error)
}

// ProgramOptions describe the program of a Program.
type ProgramOptions struct {
	Provider    string              // as configured; for errors
	Model       string              // the program's name for it
	Kind        string              // one of the family's kinds
	Command     process.CommandLine // path or name of the program, with first arguments; zero is the usual name, on PATH
	Key         string              // API key for the program; "" to use its login and the environment
	KeyName     string              // source of Key, such as "ANTHROPIC_API_KEY"; for errors
	IdleTimeout time.Duration       // longest silence; 0 is 300 s
	Grace       time.Duration       // time between the end signal and the kill; 0 is 5 s
	Env         []string            // NAME=value, in addition to the program's own environment
	Workdir     string              // working directory; "" for an empty one made by parley
	Tap         *wire.Tap           // records exchanges; nil for none
	Replay      wire.Replay         // answers instead of the program; nil for none
	Secrets     []string            // masked in recordings, in addition to those of the environment
}

// A ProgramLogin holds the known facts about the login of a program that is not run.
type ProgramLogin struct {
	LoggedIn     bool   // according to its files
	LoginUnknown bool   // its files do not show whether it is logged in
	Login        string // command that logs in
	KeepsTools   bool   // no flag disables its tools: it runs in its own sandbox, in an empty directory
}
