// Package listen receives datagrams over UDP and Unix sockets and frames over
// Unix stream sockets.
//
// There is no queue between the socket and the handler: a goroutine receives a batch, handles it,
// and receives the next. So the kernel's receive buffer is the only queue, its size is the only
// knob, and what does not fit is counted by the kernel. [Socket.Status] shows that count, and how
// full the buffer is. A Unix socket has no drops: its senders wait.
//
// Several receivers of one UDP address have a socket each where the kernel spreads senders over
// them: see [OpenSpread].
//
// On Linux a batch is one system call (recvmmsg); elsewhere a batch is one
// datagram and kernel drops are not known.
package listen
