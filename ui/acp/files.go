package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"

	"parley/tools"
)

// editor returns the files that the client has open in a conversation, or nil if the client does
// not provide their content. See https://agentclientprotocol.com/protocol/file-system.
func (a *agent) editor(id sdk.SessionId) *tools.Editor {
	a.mu.Lock()
	can := a.files
	a.mu.Unlock()
	if !can.ReadTextFile {
		return nil
	}
	e := &tools.Editor{Read: func(ctx context.Context, path string) (string, error) {
		r, err := a.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: id, Path: path})
		return r.Content, err
	}}
	if can.WriteTextFile {
		e.Write = func(ctx context.Context, path, text string) error {
			_, err := a.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: id, Path: path, Content: text})
			return err
		}
	}
	return e
}
