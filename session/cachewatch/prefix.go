package cachewatch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
)

// A Prefix holds digests of the parts of a request before its messages, in the
// order in which providers cache them.
type Prefix struct {
	Tools    []Tool            `json:"tools,omitempty"`
	System   string            `json:"system,omitempty"`
	Settings map[string]string `json:"settings,omitempty"` // by name on the screen, without unset ones
}

// A Tool is a tool that a request offers.
type Tool struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // of its description and schema
}

// effortSetting is the setting with its own cause.
const effortSetting = "reasoning effort"

// PrefixOf returns the prefix of a request, and a digest of its first message. A
// different first message shows that a summary replaces the beginning, or that it was
// left out. The cost does not depend on the length of the conversation.
func PrefixOf(req llm.Request) (p Prefix, first string) {
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, Tool{t.Name, digest(t.Description, string(t.Schema))})
	}
	if req.System != "" {
		p.System = digest(req.System)
	}
	settings := map[string]string{
		effortSetting: string(req.Effort), "tool choice": req.ToolChoice, "verbosity": req.Verbosity, "image detail": req.Detail,
	}
	if req.Web {
		settings["web search"] = "on"
	}
	if len(req.Options) > 0 {
		settings["request fields"] = digest(llm.OptionText(req.Options))
	}
	if req.Budget > 0 {
		settings[effortSetting] = strings.TrimSpace(fmt.Sprintf("%s %d tokens", req.Effort, req.Budget))
	}
	if req.AnswerSchema != nil {
		settings["answer schema"] = digest(req.AnswerSchema.Name, string(req.AnswerSchema.JSON))
	}
	maps.DeleteFunc(settings, func(_, value string) bool { return value == "" })
	p.Settings = settings
	if len(req.Messages) > 0 {
		first = messageDigest(req.Messages[0])
	}
	return p, first
}

// key returns the digest of p as a whole.
func (p Prefix) key() string {
	data, _ := json.Marshal(p) // maps are encoded in sorted order
	return digest(string(data))
}

// digest returns 16 hexadecimal digits that identify texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sampled is how many bytes of a long text its digest covers.
const sampled = 16 << 10

// messageDigest returns the digest of a message; a long text is represented by its length and its ends.
func messageDigest(m llm.Message) string {
	texts := []string{string(m.Role)}
	for _, p := range m.Parts {
		data := string(p.Data[:min(len(p.Data), sampled)])
		texts = append(texts, string(p.Kind), ends(p.Text), p.ID, p.Name, ends(p.Input), p.MIME, p.URL, data, fmt.Sprint(len(p.Data)))
	}
	return digest(texts...)
}

func ends(text string) string {
	if len(text) <= 2*sampled {
		return text
	}
	return fmt.Sprint(len(text), text[:sampled], text[len(text)-sampled:])
}

// difference returns the first difference between a request's prefix and the
// previous one; "" if there is none.
func (p Prefix) difference(before Prefix) Cause {
	if !slices.Equal(before.Tools, p.Tools) {
		return ToolsChanged
	}
	if p.System != before.System {
		return SystemChanged
	}
	if p.Settings[effortSetting] != before.Settings[effortSetting] {
		return EffortChanged
	}
	if !maps.Equal(p.Settings, before.Settings) {
		return SettingsChanged
	}
	return ""
}
