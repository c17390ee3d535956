package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// restrictThread takes from the calling thread, and what it starts, all that the policy
// does not allow.
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

// protectedPIDs are the ids that no signal of the command may go to, where it can
// see them: the helper, this thread of it, parley, and everybody.
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

// keptCapabilities are the capabilities that root needs to work with files of others inside
// the workspace. With CAP_SYS_PTRACE or CAP_PERFMON it could read the keys in
// the environment of parley; with CAP_FSETID files would keep the setuid bit while it
// writes to them.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER

// dropCapabilities takes away all other capabilities of the calling thread, also from the
// programs it will run.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keptCapabilities>>c&1 == 0 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // who may not has nothing to gain: see no_new_privs
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
