package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var updateEditor = flag.Bool("editor", false, "write what parley says in ui/acp/testdata/conversation.txt")

// An editorLine is a JSON-RPC message, with the fields that the test of a recorded conversation reads.
type editorLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Content json.RawMessage `json:"content"`
		} `json:"update"`
	} `json:"params"`
	Result struct {
		SessionID string `json:"sessionId"`
	} `json:"result"`
}

// asEditor starts parley acp with the demo model.
func (h aHome) asEditor() (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	h.Helper()
	exe, err := exec.LookPath("parley")
	if err != nil {
		h.Fatal(err)
	}
	cmd = exec.Command(exe, "acp", "-m", "demo/parley")
	cmd.Dir, cmd.Env, cmd.Stderr = h.dir, h.env(), h.Output()
	in, err = cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	h.Cleanup(func() {
		stuck.Stop()
		_ = cmd.Process.Kill()
	})
	return cmd, in, bufio.NewScanner(stdout)
}

// TestEditorConversation replays an editor's side of ui/acp/testdata/conversation.txt and compares the replies:
// standard output must be lines of JSON. In the file, chunks of one kind are joined to one line, names that differ in
// each run are replaced by words, and messages without a fixed order are left out.
func TestEditorConversation(t *testing.T) {
	t.Parallel()
	const file = "ui/acp/testdata/conversation.txt"
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	h.configure("[sandbox]\noff = true\n") // not every machine has one
	cmd, in, out := h.asEditor()
	work, conversation, asked := filepath.Join(h.dir, "work"), "SESSION", ""
	var heard []string
	chunk := ""
	hear := func(line string) (m editorLine) {
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q is no message: %v", line, err)
		}
		if m.Result.SessionID != "" {
			conversation = m.Result.SessionID
		}
		kind, text := m.Params.Update.Kind, ""
		if strings.HasPrefix(kind, "agent_") {
			var content struct{ Text string }
			if err := json.Unmarshal(m.Params.Update.Content, &content); err != nil {
				t.Fatal(err)
			}
			text = content.Text
		}
		if kind == "available_commands_update" || m.Method == "$/cancel_request" {
			return m
		}
		if kind == chunk && strings.HasPrefix(kind, "agent_") {
			heard[len(heard)-1] += text
			return m
		}
		if chunk = kind; strings.HasPrefix(kind, "agent_") {
			heard = append(heard, kind+": "+text)
			return m
		}
		line = strings.NewReplacer(work, "DIR", conversation, "SESSION").Replace(line)
		line = regexp.MustCompile(`"updatedAt":"[^"]*"`).ReplaceAllString(line, `"updatedAt":"TIME"`)
		line = regexp.MustCompile(`"used":\d+`).ReplaceAllString(line, `"used":TOKENS`) // the number includes the descriptions of tools
		heard = append(heard, regexp.MustCompile(`"version":"[^"]*"`).ReplaceAllString(line, `"version":"VERSION"`))
		return m
	}
	waits := "" // id of the unanswered request; "" if there is none
	var want strings.Builder
	var got strings.Builder
	for line := range strings.Lines(string(recorded)) {
		want.WriteString(line)
		said, ours := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
		if !ours {
			continue
		}
		got.WriteString(line)
		said = strings.NewReplacer("DIR", work, "SESSION", conversation, `"PERMISSION"`, asked).Replace(said)
		var m editorLine
		if err := json.Unmarshal([]byte(said), &m); err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		if m.Method != "" && m.ID != nil {
			waits = string(m.ID)
		}
		if _, err := io.WriteString(in, said+"\n"); err != nil {
			t.Fatal(err)
		}
		for heard, chunk = nil, ""; ; {
			if !out.Scan() {
				t.Fatalf("parley ended behind %s: %v", said, out.Err())
			}
			m := hear(out.Text())
			if m.Method == "fs/read_text_file" {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not open"}}`+"\n", m.ID)
			}
			if m.Method == "session/request_permission" {
				asked = string(m.ID)
				break
			}
			if m.Method == "" && string(m.ID) == waits {
				break
			}
		}
		for _, line := range heard {
			text, _ := json.Marshal(line)
			if strings.HasPrefix(line, "{") {
				text = []byte(line)
			}
			fmt.Fprintf(&got, "< %s\n", text)
		}
	}
	in.Close()
	for heard = nil; out.Scan(); {
		if hear(out.Text()); heard != nil {
			t.Errorf("then came %s", heard)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if *updateEditor {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != want.String() {
		t.Errorf("heard\n%s\nwant\n%s\n-editor accepts it", got.String(), want.String())
	}
	if text, err := os.ReadFile(filepath.Join(work, "a.txt")); err != nil || string(text) != "goodbye\n" {
		t.Errorf("a.txt holds %q: %v", text, err)
	}
}

// TestEditorLeaves checks that processes started for a prompt end when the editor closes its side.
func TestEditorLeaves(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.configure("mode = \"yolo\"\n")
	cmd, in, out := h.asEditor()
	work := filepath.Join(h.dir, "work")
	send := func(format string, args ...any) {
		if _, err := fmt.Fprintf(in, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	until := func(found func(m editorLine, line string) bool) {
		for out.Scan() {
			var m editorLine
			if err := json.Unmarshal(out.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			if found(m, out.Text()) {
				return
			}
		}
		t.Fatal("parley ended")
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work)
	conversation := ""
	until(func(m editorLine, _ string) bool { conversation = m.Result.SessionID; return conversation != "" })
	send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"run `+"`echo $$; exec sleep 3600`"+`"}]}}`, conversation)
	until(func(m editorLine, line string) bool {
		return m.Params.Update.Kind == "tool_call_update" && regexp.MustCompile("\"text\":\"```\\\\n\\d+").MatchString(line)
	})
	in.Close()
	for out.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range lines {
		if dir, err := os.Readlink(link); err == nil && dir == work {
			t.Errorf("%s is still there", link)
		}
	}
}

