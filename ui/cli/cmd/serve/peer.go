package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"parley/tools/sanitize"
)

// stateless is the version of the protocol without initialize: each request names its version, and needs no session.
const stateless = "2026-07-28"

// versions are the supported versions of the protocol, newest first.
var versions = []string{stateless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// maxCalls is how many calls run at once. More are refused: if agents asked each other in a circle, none that waits
// would ever end.
const maxCalls = 8

// Codes of JSON-RPC errors.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeMethod  = -32601
	codeParams  = -32602
	codeHeader  = -32020 // a header contradicts the message
	codeVersion = -32022 // the version is not supported
)

// A message is a request, a notification, which has no ID, or a response, which has no method.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
		ProtocolVersion string          `json:"protocolVersion"`
		ClientInfo      implementation  `json:"clientInfo"`
		RequestID       json.RawMessage `json:"requestId"`
		Meta            struct {
			ProgressToken json.RawMessage `json:"progressToken"`
			Version       string          `json:"io.modelcontextprotocol/protocolVersion"` // "" before stateless
			ClientInfo    implementation  `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	} `json:"params"`
}

// An implementation is the program of a client.
type implementation struct {
	Name string `json:"name"`
}

// A peer is a connection to a client.
type peer struct {
	server *server
	header http.Header // of the request; nil for standard input and for sessions

	mu    sync.Mutex
	begun bool                               // the client has sent initialize
	calls map[string]context.CancelCauseFunc // running calls by ID
}

// encode returns a value as JSON without invisible characters.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and valid JSON never fail
	return sanitize.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// response returns the response to the request id; result is a JSON object with fields.
func (p *peer) response(id json.RawMessage, result []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":%s},%s}`, id, p.info(), result[1:])
}

// info identifies the server.
func (p *peer) info() []byte {
	return fmt.Appendf(nil, `{"name":"parley","version":%s}`, encode(p.server.Version))
}

// failure returns an error as the response to the request id; nil if the request is unknown.
func failure(id json.RawMessage, code int, message string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	data := ""
	if code == codeVersion {
		data = fmt.Sprintf(`,"data":{"supported":%s,"requested":%s}`, encode(versions), encode(message))
		message = "unsupported version of the protocol: use " + strings.Join(versions, ", ")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, id, code, encode(message), data)
}

// receive handles a message. It returns the response, nil for none, or a function that runs the call of a tool and
// passes notifications and the response to write.
func (p *peer) receive(ctx context.Context, raw []byte) (reply []byte, run func(write func([]byte))) {
	var m message
	err := json.Unmarshal(raw, &m)
	var wrong *json.UnmarshalTypeError
	switch valid := isID(m.ID); {
	case err != nil && !errors.As(err, &wrong):
		return failure(nil, codeParse, "not a JSON message: send one JSON-RPC object a line"), nil
	case err != nil && (wrong.Field == "" || !valid):
		return failure(nil, codeInvalid, "not one JSON-RPC message: send one object"), nil
	case err != nil:
		return failure(m.ID, codeParams, wrong.Field+" has the wrong type"), nil
	case m.Version != "2.0", m.ID != nil && !valid:
		return failure(nil, codeInvalid, `a message needs "jsonrpc": "2.0", and a request a number or a string as its id`), nil
	case m.Method == "": // a response; nothing was asked
		return nil, nil
	case m.ID == nil:
		if m.Method == "notifications/cancelled" && m.Params.RequestID != nil {
			p.cancel(m.Params.RequestID)
		}
		return nil, nil
	}
	return p.request(ctx, &m)
}

