// Package app is what a user can do with parley, without a screen: what every front
// end shares, as data and functions. It imports no front end and no terminal library.
//
//	ui/cli ──► Options ──► screen, plain lines
//	             ├── drafts, attachments, exports, typed commands
//	             ├── MCP servers: state, consent, choices
//	             ├── usage, hints, titles, ages
//	             └── Turn: events of a session folded into changes of blocks, live and replayed
package app
