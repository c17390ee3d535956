// Package providers opens models: it knows which services there are, finds
// their keys and addresses, and puts the decorators around the adapters that
// speak their wire formats.
//
//	Config, environment, catalog ──► Open ──► llm.Endpoint
//	retry ( settings ( tools ( costs ( adapter ( wire client ) ) ) ) )
//
// A name is "provider/model", split at the first slash, for ids of gateways
// hold slashes themselves. Opening is cheap: keys are looked for, but commands
// that print keys run, and clients are built, when a model is first asked.
package providers

import (
	"log/slog"
	"net/http"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/wire"
)

// OpenOptions holds what the program, not the user's file, decides about a model.
type OpenOptions struct {
	Getenv     func(string) string // os.Getenv if nil
	Transport  http.RoundTripper   // carries the requests, for recording and replay; http.DefaultTransport if nil
	Instant    bool                // the demo model does not pace itself
	Attended   bool                // a user watches and can stop an answer, so that a model may think in silence for longer
	Memory     *Memory             // what servers taught, shared among models; nil is one of the model's own
	Tap        *Tap                // keeps what goes over the wire; nil for none
	Replay     *Replay             // answers in the place of the network and of programs, and needs no key; nil for none
	ExactNames bool                // models are asked as they are named: names that are gone, and those of families, stand for no other
	Debug      *slog.Logger        // gets a line for each request, without keys and bodies; nil for none
}

// Types of package wire; see there.
type (
	Tap      = wire.Tap
	Exchange = wire.Exchange
	Recorder = wire.Recorder
	Replay   = wire.Replay
	Traffic  = wire.Message
)

// Record opens a recording to append to.
func Record(path string) (*Recorder, error) { return wire.Record(path) }

// OpenReplay reads a recording.
func OpenReplay(path string) (*Replay, error) { return wire.OpenReplay(path) }

// transport returns what carries the requests to a model.
func (o OpenOptions) transport(provider, model string) http.RoundTripper {
	if o.Replay != nil {
		return o.Replay.Transport(provider, model)
	}
	return o.Transport
}

// A Choice is one line of the model picker.
type Choice struct {
	Name        string // "provider/model", to open it by; or the user's alias
	Alias       string // what the alias stands for, as "provider/model"; "" for a model
	Provider    string
	Model       string
	Title       string       // the model's name for people
	Ready       bool         // can be asked now
	Connected   bool         // the user gave its service a key, a table, or the use of a login: it was not merely found
	Unavailable string       // why it is not ready, such as "set XAI_API_KEY"
	LacksKey    bool         // all that is missing is a key, which the user can give: see VerifyKey
	Facts       llm.Endpoint // as Open tells them, without the model
	Context     int          // window in tokens; 0 if unknown
	Price       catalog.Price
	Vision      bool
	Tools       bool
	Thinks      bool
	Lifecycle   catalog.Lifecycle
}
