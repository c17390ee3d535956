package media

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/similar"
	"parley/providers/wire"
)

// An Ability is a use of models other than chat. T is the interface of such a model, F the type of
// its facts in the catalog.
type Ability[T, F any] struct {
	label string // plural of such models, for errors
	name  string // value of llm.Error.Purpose
	open  func(formats Formats, kind, base string) Opener[T, F]
	rows  func(catalog.Media) []F
	id    func(F) string
}

// Images is the ability to make images.
var Images = Ability[works.ImageMaker, catalog.ImageModel]{
	label: "image models", name: "image",
	open: Formats.ImageMaker,
	rows: func(m catalog.Media) []catalog.ImageModel { return m.Images },
	id:   func(m catalog.ImageModel) string { return m.ID },
}

// Videos is the ability to make videos.
var Videos = Ability[VideoJobs, catalog.VideoModel]{
	label: "video models", name: "video",
	open: Formats.VideoJobs,
	rows: func(m catalog.Media) []catalog.VideoModel { return m.Videos },
	id:   func(m catalog.VideoModel) string { return m.ID },
}

// Embeddings is the ability to turn texts into vectors.
var Embeddings = Ability[works.Embedder, catalog.Embedding]{
	label: "embedding models", name: "embed",
	open: Formats.Embedder,
	rows: func(m catalog.Media) []catalog.Embedding { return m.Embeddings },
	id:   func(e catalog.Embedding) string { return e.ID },
}

// A Model is an opened model with an ability.
type Model[T, F any] struct {
	Service T
	Name    string // "provider/model"
	Facts   F      // zero if unknown
	Known   bool   // Facts are about this model
}

// A Choice is a known model with an ability.
type Choice[F any] struct {
	Name        string // "provider/model"
	Unavailable string // why it is not ready, such as "set XAI_API_KEY"; "" if it is
	Facts       F
}

// Choices lists the known models with an ability, those that are ready first.
func (a Ability[T, F]) Choices(c providers.Config, getenv func(string) string) []Choice[F] {
	var ready, not []Choice[F]
	for _, s := range a.services(c, getenv) {
		for _, row := range a.known(c, s) {
			choice := Choice[F]{s.Name + "/" + providers.FileName(a.id(row)), s.Missing, row}
			if s.Missing == "" {
				ready = append(ready, choice)
			} else {
				not = append(not, choice)
			}
		}
	}
	return append(ready, not...)
}

// known returns the facts of a provider's models with the ability, from the catalog, its stored list,
// and its server.
func (a Ability[T, F]) known(c providers.Config, s providers.Service) []F {
	m := c.Facts.MediaOf(s.Catalog, s.Name, wire.Public(s.BaseURL))
	m.Embeddings = append(slices.Clip(m.Embeddings), s.Embeddings...)
	return a.rows(m)
}

// services lists the providers that have the ability.
func (a Ability[T, F]) services(c providers.Config, getenv func(string) string) []providers.Service {
	return slices.DeleteFunc(providers.Services(c, getenv), func(s providers.Service) bool { return a.opener(s) == nil })
}

// opener returns the constructor of the ability for a provider; nil if the provider does not have it.
func (a Ability[T, F]) opener(s providers.Service) Opener[T, F] {
	if registered == nil {
		return nil
	}
	return a.open(registered, s.Kind, s.BaseURL)
}

// Open opens a model by name: "provider/model", a provider alone for its first model with the
// ability, or a model alone. The empty name is the first model that is ready. For a provider without
// the ability it returns an *llm.Error with the fault Unsupported that names connected providers
// with it; other errors are those of [providers.Open]. It runs a command that prints the key, but
// sends no request.
func (a Ability[T, F]) Open(ctx context.Context, c providers.Config, name string, o providers.OpenOptions) (Model[T, F], error) {
	m, err := a.openNamed(ctx, c, name, o)
	return m, WithPurpose(err, a.name)
}

// Find opens the model that resolve finds by name.
func (a Ability[T, F]) Find(ctx context.Context, resolve func(ctx context.Context, name string, open func(providers.Config, string) error) error, name string, o providers.OpenOptions) (m Model[T, F], err error) {
	err = resolve(ctx, name, func(c providers.Config, name string) (err error) {
		m, err = a.Open(ctx, c, name, o)
		return err
	})
	return m, err
}

