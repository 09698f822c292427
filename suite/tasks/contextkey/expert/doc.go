// Package contextkey is the expert's version of the task.
package contextkey