// isID reports whether id is a string or a number.
func isID(id json.RawMessage) bool {
	return len(id) > 0 && len(id) < 1<<10 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// request handles a request as receive does.
func (p *peer) request(ctx context.Context, m *message) (reply []byte, run func(write func([]byte))) {
	version := m.Params.Meta.Version
	begun := p.hasBegun() || version != ""
	switch {
	case version != "" && version != stateless:
		return failure(m.ID, codeVersion, version), nil
	case m.Params.Meta.ClientInfo.Name == "parley":
		return failure(m.ID, codeInvalid, errServed.Error()), nil
	case version != "" && p.header != nil && (p.header.Get("MCP-Protocol-Version") != version || p.header.Get("Mcp-Method") != m.Method || p.header.Get("Mcp-Name") != m.Params.Name):
		return failure(m.ID, codeHeader, "the headers MCP-Protocol-Version, Mcp-Method and Mcp-Name have to be as in the message"), nil
	case m.Method == "ping":
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID), nil
	case m.Method == "initialize":
		return p.initialize(m), nil
	case m.Method == "server/discover" && version != "":
		return p.response(m.ID, fmt.Appendf(nil, `{"supportedVersions":%s,"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`, encode(versions))), nil
	case !slices.Contains([]string{"tools/list", "tools/call"}, m.Method):
		return failure(m.ID, codeMethod, "no method "+m.Method+": this server has tools only"), nil
	case !begun:
		return failure(m.ID, codeInvalid, "the first request has to be initialize"), nil
	case m.Method == "tools/list":
		var list []string
		for _, t := range tools() {
			list = append(list, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s,"annotations":{"readOnlyHint":true,"openWorldHint":%t}}`, t.name, t.description, t.schema, t.argument != ""))
		}
		return p.response(m.ID, []byte(`{"tools":[`+strings.Join(list, ",")+`],"ttlMs":0,"cacheScope":"private"}`)), nil
	}
	for _, t := range tools() {
		if t.name == m.Params.Name {
			return p.begin(ctx, m, t)
		}
	}
	return failure(m.ID, codeParams, "no tool "+m.Params.Name), nil
}

// hasBegun reports whether the client has sent initialize.
func (p *peer) hasBegun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// initialize answers the first request.
func (p *peer) initialize(m *message) []byte {
	if m.Params.ClientInfo.Name == "parley" {
		return failure(m.ID, codeInvalid, errServed.Error())
	}
	version := m.Params.ProtocolVersion
	if !slices.Contains(versions[1:], version) {
		version = versions[1]
	}
	p.mu.Lock()
	p.begun = true
	p.mu.Unlock()
	return p.response(m.ID, fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":%s}`, version, p.info()))
}

// begin takes a place for a call and returns the function that runs it.
func (p *peer) begin(ctx context.Context, m *message, t tool) (reply []byte, run func(write func([]byte))) {
	select {
	case p.server.places <- struct{}{}:
	default:
		return p.response(m.ID, encode(t.refused(fmt.Errorf("%d calls are running: call again when one has ended", maxCalls)))), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[string(m.ID)] != nil {
		cancel(nil)
		<-p.server.places
		return failure(m.ID, codeInvalid, "a request with this id is running"), nil
	}
	if p.calls == nil {
		p.calls = map[string]context.CancelCauseFunc{}
	}
	p.calls[string(m.ID)] = cancel
	return nil, func(write func([]byte)) {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.calls, string(m.ID))
			cancel(nil)
			<-p.server.places
		}()
		c := &call{server: p.server, tool: t, ctx: ctx, cancel: cancel, write: write}
		if isID(m.Params.Meta.ProgressToken) {
			c.token = m.Params.Meta.ProgressToken
		}
		if r := c.run(m.Params.Arguments); context.Cause(ctx) != errCanceled {
			write(p.response(m.ID, encode(r)))
		}
	}
}

// cancel cancels the running call id; nil stands for all.
func (p *peer) cancel(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for running, stop := range p.calls {
		if id == nil || running == string(id) {
			stop(errCanceled)
		}
	}
}

// A result is that of a tool.
type result struct {
	Content    []content       `json:"content"`
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent,omitempty"` // an object
}

// A content is a text of a result.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// texts returns the content of a result; "" is no text.
func texts(all ...string) []content {
	list := []content{} // never null
	for _, text := range all {
		if text != "" {
			list = append(list, content{"text", text})
		}
	}
	return list
}
