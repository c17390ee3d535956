package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/agentcli"
	"parley/providers/catalog"
	"parley/providers/discover"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/ui/format"
)

// noEnvironment is a Getenv in which no variable is set.
func noEnvironment(string) string { return "" }

// abilityTable lists the abilities of each provider: those of its known models or, if only the user knows its models,
// those that parley supports.
func abilityTable() string {
	var rows [][]string
	for _, p := range catalog.Providers() {
		choices := choicesOf(p.ID)
		some := func(f func(providers.Choice) bool) bool { return slices.ContainsFunc(choices, f) }
		program := slices.Contains(agentcli.Kinds, p.Kind)
		open := len(choices) == 0 && !program
		can, perhaps := []string{"chat"}, []string(nil)
		add := func(word string, known, speaks bool) {
			if known {
				can = append(can, word)
			} else if open && speaks {
				perhaps = append(perhaps, word)
			}
		}
		add("thinking", some(func(c providers.Choice) bool { return c.Thinks }), true)
		add("tools", some(func(c providers.Choice) bool { return c.Tools }) && !program, true)
		add("image input", some(func(c providers.Choice) bool { return c.Vision }), true)
		add("image", known(media.Images, p.ID), offered(media.Images, p.ID))
		add("video", known(media.Videos, p.ID), offered(media.Videos, p.ID))
		add("embedding", known(media.Embeddings, p.ID), offered(media.Embeddings, p.ID))
		add("web search", some(func(c providers.Choice) bool { return c.Facts.Web }), p.SearchPrice > 0)
		text := strings.Join(can, ", ")
		if len(perhaps) > 0 {
			text += "; where it has that: " + strings.Join(perhaps, ", ")
		}
		rows = append(rows, []string{inCode(p.ID), p.Name, text})
	}
	return markdownTable([]string{"Name", "Provider", "What works"}, rows)
}

// known reports whether a provider has known models with an ability.
func known[T, F any](a media.Ability[T, F], provider string) bool {
	return slices.ContainsFunc(a.Choices(providers.Config{}, noEnvironment), func(c media.Choice[F]) bool { return strings.HasPrefix(c.Name, provider+"/") })
}

// choicesOf returns the known models of a provider.
func choicesOf(provider string) []providers.Choice {
	return slices.DeleteFunc(providers.Choices(providers.Config{}, noEnvironment), func(c providers.Choice) bool { return c.Provider != provider })
}

// offered reports whether parley supports an ability at a provider: an unknown model opens, or lacks only a key.
func offered[T, F any](a media.Ability[T, F], provider string) bool {
	_, err := a.Open(context.Background(), providers.Config{}, provider+"/unknown", providers.OpenOptions{Getenv: noEnvironment})
	return llm.FaultOf(err) != llm.Unsupported
}

// addressTable lists the addresses of providers and the variables of their keys.
func addressTable() string {
	var rows [][]string
	for _, p := range catalog.Heads() {
		if p.BaseURL != "" && len(p.Variables) == 0 && !p.Local {
			rows = append(rows, []string{inCode(p.ID), inCode(p.KeyEnv...), inCode(strings.TrimPrefix(p.BaseURL, "https://"))})
		}
	}
	return markdownTable([]string{"Name", "Key variable", "Address (https)"}, rows)
}

// cloudTable lists the editions of clouds with the variables of their addresses.
func cloudTable() string {
	var rows [][]string
	for _, p := range catalog.Heads() {
		if len(p.Variables) == 0 && p.TokenFrom == "" && p.ID != "vertex-express" {
			continue
		}
		var parts []string
		for _, v := range p.Variables {
			parts = append(parts, v.Name)
		}
		key := inCode(p.KeyEnv...)
		if p.TokenFrom == catalog.FromGoogle {
			key = "Google's application default credentials"
		}
		rows = append(rows, []string{inCode(p.ID), inCode(parts...), key})
	}
	return markdownTable([]string{"Name", "Needs", "Key"}, rows)
}

