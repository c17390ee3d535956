package providers

import (
	"slices"
	"strings"

	"parley/providers/llm"
)

// A kind holds the facts of one kind of service. The zero value is that of most services: they list
// their models as OpenAI does, which also checks a key.
type kind struct {
	isDemo          bool           // it runs inside parley
	dialect         map[string]any // table over the dialect of its family; see Provider.Dialect
	list            listEndpoint   // where its models are listed
	check           keyCheck       // the zero value lists the models
	anyKey          bool           // it may list its models without a valid key
	pull            string         // command that fetches a model, before its name
	cuts            string         // notice, after the name of a model, that the beginning of a prompt was cut off; "" if the server returns an error
	noWeb           string         // why its models do not search the web; "" names the model
	noLevel         bool           // it takes no effort
	emptyBadRequest llm.Fault      // meaning of status 400 without a text
}

// A host holds the facts of servers at some addresses, whatever their kind.
type host struct {
	begins          string    // how their names begin
	ends            []string  // how they end
	responses       bool      // they are known to speak Responses
	lists           bool      // they list their models, beside others of the same service that do not
	check           keyCheck  // the zero value is that of the kind
	emptyBadRequest llm.Fault // the zero value is that of the kind
}

// bedrock recognizes keys of Amazon Bedrock: those that last, and those of twelve hours.
var bedrock = keyCheck{prefixes: []string{"ABSK", "bedrock-api-key-"}}

// hosts holds the hosts that are not like most; the first that fits counts.
var hosts = []host{
	{ends: []string{".api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".openrouter.ai", ".api.x.ai"}, responses: true},
	{begins: "bedrock-mantle.", ends: []string{".api.aws"}, check: bedrock, lists: true},
	{ends: []string{".amazonaws.com", ".api.aws"}, check: bedrock},
	{ends: []string{".cerebras.ai"}, emptyBadRequest: llm.ContextOverflow}, // the prompt is too long
}

// hostAt returns the facts of the server at an address.
func hostAt(address string) host {
	name, _, _ := strings.Cut(hostOf(address), ":")
	for _, h := range hosts {
		if strings.HasPrefix(name, h.begins) && slices.ContainsFunc(h.ends, func(end string) bool { return strings.HasSuffix("."+name, end) }) {
			return h
		}
	}
	return host{responses: strings.HasSuffix(hostOf(address), ":1234")} // LM Studio's port
}

// A listEndpoint is where a kind of server lists its models. A path that begins with a
// slash follows the server's address instead of the base URL.
type listEndpoint struct {
	paths []string // the first that exists counts; nil is "models"
	limit string   // returns the context window of the running server; "" if the list does
	show  string   // returns the capabilities of one model, by POST; "" if the list does
	after string   // parameter that asks for the page after an id; "" is "after"
}

// A keyCheck is a request that checks a key without cost (from the services' documentation,
// November 2026). The first of paths that exists is used, as in listEndpoint. Without paths a key
// is recognized by its prefix.
type keyCheck struct {
	paths      []string
	prefixes   []string
	badRequest bool // status 400 means a wrong key: nothing else of the request can be bad
}

// listing is the check of a key by listing models.
var listing = keyCheck{paths: []string{"models"}}

// kinds holds the kinds that are not like most.
var kinds = map[string]kind{
	"anthropic": {
		list:  listEndpoint{paths: []string{"/v1/models?limit=1000"}, after: "after_id"},
		check: keyCheck{paths: []string{"/v1/models?limit=1"}},
	},
	"gemini": {
		list:  listEndpoint{paths: []string{"models?pageSize=1000"}},
		check: keyCheck{paths: []string{"models?pageSize=1"}}, // 400 API_KEY_INVALID
	},
	"gemini-cli": {noLevel: true},
	"grok":       {check: keyCheck{paths: []string{"models"}, badRequest: true}},
	"deepseek":   {anyKey: true, check: keyCheck{paths: []string{"/user/balance"}}},
	"moonshot":   {anyKey: true, check: keyCheck{paths: []string{"users/me/balance", "models"}}},
	openRouter:   {anyKey: true, check: keyCheck{paths: []string{"key"}}},
	"minimax":    {check: keyCheck{prefixes: []string{"sk-", "eyJ"}}},
	"mistral":    {noWeb: "Mistral's chat has no web search"},
	"cerebras":   {emptyBadRequest: llm.ContextOverflow}, // the prompt is too long
	"ollama":     {pull: "ollama pull ", cuts: " got more than Ollama's context length, so the beginning was cut off; set a larger OLLAMA_CONTEXT_LENGTH", list: listEndpoint{paths: []string{"/api/tags", "models"}, limit: "/api/ps", show: "/api/show"}},
	"llamacpp":   {list: listEndpoint{limit: "/props"}, check: keyCheck{paths: []string{"/props", "models"}}},
	"lmstudio":   {list: listEndpoint{paths: []string{"/api/v0/models", "models"}}},
	kindDemo:     {isDemo: true, dialect: map[string]any{"effort_words": []string{"none", "low", "low", "medium", "high", "high"}}},
}
