package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"sync/atomic"
	"time"
)

// As the module `ticks` of the crate `benches` says.
const (
	ticked   = 100
	period   = time.Millisecond
	hogsMore = 4
	lead     = 300 * time.Millisecond
	grace    = 100 * time.Millisecond
)

var sink uint64

func latency(args arguments) {
	ticks := args.items(2_000)
	// 0 stands for "not yet".
	late := make([]int64, ticked*ticks)
	first := time.Now().Add(lead)
	due := func(tick int) time.Time { return first.Add(period * time.Duration(tick)) }
	for process := 0; process < ticked; process++ {
		go func(late []int64) {
			for tick := range late {
				time.Sleep(time.Until(due(tick)))
				atomic.StoreInt64(&late[tick], int64(max(time.Since(due(tick)), 1)))
			}
		}(late[process*ticks : (process+1)*ticks])
	}
	for hog := 0; hog < args.workers+hogsMore; hog++ {
		go func() {
			sum := uint64(0)
			for {
				sum++
				if sum == math.MaxUint64 {
					sink = sum
				}
			}
		}()
	}
	// The outside world is a thread of its own for the others. A goroutine would wait among the
	// hogs, so that the end of the run is what it sees when it comes to run.
	runtime.LockOSThread()
	end := due(ticks).Add(grace)
	time.Sleep(time.Until(end))
	reportLate(args, late, ticks, func(tick int) time.Duration { return end.Sub(due(tick)) })
	os.Exit(0)
}

func reportLate(args arguments, late []int64, ticks int, waited func(int) time.Duration) {
	handled := 0
	ms := make([]float64, len(late))
	for at := range late {
		ns := atomic.LoadInt64(&late[at])
		if ns > 0 {
			handled++
		} else {
			ns = int64(waited(at % ticks))
		}
		ms[at] = float64(ns) / 1e6
	}
	sort.Float64s(ms)
	share := float64(handled) / float64(len(late))
	for _, percent := range []int{50, 99} {
		name, beside := fmt.Sprintf("%s_p%d", args.workload, percent), fmt.Sprintf(`"handled":%.3f`, share)
		if share < 0.5 {
			fmt.Printf(`{"workload":"%s","who":"%s","unit":"ms","value":null,`+
				`"note":"starved: %.0f %% of the ticks were handled",%s}`+"\n", name, who, 100*share, beside)
			continue
		}
		rank := int(math.Ceil(float64(len(ms)) * float64(percent) / 100))
		args.report(name, "ms", ms[rank-1], beside)
	}
}

func max(a, b time.Duration) time.Duration {
	if a > b {
		return a
	}
	return b
}
