// The workloads of the semaphore with golang.org/x/sync/semaphore: sem WORKLOAD prints the figure.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	pairs         = 5000000
	handovers     = 1000000
	queue         = 1000
	cancelsLeast  = 200000
	bypassRounds  = 20
	queuedPatience = 50 * time.Millisecond
)

var background = context.Background()

func pair() float64 {
	sem := semaphore.NewWeighted(1)
	start := time.Now()
	for i := 0; i < pairs; i++ {
		_ = sem.Acquire(background, 1)
		sem.Release(1)
	}
	return float64(time.Since(start).Nanoseconds()) / pairs
}

// One processor, so that a handover is no wake of another thread.
func handover() float64 {
	runtime.GOMAXPROCS(1)
	sem := semaphore.NewWeighted(1)
	var all sync.WaitGroup
	_ = sem.Acquire(background, 1)
	for i := 0; i < queue; i++ {
		all.Add(1)
		go func() {
			for n := 0; n < handovers/queue; n++ {
				_ = sem.Acquire(background, 1)
				sem.Release(1)
			}
			all.Done()
		}()
	}
	runtime.Gosched()
	start := time.Now()
	sem.Release(1)
	all.Wait()
	return float64(time.Since(start).Nanoseconds()) / handovers
}

// From the first cancel until the last waiter has ended.
func cancel(count int) float64 {
	runtime.GOMAXPROCS(1)
	sem := semaphore.NewWeighted(1)
	_ = sem.Acquire(background, 1)
	cancels := make([]context.CancelFunc, count)
	order := rand.New(rand.NewSource(1)).Perm(count)
	done := 0
	var sum time.Duration
	for done < cancelsLeast {
		var all sync.WaitGroup
		for i := range cancels {
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(background)
			all.Add(1)
			go func() {
				_ = sem.Acquire(ctx, 1)
				all.Done()
			}()
		}
		runtime.Gosched()
		time.Sleep(queuedPatience)
		start := time.Now()
		for _, i := range order {
			cancels[i]()
		}
		all.Wait()
		sum += time.Since(start)
		done += count
	}
	return float64(sum.Nanoseconds()) / float64(done)
}

func main() {
	var figure float64
	switch os.Args[1] {
	case "pair":
		figure = pair()
	case "handover":
		figure = handover()
	case "cancel-1k":
		figure = cancel(1000)
	case "cancel-1m":
		figure = cancel(1000000)
	default:
		os.Exit(2)
	}
	fmt.Printf("%.6g\n", figure)
}