// localTable lists servers on the user's own machine.
func localTable() string {
	var rows [][]string
	for _, p := range catalog.Heads() {
		if ports := discover.Ports(p.ID); p.Local && p.BaseURL != "" {
			rows = append(rows, []string{inCode(p.ID), p.Name, strings.Join(ports, ", ")})
		}
	}
	return markdownTable([]string{"Name", "Server", "Port"}, rows)
}

// TestNamesOfServersAreKinds checks that all names in the manual's table of local servers, and openai, are kinds, and
// that their ports are those of the catalog's addresses.
func TestNamesOfServersAreKinds(t *testing.T) {
	text, err := os.ReadFile("../../docs/connect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- begin local -->")
	table, _, _ = strings.Cut(table, "<!-- end local -->")
	names := []string{"openai"}
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		names = append(names, strings.Trim(strings.Split(row, "|")[1], " `"))
	}
	if len(names) != 12 {
		t.Errorf("names %q", names)
	}
	for _, name := range names {
		c := providers.Config{Providers: map[string]providers.Provider{"box": {Kind: name, BaseURL: "http://192.0.2.7:8000/v1"}}}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := providers.Open(c, "box/m", providers.OpenOptions{Getenv: noEnvironment}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if head, ok := catalog.Head(name); ok && head.Local {
			if address, err := url.Parse(head.BaseURL); err != nil || address.Port() != discover.Ports(name)[0] {
				t.Errorf("%s: %s is not on port %q", name, head.BaseURL, discover.Ports(name))
			}
		}
	}
}

// programTable lists other agents' programs that answer as models.
func programTable() string {
	var rows [][]string
	for i, program := range agentcli.Programs() {
		kind := agentcli.Kinds[i]
		head, _ := catalog.Head(kind)
		rows = append(rows, []string{inCode(kind), inCode(program), head.Name, inCode(agentcli.Family.Programs.Login(kind, os.Getenv).Login)})
	}
	return markdownTable([]string{"Name", "Program", "What it is", "To log in"}, rows)
}

// imageTable lists the image models with their abilities.
func imageTable() string {
	var rows [][]string
	for _, c := range media.Images.Choices(providers.Config{}, noEnvironment) {
		m := c.Facts
		var can []string
		if m.Inputs > 0 {
			can = append(can, fmt.Sprintf("changes up to %d", m.Inputs))
		}
		for word, has := range map[string]bool{"mask": m.Mask, "transparent": m.Transparent} {
			if has {
				can = append(can, word)
			}
		}
		slices.Sort(can)
		usd, known := m.Cost(1)
		rows = append(rows, []string{inCode(c.Name), mediaPrice(usd, known, m.Price.Free), cmp.Or(strings.Join(can, ", "), "–")})
	}
	return markdownTable([]string{"Model", "An image, about", "Beside new images"}, rows)
}

// videoTable lists the video models.
func videoTable() string {
	var rows [][]string
	for _, c := range media.Videos.Choices(providers.Config{}, noEnvironment) {
		m := c.Facts
		usd, known := m.Cost(0, "")
		length := "–"
		switch {
		case len(m.Lengths) > 0:
			length = strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Lengths), " ", ", "), "[]") + " s"
		case m.Most > 0:
			length = fmt.Sprintf("%d to %d s", m.Least, m.Most)
		}
		rows = append(rows, []string{inCode(c.Name), length, mediaPrice(usd, known, false)})
	}
	return markdownTable([]string{"Model", "Lengths", "A usual video"}, rows)
}

// embeddingTable lists the embedding models.
func embeddingTable() string {
	var rows [][]string
	for _, c := range media.Embeddings.Choices(providers.Config{}, noEnvironment) {
		m := c.Facts
		price := "–"
		if m.Price.Input > 0 {
			price = escapeCell(format.Price(m.Price.Input))
		}
		rows = append(rows, []string{inCode(c.Name), fmt.Sprint(cmp.Or(m.Dimensions, m.Most)), price})
	}
	return markdownTable([]string{"Model", "Dimensions", "A million tokens"}, rows)
}

// mediaPrice formats the price of an image or a video.
func mediaPrice(usd float64, known, free bool) string {
	switch {
	case free:
		return "free"
	case !known:
		return "–"
	}
	return escapeCell(format.Price(math.Round(usd*1000) / 1000))
}
