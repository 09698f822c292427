// Package tablecrc is the expert's version of the task.
package tablecrc
