// Package tagascii is the expert's version of the task.
package tagascii
