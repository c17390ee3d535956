package providers

import (
	"slices"
	"strings"

	"parley/providers/llm"
)

// A kind describes one kind of service. The zero value fits most: they list their models as OpenAI
// does, and listing checks the key.
type kind struct {
	isDemo          bool           // it runs inside parley
	dialect         map[string]any // table merged over the dialect of its family; see Provider.Dialect
	list            listEndpoint   // where its models are listed
	check           keyCheck       // the zero value lists the models
	anyKey          bool           // it may list its models with an invalid key
	wrongPlan       string         // code of the error for a key of another plan, which is valid at another path of the host
	pull            string         // command that fetches a model; the model follows
	cuts            bool           // it drops the beginning of a prompt that is too long, where others return an error
	widen           string         // how its owner gives a model a larger context window; see Endpoint.Widen
	noWeb           string         // why web search is unavailable; "" for a text that names the model
	noLevel         bool           // it takes no effort
	emptyBadRequest llm.Fault      // meaning of status 400 with an empty body
}

// A host describes the servers at some addresses, whatever their kind.
type host struct {
	begins          string    // prefix of the host name
	ends            []string  // suffixes of the host name
	responses       bool      // it is known to support Responses
	lists           bool      // it lists its models although other hosts of the service do not
	check           keyCheck  // the zero value uses the check of the kind
	emptyBadRequest llm.Fault // the zero value uses the fault of the kind
}

// bedrock recognizes keys of Amazon Bedrock, both long-term ones and those valid for twelve hours.
var bedrock = keyCheck{prefixes: []string{"ABSK", "bedrock-api-key-"}}

// hosts holds the hosts with special rules; the first match counts.
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

// A listEndpoint is the model-list API of one kind of server. A path with a leading slash is
// relative to the server's root instead of the base URL.
type listEndpoint struct {
	paths []string // the first that exists is used; nil is "models"
	limit string   // path of the running server's context window; "" if the list has it
	show  string   // path of one model's capabilities, by POST; "" if the list has them
	after string   // query parameter for the page after an id; "" is "after"
}

// A keyCheck is a request that checks a key without cost (from the services' documentation,
// November 2026). The first of paths that exists is used, as in listEndpoint. Without paths a key
// is recognized by its prefix.
type keyCheck struct {
	paths      []string
	prefixes   []string
	badRequest bool // status 400 means a wrong key: the request has no other variable part
}

// listing checks a key by listing models.
var listing = keyCheck{paths: []string{"models"}}

// kinds holds the kinds with special rules.
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
	"glm":        {wrongPlan: "1113"}, // no balance: the key is of its coding plan, or not
	"grok":       {check: keyCheck{paths: []string{"models"}, badRequest: true}},
	"deepseek":   {anyKey: true, check: keyCheck{paths: []string{"/user/balance"}}},
	"moonshot":   {anyKey: true, check: keyCheck{paths: []string{"users/me/balance", "models"}}},
	openRouter:   {anyKey: true, check: keyCheck{paths: []string{"key"}}},
	"minimax":    {check: keyCheck{prefixes: []string{"sk-", "eyJ"}}},
	"mistral":    {noWeb: "Mistral's chat has no web search"},
	"cerebras":   {emptyBadRequest: llm.ContextOverflow}, // the prompt is too long
	"ollama":     {pull: "ollama pull ", cuts: true, widen: "start Ollama with a larger OLLAMA_CONTEXT_LENGTH", list: listEndpoint{paths: []string{"/api/tags", "models"}, limit: "/api/ps", show: "/api/show"}},
	"llamacpp":   {widen: "start llama-server with a larger -c", list: listEndpoint{limit: "/props"}, check: keyCheck{paths: []string{"/props", "models"}}},
	"lmstudio":   {widen: "load the model with a larger context length in LM Studio", list: listEndpoint{paths: []string{"/api/v0/models", "models"}}},
	"llamafile":  {widen: "start the llamafile with a larger -c"},
	"vllm":       {widen: "start vLLM with a larger --max-model-len"},
	"sglang":     {widen: "start SGLang with a larger --context-length"},
	"koboldcpp":  {widen: "start KoboldCpp with a larger --contextsize"},
	kindDemo:     {isDemo: true, dialect: map[string]any{"effort_words": []string{"none", "low", "low", "medium", "high", "high"}}},
}
