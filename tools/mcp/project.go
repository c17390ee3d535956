package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"parley/tools/process"
)

// ParseProject reads the .mcp.json of a directory, as other programs have it too:
//
//	{"mcpServers": {"NAME": {"command": "…", "args": […], "env": {…}}, "NAME": {"url": "…", "headers": {…}}}}
//
// The directory is trusted to name programs, and no further: it cannot take values
// from the user's environment, where keys are, nor have a program run outside
// of the sandbox or its tools offered unseen. Keys it has beside these are
// ignored.
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
