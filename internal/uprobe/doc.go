// Package uprobe captures calls of Go functions in running processes that hold no probe, by
// uprobes: the kernel replaces one instruction of a function by a trap, and runs a program of ours
// when a thread runs into it.
//
// [Binary.Find] finds a function by the process's DWARF, its arguments by Go's register ABI, and
// the instruction for the trap. A [Server] attaches the program, and speaks as package probe does
// to controllers. Captured calls have the form that the probe gives them.
//
// # What keeps the process safe
//
//   - The program reads; it cannot write to the process, and a read of bad memory fails.
//   - Each hit costs the process time, whether it is captured or not. So hits are counted for a
//     moment before anything is captured, and all the time after it. Too many, and the probes go.
//   - The kernel takes the probes away when this program dies.
//   - Results are read at RET instructions. The kernel's own way to return probes replaces return
//     addresses on the stack, and ends a Go program when its stack moves.
//
// It works on Linux 6.6 and later, for programs of amd64.
package uprobe
