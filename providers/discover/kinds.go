package discover

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
)

// A kind is one row of what is known of servers.
type kind struct {
	provider string // catalog's ID
	name     string
	port     string // it listens on by itself; several are separated by blanks
	base     string // path of the base URL; "" is "/v1"
	proofs   []string
	proves   func(s *session) bool    // by the answers to proofs, which are asked at once, and to others
	models   func(s *session) []model // nil: those of the list that all have
	ownPort  bool                     // its answers prove it on its own port only
}

const listPath = "/v1/models" // all have it but Docker's

// kinds stand in the order in which they are told apart: LocalAI answers as Ollama does,
// and whatever has only a list of models is told by elimination.
//
// Sources: the servers' documentation and code, 2026; older answers are taken as well.
var kinds = []kind{
	{
		provider: "localai", name: "LocalAI", port: "8080", proofs: []string{"/readyz"},
		proves: func(s *session) bool { // Ollama has no /readyz; others that have one list no models
			ready := s.get("/readyz")
			return ready.ok() && len(bytes.TrimSpace(ready.body)) == 0 && s.listsModels()
		},
	},
	{
		provider: "koboldcpp", name: "KoboldCpp", port: "5001", proofs: []string{"/api/extra/version"},
		proves: func(s *session) bool { return s.get("/api/extra/version").text("result") == "KoboldCpp" },
		models: func(s *session) []model {
			return withContext(s.listedModels(), countAt(s.get("/api/extra/true_max_context_length").object, "value"))
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
		proves: func(s *session) bool { // the same server, before it told its build
			props := s.get("/props")
			return props.ok() && props.object["default_generation_settings"] != nil
		},
		models: llamaModels,
	},
	{
		provider: "vllm", name: "vLLM", port: "8000", proofs: []string{"/version"},
		proves: func(s *session) bool { // many have a /version: its list tells the window, or is for holders of a key
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
				return withContext(models, countAt(s.get("/get_server_info").object, "context_length"))
			}
			return models
		},
	},
	{
		provider: "lmstudio", name: "LM Studio", port: "1234", proofs: []string{"/api/v1/models", "/api/v0/models"},
		proves: func(s *session) bool {
			rows, ok := s.get("/api/v1/models").list("models")
			if ok && !slices.ContainsFunc(rows, func(m map[string]any) bool { return textAt(m, "key") == "" }) {
				return true
			}
			rows, _ = s.get("/api/v0/models").list("data")
			return slices.ContainsFunc(rows, func(m map[string]any) bool { return textAt(m, "state") != "" && textAt(m, "type") != "" })
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
		proves: func(s *session) bool { // its list, unlike those of others, says nothing of an owner
			rows, _ := s.get(listPath).list("data")
			return len(parseModels(rows)) > 0 && s.get(listPath).text("object") == "list" &&
				!slices.ContainsFunc(rows, func(m map[string]any) bool { return m["owned_by"] != nil })
		},
	},
}

func kindsOf(port string) []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(strings.Fields(k.port), port) })
}

// identify returns the server at p, nil if there is none that can be told.
//
// Somebody else's server is asked for its models, and for the proofs of the kinds that have
// this port; all proofs are asked of one that lists models, or that asks for a key.
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

// ask asks for all paths at once.
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
		found.Problem = needKey // its list alone is open to all
	}
	found.NeedsKey = found.Problem == needKey
	read := k.models
	if read == nil {
		read = (*session).listedModels
	}
	models := read(s)
	slices.SortStableFunc(models, func(a, b model) int {
		switch {
		case a.loaded == b.loaded:
			return 0
		case a.loaded:
			return -1
		}
		return 1
	})
	for _, m := range models {
		to := &found.Models
		if m.embeds {
			to = &found.Embedded
		}
		*to = append(*to, m.Facts)
	}
	found.More = len(found.Models) > maxModels || s.hasMore()
	found.Models = found.Models[:min(len(found.Models), maxModels)]
	return found
}

// hasMore reports whether a list that was asked for was cut off.
func (s *session) hasMore() bool {
	return slices.ContainsFunc([]string{listPath, "/api/tags", "/api/v1/models", "/api/v0/models", "/engines/v1/models"}, func(path string) bool {
		s.mu.Lock()
		_, asked := s.asked[path]
		s.mu.Unlock()
		if !asked {
			return false
		}
		a := s.get(path)
		return a.ok() && a.cut && a.object != nil
	})
}

// listsModels reports whether the server has a list of models as OpenAI has it.
func (s *session) listsModels() bool {
	_, ok := s.get(listPath).list("data")
	return ok
}

// lists reports whether a model of the list has a member with this text.
func (s *session) lists(member, text string) bool {
	rows, _ := s.get(listPath).list("data")
	return slices.ContainsFunc(rows, func(m map[string]any) bool { return textAt(m, member) == text })
}

// listsWindows reports whether the list tells the windows that its models run with.
func (s *session) listsWindows() bool {
	rows, _ := s.get(listPath).list("data")
	return slices.ContainsFunc(rows, func(m map[string]any) bool { return countAt(m, "max_model_len") > 0 })
}

// isLoadingLlama reports the answer of a llama.cpp that loads its model: 503 to everything,
// with a code in the body that only it has.
func (s *session) isLoadingLlama() bool {
	a := s.get("/props")
	return a.state() == loading && a.text("error.message") == "Loading model" && a.text("error.type") == "unavailable_error"
}
