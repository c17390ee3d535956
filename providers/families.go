package providers

import (
	"net/http"
	"slices"
	"time"

	"parley/providers/llm"
)

// A family speaks one wire format, under one or more kinds.
type family struct {
	kinds []string
	open  func(t target) llm.Model
	// origin is stamped on the messages of a kind; see llm.Message.Origin.
	origin func(kind, model string) string
}

// target is everything an adapter has to know about the service it speaks to.
type target struct {
	provider string
	kind     string
	model    string // as the service calls it
	url      string
	key      string // "" if the service wants none
	keyName  string // where the key comes from, for errors
	headers  map[string]string
	body     map[string]any // merged into each request
	whole    bool           // do not stream
	idle     time.Duration  // longest silence; 0 is the client's own limit
	base     http.RoundTripper
	instant  bool
}

// families lists what parley can speak, one line each.
var families = []family{}

// Kinds lists what the kind of a provider can be.
func Kinds() []string {
	var kinds []string
	for _, f := range families {
		kinds = append(kinds, f.kinds...)
	}
	return kinds
}

func familyOf(kind string) (family, bool) {
	i := slices.IndexFunc(families, func(f family) bool { return slices.Contains(f.kinds, kind) })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}