// Names lists the models that are ready.
func (a Ability[T, F]) Names(c providers.Config, getenv func(string) string) (ready []string) {
	for _, choice := range a.Choices(c, getenv) {
		if choice.Unavailable == "" {
			ready = append(ready, choice.Name)
		}
	}
	return ready
}

func (a Ability[T, F]) openNamed(ctx context.Context, c providers.Config, name string, o providers.OpenOptions) (Model[T, F], error) {
	s, id, err := a.find(c, name, o.Getenv)
	if err != nil {
		return Model[T, F]{}, err
	}
	t, err := c.Target(ctx, s.Name, id, o)
	if err != nil {
		return Model[T, F]{}, err
	}
	m := Model[T, F]{Name: s.Name + "/" + providers.FileName(id)}
	rows := a.known(c, s)
	if i := slices.IndexFunc(rows, func(f F) bool { return providers.IsNamed(a.id(f), id) }); i >= 0 {
		m.Facts, m.Known = rows[i], true
	}
	m.Service = a.opener(s)(t.Options, m.Facts, t.Secrets)
	return m, nil
}

// find returns the service and the model id for a name.
func (a Ability[T, F]) find(c providers.Config, name string, getenv func(string) string) (providers.Service, string, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	name = c.Resolve(name)
	choices, all := a.Choices(c, getenv), providers.Services(c, getenv)
	if name == "" {
		if len(choices) == 0 || choices[0].Unavailable != "" {
			return providers.Service{}, "", a.noneConnected(choices)
		}
		name = choices[0].Name
	}
	provider, id, slash := strings.Cut(name, "/")
	s, found := providers.ServiceNamed(c, provider, getenv)
	if !found {
		for _, choice := range choices {
			if provider, id, _ := strings.Cut(choice.Name, "/"); providers.IsNamed(id, name) {
				return a.find(c, provider+"/"+id, getenv)
			}
		}
		if slash {
			return providers.Service{}, "", providers.UnknownName("provider", provider, names(all))
		}
		return providers.Service{}, "", a.unknownModel(name, choices)
	}
	if a.opener(s) == nil {
		return providers.Service{}, "", a.unsupported(c, s.Name, getenv)
	}
	if rows := a.known(c, s); id == "" && len(rows) > 0 {
		id = a.id(rows[0])
	}
	if id == "" {
		return providers.Service{}, "", &llm.Error{Fault: llm.ModelNotFound, Message: fmt.Sprintf("%s has no default model: name one, as in %s/MODEL", provider, provider)}
	}
	return s, id, nil
}

// noneConnected returns the error for an empty name if no model is ready.
func (a Ability[T, F]) noneConnected(choices []Choice[F]) error {
	var can []string
	for _, choice := range choices {
		if provider, _, _ := strings.Cut(choice.Name, "/"); !slices.Contains(can, provider) {
			can = append(can, provider)
		}
	}
	return &llm.Error{Fault: llm.Authentication, KeyMissing: true, Message: fmt.Sprintf("no provider with %s is connected; those that have some are %s", a.label, strings.Join(can, ", "))}
}

// unknownModel returns the error for an unknown name, with up to three similar model names. It
// compares them with and without the provider and vendor prefix.
func (a Ability[T, F]) unknownModel(name string, choices []Choice[F]) error {
	full := map[string]string{} // full names by the names that a user may type
	var typed, near []string
	for _, choice := range choices {
		for rest, more := choice.Name, true; more; _, rest, more = strings.Cut(rest, "/") {
			if full[rest] == "" {
				full[rest], typed = choice.Name, append(typed, rest)
			}
		}
	}
	for _, is := range similar.Names(name, typed, len(typed)) {
		if !slices.Contains(near, full[is]) && len(near) < 3 {
			near = append(near, full[is])
		}
	}
	e := providers.UnknownName("model", name, nil)
	if len(near) > 0 {
		e.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return e
}

func names(all []providers.Service) (list []string) {
	for _, s := range all {
		list = append(list, s.Name)
	}
	return list
}

// unsupported returns the error for a provider without the ability.
func (a Ability[T, F]) unsupported(c providers.Config, provider string, getenv func(string) string) error {
	can := slices.DeleteFunc(a.services(c, getenv), func(s providers.Service) bool { return s.Missing != "" })
	message := "it has no " + a.label
	if len(can) > 0 {
		message += "; of the connected providers, these have: " + strings.Join(names(can), ", ")
	}
	return &llm.Error{Fault: llm.Unsupported, Provider: provider, Message: message}
}
