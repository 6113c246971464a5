// How fast are goroutines and channels, used as processes?
//
// The command line and the line of JSON are those of `bench-process-peers` and
// `bench-task-peers`; the sizes and steps are those of the modules `process` and `task` in the
// crate `benches`. A process or a task is a goroutine, and its mailbox a channel with a buffer.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	who     = "go"
	senders = 100
	// Of a ring's member, and of a receiver with many senders.
	buffer      = 128
	buffer_many = 1024
)

// A run that takes longer than this needs no warm-up, and no repetition either.
const long = 1500 * time.Millisecond

type arguments struct {
	workload string
	workers  int
	scale    int
	repeats  int
}

func main() {
	args := parse(os.Args[1:])
	runtime.GOMAXPROCS(args.workers)
	workloads[engineless(args.workload)](args)
}

var workloads map[string]func(arguments)

func init() {
	pingPong := func(args arguments) { ring(args, "ns/message", 2, 1) }
	ring1 := func(args arguments) { ring(args, "ns/hop", 1000, 1) }
	live := func(args arguments) { memory(args, "bytes/task", 100_000) }
	spawnTasks := func(args arguments) { spawn(args, "ns/task", 300_000) }
	workloads = map[string]func(arguments){
		"spawn":       func(args arguments) { spawn(args, "ns/process", 1_000_000) },
		"memory":      func(args arguments) { memory(args, "bytes/process", 1_000_000) },
		"ping_pong":   pingPong,
		"ping_pong_1": pingPong,
		"ring_1":      ring1,
		"ring_100":    func(args arguments) { ring(args, "ns/hop", 1000, 100) },
		"fan_in":      fanIn,
		"fan_in_many": fanIn,
		"skynet":      skynet,
		"latency":     latency,
		// Of tasks.
		"spawn_run_drop":   spawnTasks,
		"spawn_run_drop_1": spawnTasks,
		"live":             live,
		"live_page":        live,
		"ring_1000":        ring1,
		"ticks":            latency,
	}
}

// engineless is the workload without the engine, which only our tasks have.
func engineless(workload string) string {
	return strings.TrimSuffix(workload, "_jit")
}

func parse(words []string) arguments {
	if len(words) == 0 {
		fail("name a workload")
	}
	args := arguments{workload: words[0], workers: 2, repeats: 3}
	for at := 1; at < len(words); at++ {
		number := func() int {
			at++
			if at == len(words) {
				fail(words[at-1] + " needs a value")
			}
			n, err := strconv.Atoi(words[at])
			if err != nil {
				fail(words[at-1] + " wants a whole number")
			}
			return n
		}
		switch words[at] {
		case "--list":
			if workloads[engineless(args.workload)] != nil {
				fmt.Println(who)
			}
			os.Exit(0)
		case "--peer":
			at++
		case "--workers":
			args.workers = number()
		case "--scale":
			args.scale = number()
		case "--repeats":
			args.repeats = number()
		default:
			fail("unknown argument " + words[at])
		}
	}
	if workloads[engineless(args.workload)] == nil {
		fail("no workload " + args.workload)
	}
	return args
}

func fail(problem string) {
	fmt.Fprintln(os.Stderr, "bench-process-go: "+problem)
	os.Exit(2)
}

// items is the size asked for, or the workload's own.
func (args arguments) items(usual int) int {
	if args.scale > 0 {
		return args.scale
	}
	return usual
}

// time runs once to warm up, then against the clock: the median, in nanoseconds.
func (args arguments) time(run func()) float64 {
	timed := func() time.Duration {
		start := time.Now()
		run()
		return time.Since(start)
	}
	if first := timed(); first > long {
		return float64(first)
	}
	samples := make([]float64, args.repeats)
	for at := range samples {
		samples[at] = float64(timed())
	}
	sort.Float64s(samples)
	middle := len(samples) / 2
	if len(samples)%2 == 1 {
		return samples[middle]
	}
	return (samples[middle-1] + samples[middle]) / 2
}

func (args arguments) report(workload, unit string, value float64, beside string) {
	fmt.Printf(`{"workload":"%s","who":"%s","unit":"%s","value":%.3f,%s,"workers":%d}`+"\n",
		workload, who, unit, value, beside, args.workers)
}

func count(items int) string {
	return fmt.Sprintf(`"items":%d`, items)
}
