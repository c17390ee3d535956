package discover

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"

	"parley/providers/catalog"
)

// A kind describes one kind of server.
type kind struct {
	provider string // id in the catalog
	name     string
	port     string // default ports, separated by spaces
	base     string // path of the base URL; "" is "/v1"
	proofs   []string
	proves   func(s *session) bool    // identifies the server by the answers to proofs, which are requested at the same time, and to other paths
	models   func(s *session) []model // nil for the common list
	ownPort  bool                     // its answers identify it only on its default port
}

const listPath = "/v1/models" // supported by all but Docker's

// kinds is in the order of identification: LocalAI imitates Ollama, and servers with only a list of
// models are identified by elimination.
//
// Sources: the servers' documentation and code, 2026; older answers are accepted too.
var kinds = []kind{
	{
		provider: "localai", name: "LocalAI", port: "8080", proofs: []string{"/readyz"},
		proves: func(s *session) bool { // Ollama has no /readyz; other servers with it list no models
			ready := s.get("/readyz")
			return ready.ok() && len(bytes.TrimSpace(ready.body)) == 0 && s.listsModels()
		},
	},
	{
		provider: "koboldcpp", name: "KoboldCpp", port: "5001", proofs: []string{"/api/extra/version"},
		proves: func(s *session) bool { return s.get("/api/extra/version").text("result") == "KoboldCpp" },
		models: func(s *session) []model {
			return withContext(s.listedModels(), catalog.FirstCount(s.get("/api/extra/true_max_context_length").object, "value"))
		},
	},
	{
		provider: "jan", name: "Jan", port: "1337", proofs: []string{"/openapi.json"},
		proves: func(s *session) bool { return s.get("/openapi.json").text("info.title") == "Jan API Server Endpoints" },
	},
	{
		provider: "llamacpp", name: "llama.cpp", port: "8080 9931", proofs: []string{"/props"},
		proves: func(s *session) bool {
			props := s.get("/props")
			return props.ok() && props.object["build_info"] != nil && props.object["default_generation_settings"] != nil ||
				s.lists("owned_by", "llamacpp") || s.isLoadingLlama() || s.get(listPath).state() == needKey && s.get(listPath).server == "llama.cpp"
		},
		models: llamaModels,
	},
	{
		provider: "llamafile", name: "llamafile", port: "8080", proofs: []string{"/props"},
		proves: func(s *session) bool { // the same server, in versions without build_info
			props := s.get("/props")
			return props.ok() && props.object["default_generation_settings"] != nil
		},
		models: llamaModels,
	},
	{
		provider: "vllm", name: "vLLM", port: "8000", proofs: []string{"/version"},
		proves: func(s *session) bool { // many servers have /version: vLLM's list has the context window, or requires a key
			version, list := s.get("/version"), s.get(listPath)
			return version.ok() && version.text("version") != "" &&
				(list.isGuarded() || s.lists("owned_by", "vllm") || s.listsWindows() && !s.lists("owned_by", "sglang"))
		},
	},
	{
		provider: "sglang", name: "SGLang", port: "30000", proofs: []string{"/get_model_info"},
		proves: func(s *session) bool { return s.get("/get_model_info").text("model_path") != "" },
		models: func(s *session) []model {
			models := s.listedModels()
			if len(models) > 0 && models[0].Context == 0 {
				return withContext(models, catalog.FirstCount(s.get("/get_server_info").object, "context_length"))
			}
			return models
		},
	},
	{
		provider: "lmstudio", name: "LM Studio", port: "1234", proofs: []string{"/api/v1/models", "/api/v0/models"},
		proves: func(s *session) bool {
			rows, ok := s.get("/api/v1/models").list("models")
			if ok && !slices.ContainsFunc(rows, func(m map[string]any) bool { return catalog.FirstText(m, "key") == "" }) {
				return true
			}
			rows, _ = s.get("/api/v0/models").list("data")
			return slices.ContainsFunc(rows, func(m map[string]any) bool {
				return catalog.FirstText(m, "state") != "" && catalog.FirstText(m, "type") != ""
			})
		},
		models: studioModels,
	},
	{
		provider: "ollama", name: "Ollama", port: "11434", proofs: []string{"/", "/api/tags"},
		proves: func(s *session) bool {
			_, tags := s.get("/api/tags").list("models")
			return tags && strings.TrimSpace(string(s.get("/").body)) == "Ollama is running"
		},
		models: ollamaModels,
	},
	{
		provider: "docker", name: "Docker Model Runner", port: "12434", ownPort: true, base: "/engines/v1", proofs: []string{"/engines/v1/models"},
		proves: func(s *session) bool { _, ok := s.get("/engines/v1/models").list("data"); return ok },
		models: func(s *session) []model {
			rows, _ := s.get("/engines/v1/models").list("data")
			return parseModels(rows)
		},
	},
	{
		provider: "mlx", name: "MLX", port: "8080", ownPort: true,
		proves: func(s *session) bool { // its list, unlike others, names no owner
			rows, _ := s.get(listPath).list("data")
			return len(parseModels(rows)) > 0 && s.get(listPath).text("object") == "list" &&
				!slices.ContainsFunc(rows, func(m map[string]any) bool { return m["owned_by"] != nil })
		},
	},
}

