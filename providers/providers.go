// Package providers opens models: it knows the available services, finds their keys and addresses,
// and wraps the adapters for their wire formats in decorators.
//
//	Config, environment, catalog ──► Open ──► llm.Endpoint
//	retry ( settings ( tools ( costs ( adapter ( wire client ) ) ) ) )
//
// A name is "provider/model", split at the first slash because the ids of gateways contain slashes.
// Opening is cheap: it looks for keys, but the first request to a model runs the commands that
// print keys, and builds the client.
package providers

import (
	"log/slog"
	"net/http"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/wire"
)

// OpenOptions holds the settings of a model that the program decides, not the config file.
type OpenOptions struct {
	Getenv     func(string) string // os.Getenv if nil
	Transport  http.RoundTripper   // carries the requests, for recording and replay; nil for http.DefaultTransport
	Instant    bool                // the demo model answers without pauses
	Attended   bool                // a user watches and can stop an answer, so that a model may think longer without output
	Memory     *Memory             // facts learned from servers, shared among models; nil for a separate one
	Tap        *Tap                // records the HTTP traffic; nil for none
	Replay     Replay              // replaces the network and programs, and needs no key; nil for none
	Unsent     bool                // requests are shown and not sent: a key that is missing is no error
	ExactNames bool                // request models as named: retired and family names stand for no other model
	Debug      *slog.Logger        // logs one line per request, without keys and bodies; nil for none
}

// Types of package wire; see there.
type (
	Tap      = wire.Tap
	Exchange = wire.Exchange
	Recorder = wire.Recorder
	Replay   = wire.Replay
	Traffic  = wire.Message
)

// transport returns the transport for requests to a model.
func (o OpenOptions) transport(provider, model string) http.RoundTripper {
	if o.Replay != nil {
		return o.Replay.Transport(provider, model)
	}
	return o.Transport
}

// networkTo returns the transport to the server of s; nil if nothing is sent there.
func (o OpenOptions) networkTo(s service) *wire.Network {
	switch {
	case o.Replay != nil, o.Unsent, s.row.isDemo, s.isProgram(), addressError(s) != nil:
		return nil
	case o.Transport == nil:
		return wire.NewNetwork(s.conf.IdleTimeout)
	}
	network, _ := o.Transport.(*wire.Network)
	return network
}

// A Choice is one line of the model picker.
type Choice struct {
	Name        string // "provider/model" for Open, or the user's alias
	Alias       string // the alias's model, as "provider/model"; "" if Name is not an alias
	Provider    string
	Model       string
	Title       string       // display name
	Ready       bool         // it can be used now
	Connected   bool         // the user set its service up with a key, a table or a login; discovery alone does not count
	Unavailable string       // why it is not ready, such as "set XAI_API_KEY"
	LacksKey    bool         // only a key is missing, which the user can enter; see VerifyKey
	Facts       llm.Endpoint // as Open returns it, but without the model
	Context     int          // window in tokens; 0 if unknown
	Price       catalog.Price
	Vision      bool
	Tools       bool
	Thinks      bool
	Lifecycle   catalog.Lifecycle
}
