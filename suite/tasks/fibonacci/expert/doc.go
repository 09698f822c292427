// Package fibonacci is the expert's version of the task.
package fibonacci
