// Package securewrite is the expert's version of the task.
package securewrite
