package acp

import (
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
)

// Codes of JSON-RPC, then those of ACP: https://agentclientprotocol.com/protocol/schema.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
	codeAuthRequired  = -32000
)

// invalid returns an error about an invalid request.
func invalid(format string, args ...any) error {
	return &sdk.RequestError{Code: codeInvalidParams, Message: sanitize.Line(fmt.Sprintf(format, args...))}
}

// failed returns an error with a hint for the user.
func failed(err error) error {
	code, text := codeInternal, wording.Error(err)
	switch llm.FaultOf(err) {
	case llm.Authentication:
		code = codeAuthRequired
	case llm.ModelNotFound:
		code = codeInvalidParams
	}
	if hint := wording.ShellHint(err); hint != "" {
		text += " · " + hint
	}
	return &sdk.RequestError{Code: code, Message: sanitize.Line(text)}
}