func kindsOf(port string) []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(strings.Fields(k.port), port) })
}

// identify returns the server at p; nil if none can be identified.
//
// A server of another kind gets requests for its models and for the proofs of the kinds with this
// port. A server that lists models or requires a key gets all proofs.
func (p place) identify(ctx context.Context, client *http.Client) *catalog.Server {
	s := &session{ctx: ctx, client: client, origin: "http://" + p.host, asked: map[string]func() answer{}}
	paths := []string{listPath}
	for _, k := range p.own {
		paths = append(paths, k.proofs...)
	}
	s.ask(paths)
	among := p.own
	if s.listsModels() || s.get(listPath).isGuarded() {
		among = kinds
		for _, k := range kinds {
			paths = append(paths, k.proofs...)
		}
		s.ask(paths)
	}
	at := slices.IndexFunc(among, func(k kind) bool { return (!k.ownPort || k.port == p.port) && k.proves(s) })
	if at < 0 {
		return nil
	}
	return s.describe(among[at])
}

// ask requests all paths at the same time.
func (s *session) ask(paths []string) {
	var wait sync.WaitGroup
	for _, path := range paths {
		wait.Go(func() { s.get(path) })
	}
	wait.Wait()
}

// describe returns the server of kind k.
func (s *session) describe(k kind) *catalog.Server {
	base, list := "/v1", listPath
	if k.base != "" {
		base, list = k.base, k.base+"/models"
	}
	found := &catalog.Server{Provider: k.provider, Name: k.name, BaseURL: s.origin + base, Problem: s.get(list).state()}
	if found.Problem == ready && slices.ContainsFunc(k.proofs, func(path string) bool { return s.get(path).state() == needKey }) {
		found.Problem = needKey // only its list is public
	}
	found.NeedsKey = found.Problem == needKey
	read := k.models
	if read == nil {
		read = (*session).listedModels
	}
	models := read(s)
	sort.SliceStable(models, func(i, j int) bool { return models[i].loaded && !models[j].loaded })
	for _, m := range models {
		to := &found.Models
		if m.embeds {
			to = &found.Embedded
		}
		*to = append(*to, m.Facts)
	}
	found.More = len(found.Models) > maxModels
	found.Models, found.Embedded = found.Models[:min(len(found.Models), maxModels)], found.Embedded[:min(len(found.Embedded), maxModels)]
	return found
}

// listsModels reports whether the server has a model list in OpenAI's format.
func (s *session) listsModels() bool {
	_, ok := s.get(listPath).list("data")
	return ok
}

// lists reports whether a model in the list has a member with this text.
func (s *session) lists(member, text string) bool {
	rows, _ := s.get(listPath).list("data")
	return slices.ContainsFunc(rows, func(m map[string]any) bool { return catalog.FirstText(m, member) == text })
}

// listsWindows reports whether the list has the context windows that its models run with.
func (s *session) listsWindows() bool {
	rows, _ := s.get(listPath).list("data")
	return slices.ContainsFunc(rows, func(m map[string]any) bool { return catalog.FirstCount(m, "max_model_len") > 0 })
}

// isLoadingLlama reports whether the server is a llama.cpp loading its model: it answers 503 to
// everything, with a body code that only it has.
func (s *session) isLoadingLlama() bool {
	a := s.get("/props")
	return a.state() == loading && a.text("error.message") == "Loading model" && a.text("error.type") == "unavailable_error"
}
