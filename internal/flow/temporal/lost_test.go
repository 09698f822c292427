package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/beagle-go/beagle/internal/flow"
)

// TestLostTouch checks that work which ends because the server did not answer its heartbeats stays
// in its queue, and that work which was canceled or which fails does not.
func TestLostTouch(t *testing.T) {
	broken := errors.New("a build was killed")
	for _, c := range []struct {
		name       string
		cause      error // of the cancellation; nil for none
		lost       bool
		isCanceled bool
	}{
		{"no answer in time", serviceerror.NewDeadlineExceeded("slow"), true, false},
		{"the server is away", serviceerror.NewUnavailable("away"), true, false},
		{"told to stop", errStopped, true, false},
		{"canceled", temporal.NewCanceledError(), false, true},
		{"canceled by itself", context.Canceled, false, true},
		{"failed", nil, false, false},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		inner, end := context.WithCancelCause(ctx)
		err := wrap(inner, broken)
		if workerLost(err) != c.lost || errors.Is(err, context.Canceled) != c.isCanceled {
			t.Errorf("%s: %v; worker lost: %v", c.name, err, workerLost(err))
		}
		end(nil)
		cancel(nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := wrap(ctx, broken); workerLost(err) {
		t.Errorf("its time is up: %v", err)
	}
}

// TestLateAnswers checks that work goes on while some of its heartbeats are not answered, that it
// ends when none is for long, and that it ends at once when it is not wanted any more.
func TestLateAnswers(t *testing.T) {
	t.Parallel() // it waits
	late := serviceerror.NewDeadlineExceeded("slow")
	for _, c := range []struct {
		name    string
		answers []error // to heartbeats; the last is given again and again
		cause   error   // by which the work ends; nil where it goes on
	}{
		{"a late answer", []error{nil, late, late, nil}, nil},
		{"no answer", []error{late}, errLost},
		{"canceled", []error{nil, temporal.NewCanceledError()}, temporal.NewCanceledError()},
		{"given to another", []error{serviceerror.NewNotFound("gone")}, serviceerror.NewNotFound("gone")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var beats atomic.Int64
			a := &activities{alive: func(context.Context, []flow.Event) error {
				return c.answers[min(int(beats.Add(1)), len(c.answers))-1]
			}}
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(silent)
			env := suite.NewTestActivityEnvironment()
			env.SetTestTimeout(soon)
			work := func(ctx context.Context) error {
				ctx, cancel := context.WithCancelCause(ctx)
				defer a.beating(ctx, new(notes), cancel)()
				for ctx.Err() == nil && (c.cause != nil || int(beats.Load()) <= len(c.answers)) {
					time.Sleep(beatEvery / 10)
				}
				if got, want := fmt.Sprint(context.Cause(ctx)), fmt.Sprint(c.cause); got != want {
					t.Errorf("it ends with %s after %d heartbeats, want %s", got, beats.Load(), want)
				}
				return nil
			}
			env.RegisterActivity(work)
			if _, err := env.ExecuteActivity(work); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneWriter checks that work which hears nothing of the server ends before the server gives it
// to another worker, and that no other worker makes a run's calls before that.
func TestOneWriter(t *testing.T) {
	silent := func(ctx context.Context, _ []flow.Event) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, answered := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			last, beats := time.Now(), 0
			a := &activities{alive: func(ctx context.Context, said []flow.Event) error {
				if beats++; beats > answered {
					return silent(ctx, said)
				}
				last = time.Now()
				time.Sleep(beatEvery / 4) // the answer takes its way
				return nil
			}}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer a.beating(ctx, new(notes), cancel)()
			<-ctx.Done()
			if went := time.Since(last); context.Cause(ctx) != errLost || went >= beatTimeout {
				t.Errorf("after %d answers it went on for %v: %v", answered, went, context.Cause(ctx))
			}
		})
	}
	if o := callOptions("", time.Hour); o.ScheduleToStartTimeout <= o.HeartbeatTimeout {
		t.Errorf("another worker makes calls after %v", o.ScheduleToStartTimeout)
	}
}
