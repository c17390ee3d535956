// Package client holds what a client of the Agent Client Protocol, such as an editor, is given: the
// conversations that it opens, and questions about the MCP servers that it brings along. ui/acp speaks the
// protocol.
package client

import (
	"context"
	"io"

	"parley/session"
	"parley/tools"
	"parley/ui/app"
)

// Options hold the connection to the client, and the ways to open conversations.
type Options struct {
	In      io.Reader // messages of the client
	Out     io.Writer // messages to it, and nothing else
	Version string    // of parley

	// Open opens a conversation. Its error is told to the client.
	Open func(context.Context, Request) (*Opened, error)
	// List returns the conversations that were held in dir or below it, in all directories if
	// it is "", the latest first.
	List func(dir string) ([]session.Info, error)
}

// A Request says which conversation is to be opened.
type Request struct {
	Dir     string   // absolute; tools work in it
	ID      string   // of the conversation to continue; "": a new one
	Servers []Server // that the client adds to those of the configuration
}

// A Server is an MCP server of the client's: a program, or a service at an address.
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
	Notice string     // for the user; "" if there is none
	Tools  *tools.Set // that work in it; nil: none
	Close  func()     // ends the conversation, and everything started for it

	// Questions are asked before the first Ready, about servers of the client.
	Questions []ServerQuestion
	// Ready waits until all tools are there, and calls tell with new notices about servers:
	// those that cannot be used, above all.
	Ready func(ctx context.Context, tell func(notice string))
}

// A ServerQuestion asks whether a server of the client may start.
type ServerQuestion struct {
	Name     string
	Location string                  // its command line or address, without keys
	Given    []string                // names of its variables or headers
	Allow    func(always bool) error // starts it with the next Ready; always: and whenever the folder is opened
}
