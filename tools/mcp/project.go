package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"parley/tools/process"
)

// ParseProject parses the .mcp.json of a directory, a format shared with other programs:
//
//	{"mcpServers": {"NAME": {"command": "…", "args": […], "env": {…}}, "NAME": {"url": "…", "headers": {…}}}}
//
// The directory may only name programs. It cannot use values from the user's
// environment, which may include keys, nor run a program outside of the sandbox
// or offer tools without approval. Other keys in the file are ignored.
func ParseProject(text []byte) (map[string]Config, error) {
	var file struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("not a list of servers: %w", err)
	}
	configs := map[string]Config{}
	var errs []error
	for name, s := range file.Servers {
		for _, values := range []map[string]string{s.Env, s.Headers} {
			for key, value := range values {
				if strings.Contains(value, "${") {
					errs = append(errs, fmt.Errorf("mcp.%s: %s takes a value from your environment, which a folder's servers cannot: add the server to your own configuration", name, key))
				}
			}
		}
		configs[name] = Config{Command: process.ShellLine(s.Command), Args: s.Args, Env: maps.Clone(s.Env), URL: s.URL, Headers: maps.Clone(s.Headers), OfProject: true}
	}
	return configs, errors.Join(append(errs, Validate(configs))...)
}
