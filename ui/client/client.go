// Package client holds the interface to a client of the Agent Client Protocol, such as an editor: the
// conversations that it opens, and questions about the MCP servers that it adds. ui/acp implements the
// protocol.
package client

import (
	"context"
	"io"

	"parley/session"
	"parley/tools"
	"parley/ui/app"
)

// Options holds the connection to the client, and the functions that open conversations.
type Options struct {
	In      io.Reader // messages from the client
	Out     io.Writer // messages to the client, and nothing else
	Version string    // parley's version

	// Open opens a conversation. Its error is sent to the client.
	Open func(context.Context, Request) (*Opened, error)
	// List returns the conversations in dir and below it, or in all directories if dir is "",
	// latest first.
	List func(dir string) ([]session.Info, error)
}

// A Request describes the conversation to open.
type Request struct {
	Dir     string   // absolute path in which tools work
	ID      string   // conversation to continue; "" for a new one
	Servers []Server // added to those of the configuration
}

// A Server is an MCP server of the client: a program, or a service at an address.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// Opened is a conversation, with its commands and tools.
type Opened struct {
	App    app.Options
	Notice string     // for the user; "" for none
	Tools  *tools.Set // tools of the conversation; nil for none
	Close  func()     // ends the conversation, and everything started for it

	// Questions about servers of the client, to be asked before the first Ready.
	Questions []ServerQuestion
	// Ready waits until all tools are available, and calls tell with new notices about
	// servers, mainly those that cannot be used.
	Ready func(ctx context.Context, tell func(notice string))
}

// A ServerQuestion asks whether a server of the client may start.
type ServerQuestion struct {
	Name     string
	Location string                  // command line or address, without keys
	Given    []string                // names of its variables or headers
	Allow    func(always bool) error // starts it with the next Ready; always also stores that for the folder
}
