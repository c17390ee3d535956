package credentials

import (
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// Only the user and the system can read the directory of keys.
func TestPrivateDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := makePrivate(dir); err != nil {
		t.Fatal(err)
	}
	has, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	text := has.String()
	if !strings.Contains(text, ";;;"+user.User.Sid.String()+")") || strings.Contains(text, ";;;WD)") || strings.Contains(text, ";;;BU)") {
		t.Errorf("got %s", text)
	}
}
