package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// restrictThread restricts the calling thread, and what it starts, to the policy.
func (h *helper) restrictThread() error {
	if h.unrestricted {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	p := h.Policy
	if h.LongRunning && !h.hasNamespaces {
		p = p.splitWorkspace()
	}
	rules, err := h.createRuleset(p)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := restrictSelf(rules); err != nil {
		return err
	}
	listener, err := installFilter(argumentRules(h.Network, h.protectedPIDs()))
	if err != nil || listener < 0 {
		return err
	}
	h.setuid.dirs = append([]string{h.Workspace}, h.WritePaths...)
	go h.setuid.serve(listener)
	return nil
}

// protectedPIDs returns the ids that the command must not signal where it can see them: the
// helper, this thread of it, parley, and all processes (-1).
func (h *helper) protectedPIDs() []int {
	if h.hasNamespaces {
		return nil
	}
	ids := []int{-1, os.Getpid(), -os.Getpid(), unix.Gettid(), os.Getppid()}
	if group, err := unix.Getpgid(os.Getppid()); err == nil {
		ids = append(ids, -group)
	}
	return ids
}

// keptCapabilities holds what root needs to work with files of others inside the workspace.
// With CAP_SYS_PTRACE or CAP_PERFMON it could read the keys in parley's environment; with
// CAP_FSETID files would keep the setuid bit when it writes to them.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER

// dropCapabilities drops all other capabilities of the calling thread and of the programs it
// will run.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keptCapabilities>>c&1 == 0 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // an unprivileged caller has none to gain: see no_new_privs
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for i := range sets {
		left := sets[i].Permitted & uint32(uint64(keptCapabilities)>>(32*i))
		sets[i] = unix.CapUserData{Effective: left, Permitted: left}
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}