// TestEditorFolder checks that a folder's settings count only after it was trusted elsewhere, and that the editor is
// told so.
func TestEditorFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	work := filepath.Join(h.dir, "work")
	if err := os.WriteFile(filepath.Join(work, "AGENTS.md"), []byte("Answer in rhyme."), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, in, out := h.asEditor()
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", work)
	told := ""
	for told == "" && out.Scan() {
		var m editorLine
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Result.SessionID != "" {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`+"\n", m.Result.SessionID)
		}
		if strings.HasPrefix(m.Params.Update.Kind, "agent_") {
			told = out.Text()
		}
	}
	if !strings.Contains(told, "not used: AGENTS.md") {
		t.Errorf("the first words are %s", told)
	}
	in.Close()
	for out.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// An editor drives parley acp.
type editor struct {
	aHome
	cmd          *exec.Cmd
	in           io.WriteCloser
	out          *bufio.Scanner
	conversation string
}

// editor starts parley acp in the folder work, with the given configuration, and opens a conversation.
func (h aHome) editor() *editor {
	h.Helper()
	e := &editor{aHome: h, cmd: h.command("acp")}
	e.cmd.Stderr = h.Output()
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		h.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		h.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = e.cmd.Process.Kill() })
	h.Cleanup(func() { stuck.Stop(); _ = e.cmd.Process.Kill() })
	e.out = bufio.NewScanner(out)
	e.out.Buffer(nil, 16<<20)
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", filepath.Join(h.dir, "work"))
	for e.conversation == "" && e.out.Scan() {
		var m editorLine
		if err := json.Unmarshal(e.out.Bytes(), &m); err != nil {
			h.Fatal(err)
		}
		e.conversation = m.Result.SessionID
	}
	return e
}

// prompt sends a prompt and waits for the end of the turn. It answers permission requests with the option id from
// answer.
func (e *editor) prompt(text string, answer func(question string) string) {
	e.Helper()
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":"prompt","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`+"\n", e.conversation, text)
	for e.out.Scan() {
		var m struct {
			editorLine
			Params struct {
				ToolCall struct {
					Title   string
					Content json.RawMessage
				}
			} `json:"params"`
		}
		if err := json.Unmarshal(e.out.Bytes(), &m); err != nil {
			e.Fatal(err)
		}
		switch {
		case string(m.ID) == `"prompt"`:
			return
		case m.Method == "session/request_permission":
			call := m.Params.ToolCall
			fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`+"\n", m.ID, answer(call.Title+"\n"+string(call.Content)))
		}
	}
	e.Fatal("parley ended in the middle of a turn")
}
