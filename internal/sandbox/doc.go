// Package sandbox runs programs that must be assumed hostile: generated
// candidates, and the toolchain and tests of a user's module.
//
// On Linux a program gets walls of several kinds, each of which would do for
// most attacks, so that a hole in one is not a hole in all:
//
//   - namespaces (user, mount, pid, network, ipc, uts) and a root directory
//     of its own: a small tmpfs into which only what the [Command] names is
//     mounted, read-only unless it says otherwise. When the first process
//     ends, the kernel kills all the others;
//   - Landlock, which allows reading in that root and writing in the work
//     directory, and no TCP;
//   - a seccomp filter that answers ENOSYS to system calls which a program
//     under test has no business with. In [Run] it also refuses sockets, new
//     processes, and signals to others. A program for 386 on amd64 enters the
//     kernel by another table: the filter for it names what is allowed;
//   - resource limits on memory, processor time, processes, open files and
//     file size, a limit of wall time and of output, and a cgroup where one
//     may be made;
//   - an environment built from an allow-list.
//
// The walls are put up by this very executable: [Sandbox.Run] starts it again
// in new namespaces, and the initialisation of this package sees that, builds
// the walls around itself and becomes the program. So every executable that
// uses a Sandbox must expect to be started as one, and says that it does by
// calling [Main] first. No other executable, no set-uid helper and no daemon
// takes part: the small process that does the starting is this executable too,
// and ends with its parent. A start costs a few milliseconds.
//
// Where namespaces are refused (containers, some distributions) the rest still holds, and
// [Sandbox.MissingWalls] lists the missing walls. On systems other than Linux only the time and
// output limits and the process group remain.
//
// It has limits. Without a cgroup it bounds memory for each process, not in total. It does not hide
// the processor from side channels, and it trusts the kernel.
package sandbox
